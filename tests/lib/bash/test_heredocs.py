"""Heredocs unsupported by the parser become here-strings; a real bash checks the equal meaning."""

import itertools
import random
import re
import subprocess

import pytest

from baton.lib.bash.heredocs import as_here_strings
from tests.lib.bash.small import shell
from tests.support.cases import every

READ = [
    ("cat <<A && rm <<B\nx\nA\ny\nB", "cat / rm"),
    ("cat <<A <<B\nx\nA\ny\nB\nrm z", "cat / rm z"),
    ("cat <<'A' > a && cat > b <<'B' && rm y\n`rm x`\nA\nB $(\nB", "cat / cat / rm y"),
    ("cat <<A | tee a; sh <<'B'\n$(rm x)\nA\nrm y\nB", "rm x / cat / tee a / sh / rm y"),
    ("sh <<-A || sh <<-'B'\n\trm x\n\tA\n\trm y\n\tB", "sh / rm x / sh / rm y"),
    ("(cat <<A; rm y) &\nx\nA\nrm z", "cat / rm y / rm z"),
    ("<<E rm x\ny\nE", "rm x"),
    ("cat <<'E F'\nrm x\nE F\nrm y", "cat / rm y"),
    ('cat <<A <<B\n$(rm "a") "\nA\n\\"\nB', "rm a / cat"),
    ("a 2>&1 <<A && rm y <<B\nx\nA\nB", "a / rm y"),
    ("case x in x) sh <<'A'; sh <<B;; esac\nrm x\nA\nrm y\nB", "sh / rm x / sh / rm y"),
    ("f() { sh <<'A'; rm <<B; }; f\nrm x\nA\ny\nB", "sh / rm x / rm / f"),
]

# What would be hidden, were a body seen where bash sees none, or another one.
NOT_HIDDEN = [
    "echo 'a <<A <<A'; )\nrm x\nA\nA",
    "echo \"a <<A <<A\" $'\\'<<A'\nrm x\nA",
    "# <<A <<B\nrm x\nA\nB\n(( 1 ))",
    "cat <<A <<B # <<C\na\nA\nb\nB\nrm x\nC",
    "a#b <<A <<B\nA\nB\nrm x",
    "echo $((1<<2)) <<A <<B\nA\nB\nrm x\n2",
    "cat <<A <<B\na\\\nA\nA\nB\nrm x",
    "cat <<A <<B $(\nrm x\n)\nA\nB",
    "sh <<A <<B\nls\nA\nrm x\nB",
    "sh <<<'ls' <<A <<B\nls\nA\nrm x\nB",
    "sh 3<<A <<B\nls\nA\nrm x\nB",
    "$(case x in x) cat <<A <<B;; esac)\nA\nB\nrm x",
]


@every(("line", "programs"), READ)
def test_lines_with_heredocs_that_the_parser_lacks_are_read(line, programs):
    read = shell(line)
    assert (read.unparsed, " / ".join(" ".join(one.argv) for one in read.programs if not one.meant)) == ("", programs)


@every("line", NOT_HIDDEN)
def test_a_heredoc_hides_nothing(line):
    read = shell(line)
    assert read.unparsed or ("rm", "x") in [program.argv[:2] for program in read.programs]


COMMANDS = [
    "cat <<A", "cat <<'B'", "cat <<-C", 'cat <<"D E"', "cat <<\\F", "cat 3<<A <&3", "cat - <<A", "cat <<A -", "echo x",
    "(cat <<A)", "{ cat <<'B'; }", "if cat <<A; then cat <<'B'; fi", "x=$(cat <<A", ")", '"$(cat <<A', ')"', "echo 'a <<A b'",
    'echo "c <<A d"', "echo $((1 <<A))", "# <<A", "echo a#b <<A", "for i in 1 2; do cat <<A; done", "f() { cat <<A; }", "f",
    "cat <<A > o", "cat o", "> o cat <<A", "case x in x) cat <<A;; esac", "((1<<2))", "echo `echo <<A`", "echo ${x:-<<A}",
    "cat <<<'h' <<A", "cat < o <<A", "cat <<A < o", "! cat <<A", "echo \\", "echo $'it\\'s <<A'", "echo \\' <<A",
    "while read l; do echo $l; done <<A", "cat <<A 2>&1", "cat <<A &> o", "cat <<A >| o", "[[ a < b ]]", "echo a\\\n# <<A",
    "cat <(echo 1) - <<A", "echo \"$(echo '<<A')\"", "(echo 1) <<A", "A=1 cat <<A", "export A=2 <<A", "cat {a,b} <<A",
    "echo ${#x} <<A", "echo \"it's <<A\"", "cat 12<<A", "cat a1<<A", "g () { cat; } <<A", "g",
]  # fmt: skip
OPERATORS = [" && ", " || ", "; ", " | ", "\n", "\n", " & wait; ", " |\n", " &&\n"]
BODIES = [
    "one", "two $x", "it's", 'q "z" v', "`echo t`", "$(echo u)", '$(echo "v")', "${y:-v}", '\\$x \\` \\\\ \\n \\"', "\ttabbed",
    "a\\", "$", "5$ $.", "<<A", "echo hidden", '${y:-"v"}', "$((1+2))", "$'a'", "", " A", "A ", "\tC", "'", '"', "\\", "x) y",
    "$(case x in x) echo;; esac)",
]  # fmt: skip
PIPES = frozenset([" | ", " |\n"])
USES_FILE = re.compile(r"(?:^|\s)o(?:\s|\Z)")
ENDS = ["A", "B", "A", "B", "\tC", "C", "D E", "F"]


def texts(seed):
    rnd = random.Random(seed)  # noqa: S311 - not for secrets
    while True:
        lines = []
        for _ in range(rnd.randint(1, 4)):
            line = rnd.choice(COMMANDS)
            for _ in range(rnd.randint(0, 2)):
                operator, command = rnd.choice(OPERATORS), rnd.choice(COMMANDS)
                # Two commands of a pipeline run at the same time: what one reads of the other's file is chance.
                at_once = operator in PIPES and USES_FILE.search(line) and USES_FILE.search(command)
                line += (" && " if at_once else operator) + command
            lines.append(line)
            for _ in range(rnd.randint(0, 3)):
                lines += [*rnd.choices(BODIES, k=rnd.randint(0, 3)), rnd.choice(ENDS)]
        text = "\n".join(lines) + "\n"
        mended = as_here_strings(text.encode()).decode()
        if mended != text:
            yield text, mended


def run(text, folder):
    for path in folder.iterdir():
        path.unlink()
    done = subprocess.run(
        ["bash", "-c", text], cwd=folder, env={"PATH": "/bin:/usr/bin", "x": "X"}, capture_output=True, timeout=20,
        stdin=subprocess.DEVNULL, check=False,
    )  # fmt: skip
    files = {path.name: path.read_bytes().split() for path in folder.iterdir()}
    # The commands of a pipeline print in any order, and a here-string ends with a line end.
    return sorted(done.stdout.split()), files, done.stderr


@pytest.mark.parametrize("count", [20, pytest.param(400, marks=pytest.mark.slow("runs bash eight hundred times"))])
def test_bash_does_the_same_with_both(tmp_path, count):
    tried = 0
    for text, mended in itertools.islice(texts(7), count * 12):
        printed, files, errors = run(text, tmp_path)
        # What bash refuses, or whose end it misses, has no meaning to be kept.
        if b"syntax error" in errors or b"unexpected" in errors or b"here-document at line" in errors:
            continue
        assert run(mended, tmp_path)[:2] == (printed, files), f"{text}\n---\n{mended}"
        tried += 1
        if tried == count:
            break
    assert tried == count
