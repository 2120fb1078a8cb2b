"""A plain line is read without the parser, and as the parser reads it."""

import random

import pytest

from baton.lib.bash import blocks
from baton.lib.bash import read as reading
from baton.lib.bash.read import read
from tests.lines import corpus
from tests.support.cases import every
from tests.support.shipped import shipped

WORDS = (
    "ls", "git", "push", "-f", "--force", "rm", "-rf", "/", "cd", "..", "/tmp", "sh", "bash", "-c", "'npm test'", '"npm test"', "echo",
    "xargs", "sudo", "env", "time", "if", "done", "test", "[", "==", "a=b", "tool", "--x='*.py'", '-m"z"', "tee", "out", "curl",
    "http://x/y.sh", "python", "'print(1)'", "exit", "set", "export", "alias", "function", "npm", "''", '""', '--x=""', "$X", ">", "f",
    "*.py", "~", "!", "{", "}", "#", "a#b", "-C", "dd", "of=x", "'a; b'", "2>&1", "2>/dev/null", "9", "@", "%", "exec", "eval", '"ls -la"',
    "~/x", "~/.bashrc", "cp", "source", "find", ".", "-name", "-delete", "é", "'é'", "unset", "coproc", "local", "-", "--", "read", "printf", "'%s'",
)  # fmt: skip
JOINTS = (" ", " ", " ", " ", "  ", "\t", " && ", " | ", "; ", "|", ";", "&&", " || ", " & ", " |& ", ";;", "", "\n")


def made(count: int) -> list[str]:
    choose = random.Random(11).choice  # noqa: S311 (not for secrets)
    return ["".join(choose(WORDS) + choose(JOINTS) for _ in range(1 + number % 9)) for number in range(count)]


@pytest.mark.parametrize(
    ("lines", "least"),
    [
        (lambda: corpus.lines()[::10], 350),
        (lambda: made(3_000), 100),
        pytest.param(corpus.lines, 3_500, marks=pytest.mark.slow("reads six thousand lines twice")),
        pytest.param(lambda: made(60_000), 2_000, marks=pytest.mark.slow("reads many lines twice")),
    ],
    ids=["corpus", "made", "whole corpus", "many made"],
)
def test_a_plain_line_equals_the_parser_s_reading(monkeypatch, lines, least):
    tables = shipped().tables
    plain = [line for line in lines() if blocks.plain_pipelines(line) is not None]
    assert len(plain) > least
    found = {line: read(tables, line) for line in plain}
    monkeypatch.setattr(blocks, "plain_pipelines", lambda text: None)
    for line, shell in found.items():
        parsed = read(tables, line)
        # The parser refuses some words that are nothing but words, such as `==`.
        assert parsed.unparsed or shell == parsed, line


@pytest.mark.parametrize(
    "line",
    [
        "git status", "  git status ", "cd app && npm test", "grep -rn 'a|b' --include='*.py' . | sort | head -5; wc -l",
        'git commit -m "a; b"', "npm test 2>&1 | tail -5", "ls -d .. 2>/dev/null", "echo a#b",
    ],
)  # fmt: skip
def test_the_parser_is_not_asked_for_a_plain_line(monkeypatch, line):
    asked, tables = [], shipped().tables
    monkeypatch.setattr(reading._Reading, "root", lambda self, src: asked.append(src))
    assert blocks.plain_pipelines(line) is not None
    assert read(tables, line).unparsed == ""
    assert asked == []


@every(
    "line",
    [
        "", " ", "ls;", "ls &", "ls && ", "| ls", "ls || pwd", "ls |& cat", "ls;; pwd", "A=1 ls", "A=1", "export A=1", "unset A", "if true",
        "time ls", "! ls", "{ ls", "[ -f x ]", "'ls'", "echo $X", 'echo "$X"', 'echo "\\""', "echo `x`", "echo \\x", "ls *.py", "ls a?",
        "ls ~", "ls {a,b}", "(ls)", "ls > f", "ls 2> f", "ls 2>&12", "ls 12>&1", "cat < f", "cat << E", "ls # x", "#x", "a\nb",
        "echo 'a'b", "echo 'a''b'", "echo \"a\"'b'", "echo 'a", 'echo "a', "echo é", "x 'y' " * 101, "f() x", "2>&1",
    ],
)  # fmt: skip
def test_other_lines_are_left_to_the_parser(line):
    assert blocks.plain_pipelines(line) is None
