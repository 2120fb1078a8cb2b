"""Every program of a line is found, in order, with its arguments."""

import pytest

from baton.engine.shell.read import read
from tests.corpus.judge import argvs, lines, tables


@pytest.mark.parametrize("row", lines("programs.jsonl"), ids=lambda row: row["line"][:60])
def test_programs_are_listed_outermost_first(row):
    shell = read(tables(), row["line"])
    assert shell.unparsed == ""
    assert argvs(shell) in [row["programs"], row.get("or", row["programs"])]
