"""Every program of a line is found, in order, with its arguments."""

from baton.engine.shell.read import read
from tests.corpus.judge import argvs, lines, tables
from tests.support.cases import listed


def test_programs_are_listed_outermost_first():
    wrong = {}
    for row in lines("programs.jsonl"):
        shell = read(tables(), row["line"])
        if shell.unparsed or argvs(shell) not in [row["programs"], row.get("or", row["programs"])]:
            wrong[row["line"]] = shell.unparsed or argvs(shell)
    assert not wrong, listed(wrong)
