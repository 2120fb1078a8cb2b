"""Exports of many decisions, and what a spreadsheet must not run."""

import csv
import io

import pytest

from baton.engine.call.verdict import RuleHit
from baton.records.review.export import as_csv
from tests.records.pipeline.test_store import record


async def pages(*many):
    for page in many:
        yield page


@pytest.mark.parametrize(
    ("command", "cell"),
    [
        ("ls -la", "ls -la"),
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1", "'+1"),
        ("-x", "'-x"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\tx", "'\tx"),
        ('a "quoted", text\nand a line', 'a "quoted", text\nand a line'),
    ],
)
async def test_a_cell_is_a_text_and_never_a_formula(command, cell):
    made = record(command=command, rules=(RuleHit("x/y", "deny"),), paths=("=a", "b"))
    text = b"".join([part async for part in as_csv(pages([made]))]).decode()
    [row] = csv.DictReader(io.StringIO(text, newline=""))
    assert (row["command"], row["rules"], row["paths"]) == (cell, "x/y:deny", "'=a b")
    assert "prompt" not in row
