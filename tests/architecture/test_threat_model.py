"""The threat model's tables: existing tests prove each row, and README shows some of the out-of-reach rows."""

import re
from pathlib import Path

import yaml

from tests.attacks.corpus import out_of_reach
from tests.support.cases import every, listed

ROOT = Path(__file__).parents[2]
MODEL = (ROOT / "docs" / "threat-model.md").read_text()
README = (ROOT / "README.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in MODEL.partition("## Attackers")[2].partition("\n## ")[0].splitlines()
    if line.startswith("| ") and not line.startswith("| who")
]
_NAMED = re.compile(r"`(tests/[\w./-]+)`")
_TEST = re.compile(r"^\s*(?:async )?def test_\w+", re.MULTILINE)
OWN_TESTS = "the rules' own tests"
"""`baton policy test` runs them, and refuses a rule without any."""


def count_tests(path: Path) -> int:
    """Count the tests of a file; rows of tests/lines and entries of a list of attacks count as well."""
    text = path.read_text()
    if path.suffix == ".tsv":
        return text.count("\n")
    return len(yaml.safe_load(text)) if path.suffix == ".yaml" else len(_TEST.findall(text))


def test_every_row_names_its_countermeasure_and_proof():
    assert len(ROWS) > 30
    assert {row[1]: len(row) for row in ROWS} == {row[1]: 4 for row in ROWS}


@every("row", ROWS, ids=[f"{row[0][:20]}: {row[1][:60]}" for row in ROWS])
def test_the_proof_of_a_row_exists(row):
    tries, proof = row[1], row[3]
    named = [ROOT / name for name in _NAMED.findall(proof)]
    assert named or OWN_TESTS in proof or "make audit" in proof, tries
    empty = {str(path): "no file with tests" for path in named if not path.is_file() or not count_tests(path)}
    assert not empty, listed(empty)
    if OWN_TESTS in proof:
        rules = re.findall(r"`(?:policies/guardrails/)?(baton-[\w-]+\.yaml)`", row[2])
        folders = "`policies/`" in row[2]
        assert rules or folders, "a row whose proof are rules' own tests names the rules"


def test_readme_shows_five_out_of_reach_rows():
    rows = {(row.what, row.instead) for row in out_of_reach().values()}
    section = README.partition("## What it does not keep out")[2].partition("\n## ")[0]
    shown = [tuple(line.strip("| ").split(" | ")) for line in section.splitlines() if line.startswith("| ")][1:]
    assert len(shown) == 5
    assert set(shown) - rows == set()
    assert len(rows) > 10
