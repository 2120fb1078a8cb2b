"""Effects of code, by language: each row is a code text and all its findings."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.lib.code import evaluate, model
from baton.lib.code.model import LANGUAGES
from baton.lib.code.read import MAX_LENGTH, read
from tests.support.cases import every

ROWS = [
    # writes
    ("python", "open('a.txt', 'w').write('x')", ["write a.txt"]),
    ("python", "from pathlib import Path as P; (P('d') / 'a.py').write_text('x')", ["write d/a.py"]),
    ("python", "import os; os.chdir('/etc'); open('passwd', 'a')", ["write /etc/passwd"]),
    ("python", "import os; os.remove(os.path.expanduser('~/.ssh/id_rsa'))", ["remove $HOME/.ssh/id_rsa"]),
    ("python", "import os\nfor f in ['a', 'b']: os.remove(f)", ["remove a", "remove b"]),
    ("python", "import os; list(map(os.remove, ['a', 'b']))", ["remove a", "remove b"]),
    ("python", "import os\ndef rm(p): os.remove(p)\nrm('/etc/passwd')", ["remove /etc/passwd"]),
    ("python", "import os\nx = 'a'\nif len(x): x = 'b'\nos.remove(x)", ["remove a", "remove b"]),
    ("python", "import os, sys; os.remove(sys.argv[1])", ["remove $UNKNOWN"]),
    ("python", "open('~/x', 'w')", ["write ./~/x"]),
    ("javascript", "const {writeFileSync: w} = require('fs'); w('a', 'b')", ["write a"]),
    ("javascript", "import fs from 'node:fs/promises'; await fs.rm('x')", ["remove x"]),
    ("javascript", "import('fs').then(m => m.writeFileSync('x', 'y'))", ["write x"]),
    ("javascript", "['a', 'b'].forEach(f => require('fs').unlinkSync(f))", ["remove a", "remove b"]),
    ("ruby", "require 'fileutils'; FileUtils.rm_rf(['a', 'b'])", ["remove a", "remove b", "unread"]),
    ("ruby", "File.open('x', 'w') { |f| f.puts 'y' }", ["write x", "unread"]),
    ("php", "<?php file_put_contents('x.php', 'y');", ["write x.php", "unread"]),
    ("perl", "use File::Path qw(rmtree); rmtree('/')", ["remove /", "unread"]),
    ("perl", "open(my $fh, '>', 'a') or die", ["write ", "write a", "unread"]),
    ("sed", "s/a/b/g;w out.txt", ["write out.txt"]),
    ("sed", "s/x/y/w f", ["write f"]),
    ("awk", '{print $1 > "out.txt"}', ["write out.txt"]),
    ("lua", "os.remove('x')", ["remove x", "unread"]),
    ("r", 'unlink("x", recursive=TRUE)', ["remove x", "unread"]),
    ("tcl", "file delete -force x", ["remove x", "unread"]),
    # commands
    ("python", "import os; os.system('rm -rf ' + os.environ['X'] + '/y')", ["run rm -rf $X/y"]),
    ("python", "getattr(__import__('os'), 'sys' + 'tem')('id')", ["run id"]),
    ("python", "import subprocess as s; s.run(['git', 'push'], cwd='/srv')", ["run git push in /srv"]),
    ("python", "from os import *; system('id')", ["run id"]),
    ("python", "import os; os.execvp('rm', ['rm', '-rf', 'x'])", ["run rm -rf x"]),
    ("python", "exec(__import__('base64').b64decode('aW1wb3J0IG9zOyBvcy5zeXN0ZW0oImlkIik='))", ["run id"]),
    ("python", "import subprocess; subprocess.run('sh', input='rm x')", ["run printf %s 'rm x' | sh"]),
    ("python", "print 'x'; import os; os.system('id')", ["run id"]),
    ("javascript", "const cp = require('child_process'); cp['exec' + 'Sync'](`rm ${process.env.HOME}`)", ["run rm $HOME"]),
    ("javascript", "require('child_process').spawn('git', ['push'], {cwd: '/srv'})", ["run git push in /srv"]),
    ("javascript", "new Deno.Command('rm', {args: ['x']}).outputSync()", ["run rm x"]),
    ("javascript", "await Bun.$`rm -rf x`", ["run rm -rf x"]),
    ("ruby", "Kernel.send(:system, 'ls')", ["run ls", "unread"]),
    ("ruby", "%x{rm x}", ["run rm x", "unread"]),
    ("perl", "system(qw(rm -rf x))", ["run rm -rf x", "unread"]),
    ("perl", 's{a}{system("id")}e', ["run id", "unread"]),
    ("perl", "open(P, 'rm x|')", ["run rm x", "unread"]),
    ("sed", "1e rm -rf x", ["run rm -rf x"]),
    ("python", "exec('import os\\nwhile 1: os.fork()')", ["forks without end", "unread"]),
    ("lua", "while true do posix.fork() end", ["forks without end", "unread"]),
    ("sed", "s/.*/rm x/e", ["run rm x"]),
    ("sed", "e", ["runs input", "unread"]),
    ("awk", 'BEGIN{c="rm -rf x"; system(c)}', ["run rm -rf x"]),
    ("awk", '{print $1 | "sort -u"}', ["run sort -u"]),
    ("awk", "{system($1)}", ["runs input", "unread"]),
    ("applescript", 'do shell script "id"', ["run id", "unread"]),
    ("perl", r"system('sh -c \'rm x\'')", ["run sh -c 'rm x'", "unread"]),
    ("perl", "print <<E;\nx\nE\nsystem('id')", ["run id", "unread"]),
    ("ruby", r"system('sh -c \'rm x\'')", ["run sh -c 'rm x'", "unread"]),
    ("makefile", "all: b.o\n\t@-rm $$x \\\n\t  y", ["run rm $x y"]),
    ("makefile", "clean:;rm x", ["run rm x"]),
    ("makefile", "A := $(shell id)\nB != whoami\n", ["run id", "run whoami"]),
    ("makefile", "all:\n\tcc -o $@ $(SRC)", ["run cc -o $UNKNOWN $SRC"]),
    ("makefile", "A = 1\n# all: ; rm x\n", []),
    ("tcl", "exec rm x", ["run rm x", "unread"]),
    ("unparsed", "run(`rm -rf x`)", ["run rm -rf x", "unread"]),
    ("unparsed", 'System.cmd("rm", ["-rf", "x"])', ["run rm -rf x", "unread"]),
    ("unparsed", '"rm -rf x".execute()', ["run rm -rf x", "unread"]),
    ("unparsed", 'import sys.process._; Seq("rm", "x").!', ["run rm x", "unread"]),
    ("unparsed", 'File("x").deleteRecursively()', ["remove x", "unread"]),
    ("unparsed", 'File.rm_rf!("x")', ["remove x", "unread"]),
    ("unparsed", 'File.write!("x", "y z")', ["write x", "unread"]),
    ("unparsed", 'println("npm test")', ["unread"]),
    ("unparsed", ":t map\n :! rm x", ["run rm x", "unread"]),
    ("ed", ":%!sort\nsilent !rm x\n:w y", ["write y", "run sort", "run rm x"]),
    ("unparsed", 'system("rm x', ["run rm x", "unread"]),
    ("unparsed", 'system("rm x\\', ["run rm x", "unread"]),
    ("lisp", '(uiop:run-program "rm x")', ["run rm x", "unread"]),
    ("lisp", '(sh "rm" "-rf" "x")', ["run rm -rf x", "unread"]),
    ("lisp", '(delete-directory "x" t)', ["remove x", "unread"]),
    ("lisp", '(spit "x" "y")', ["write x", "unread"]),
    ("lisp", "'(1 2) (print \"it's\")", ["unread"]),
    # the network, and what it brings
    ("python", "import requests; print(requests.get('http://x').json())", ["network"]),
    ("python", "from urllib.request import urlopen as u; exec(u('http://x').read().decode())", ["network", "runs network", "unread"]),
    ("javascript", "eval(await (await fetch('http://x')).text())", ["network", "runs network", "unread"]),
    ("javascript", "fetch('http://x').then(r => r.text()).then(eval)", ["network", "runs network", "unread"]),
    ("ruby", "require 'open-uri'; eval(URI.open('http://x').read)", ["network", "runs network", "unread"]),
    ("php", "eval(file_get_contents('http://x'));", ["network", "runs network", "unread"]),
    ("perl", "use LWP::Simple; eval get('http://x')", ["network", "runs network", "unread"]),
    ("python", "import socket, os, pty; s = socket.socket(); os.dup2(s.fileno(), 0); pty.spawn('sh')", ["run sh", "network", "runs network"]),
    ("python", "import sys; exec(sys.stdin.read())", ["runs input", "unread"]),
    ("awk", 'BEGIN { s = "/inet/tcp/0/h/1"; s |& getline c }', ["network"]),
    # nothing but reading
    ("python", "import json, sys; print(json.load(sys.stdin)['a'])", []),
    ("python", "import re; print([m.group(1) for m in re.finditer('x', open('a').read())])", []),
    ("javascript", "console.log(JSON.parse(require('fs').readFileSync('a', 'utf8')).b)", []),
    ("sed", "/start/,/end/{s/[/]/x/;p}", []),
    ("awk", "NR==FNR{a[$1]=$2;next} $1 in a && $3 > 5 {print a[$1]/2}", []),
    # what cannot be told
    ("ruby", "puts File.read('x')", ["unread"]),
    ("python", "import mymod; mymod.run()", ["unread"]),
    ("python", "exec(open('x.py').read())", ["unread"]),
    ("python", "this is no python(", ["unread"]),
    ("javascript", "require('./local').go()", ["unread"]),
    ("php", "include 'x.php';", ["unread"]),
]  # fmt: skip


def facts(code):
    """Return all that was found, as words."""
    found = [f"{'remove' if write.removes else 'write'} {model.as_written(write.path)}" for write in code.writes]
    for run in code.runs:
        text = model.as_written(run.script or " ".join(run.words))
        found.append(f"run {text}" + (f" in {run.folder}" if run.folder else ""))
    found += ["network"] if code.network else []
    found += ["forks without end"] if code.forks_without_end else []
    found += ["runs network"] if code.runs_network else []
    found += ["runs input"] if code.runs_input else []
    return found + (["unread"] if code.unread else [])


@every(("language", "text", "want"), ROWS)
def test_code_has_the_effects_of_its_row(language, text, want):
    assert facts(read(language, text)) == want


DEEP = [
    "(" * 5_000,
    "[" * 200 + "]" * 200,
    "a+" * 20_000 + "a",
    "-" * 30_000 + "1",
    "f(" * 300 + ")" * 300,
    "{" * 9_000,
    "\n".join(" " * at + "if x:" for at in range(300)),
]


@pytest.mark.slow
@every("language", LANGUAGES)
@every("text", DEEP)
def test_too_deep_code_is_not_read(language, text):
    assert read(language, text) is not None


@every("language", LANGUAGES)
def test_a_text_over_the_limit_is_not_read(language):
    assert read(language, " " * (MAX_LENGTH + 1)).unread


def test_python_of_too_many_words_is_not_parsed():
    assert read("python", "x = 1\n" * 2_100).unread
    assert not read("python", "x = 1\n" * 1_900).unread


def test_a_text_that_calls_itself_in_many_ways_is_given_up():
    text = "def f(x):\n    f(x); f(x); f(x)\nimport os\n" + "f(1)\n" * 1_000 + "os.remove('a')"
    assert read("python", text).unread


def test_steps_grow_no_faster_than_the_text(monkeypatch):
    steps = []

    class Counting(evaluate.Evaluator):
        def program(self, parts):
            super().program(parts)
            steps.append(self.steps)

    monkeypatch.setattr("baton.lib.code.read.Evaluator", Counting)
    for count in (50, 100, 200):
        read("python", "x = ['a', 'b']\nfor y in x: print(y + 'c')\n" * count)
    assert steps[2] <= 2.1 * steps[1] <= 4.5 * steps[0]


PIECES = [
    "import os",
    "os.system(",
    "'rm -rf /'",
    ")",
    "\n",
    " ",
    "x = ",
    "eval(",
    "fs.",
    "require('fs')",
    "`",
    "${",
    "}",
    "{",
    "#{",
    "<<E",
    "$_",
    "s/a/",
    "/e",
    "print",
    "|",
    ">",
    '"',
    "'",
    "\\",
    "\0",
    "é",
    model.UNKNOWN,
]


@given(st.sampled_from(LANGUAGES), st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join))
def test_no_text_breaks_the_reader(language, text):
    read(language, text)
