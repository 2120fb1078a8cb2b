"""Exports of many decisions, and cells that a spreadsheet must not run."""

import csv
import io

from baton.kernel.http.paging import exported
from baton.records.review.bodies import DecisionModel
from baton.records.review.decisions_api import COLUMNS
from baton.rules.call.verdict import RuleHit
from tests.records.pipeline.test_store import record
from tests.support.cases import every


async def pages(*many):
    for page in many:
        yield [DecisionModel.build(one) for one in page]


@every(
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
    answer = exported("decisions", "csv", COLUMNS, pages([made]))
    text = b"".join([part async for part in answer.body_iterator]).decode()
    [row] = csv.DictReader(io.StringIO(text, newline=""))
    assert (row["command"], row["rules"], row["paths"]) == (cell, "x/y:deny", "'=a b")
    assert "prompt" not in row
