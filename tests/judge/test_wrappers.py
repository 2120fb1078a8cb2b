"""A test or build is found through every wrapper, however it is quoted."""

import json
import shlex
from itertools import product
from pathlib import Path

import pytest

from baton.lib.bash.model import Shell
from baton.lib.bash.read import read
from tests.lines.corpus import judged, of_line
from tests.support.cases import listed
from tests.support.shipped import shipped

pytestmark = pytest.mark.slow("wraps many lines")

COMMANDS = (
    ("pytest", "-q", "tests/test a.py"),
    ("npm", "run", "test"),
    ("cargo", "test", "--", "--nocapture"),
    ("go", "test", "./..."),
    ("./gradlew", "build"),
    ("make", "-j8", "check"),
    ("npx", "tsc", "--noEmit"),
    ("mypy", "--strict", "app"),
)


def plain(argv: tuple[str, ...]) -> str:
    return shlex.join(argv)


def double(argv: tuple[str, ...]) -> str:
    return " ".join(f'"{word}"' for word in argv)


def single(argv: tuple[str, ...]) -> str:
    return " ".join(f"'{word}'" for word in argv)


def broken(argv: tuple[str, ...]) -> str:
    name = argv[0]
    return f"{name[:2]}''{name[2:]} {shlex.join(argv[1:])}"


def escaped(argv: tuple[str, ...]) -> str:
    return "\\" + shlex.join(argv) if argv[0].isalpha() else plain(argv)


def ansi(argv: tuple[str, ...]) -> str:
    return " ".join(f"$'{word}'" for word in argv)


def found(argv: tuple[str, ...], shell: Shell) -> bool:
    """Return whether the command is listed; `find` adds an argument and `watch` splits the last one."""
    return "test-or-build" in shell.categories and any(one.argv[:2] == argv[:2] for one in shell.programs)


QUOTINGS = (plain, double, single, broken, escaped, ansi)
WRAPPERS = json.loads((Path(__file__).parent / "wrappers.json").read_text())


def test_there_are_enough_combinations():
    assert len(COMMANDS) * len(QUOTINGS) * sum(len(forms) for forms in WRAPPERS.values()) >= 5000


def missed(wrappers, fill):
    """Read every command in every quoting through every wrapper; return the lines that hid it."""
    hidden = {}
    for wrapper, argv, quoting in product(wrappers, COMMANDS, QUOTINGS):
        line = fill(wrapper, quoting(argv))
        shell = read(shipped().tables, line)
        if not found(argv, shell):
            hidden[line] = shell.unparsed
    return hidden


def test_a_wrapper_of_words_hides_nothing():
    hidden = missed(WRAPPERS["words"], lambda wrapper, words: wrapper.replace("CMD", words))
    assert not hidden, listed(hidden)


def test_a_wrapper_of_a_script_hides_nothing():
    hidden = missed(WRAPPERS["script"], lambda wrapper, words: wrapper.replace("SCRIPT", shlex.quote(words)))
    assert not hidden, listed(hidden)


def test_a_removal_of_the_root_is_refused_in_every_wrapper():
    passed = {}
    for form in (form for forms in WRAPPERS.values() for form in forms):
        found = judged(shipped(), of_line(form.replace("SCRIPT", "'rm -rf /'").replace("CMD", "rm -rf /")))
        if found.effect != "deny":
            passed[form] = f"{found.effect} {found.rule}"
    assert not passed, listed(passed)
