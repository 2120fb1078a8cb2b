"""The comparison with another release judges rows over HTTP as the row's own test judges them."""

import pytest

from tests.lines.corpus import parse
from tests.lines.diff import checked_out, served, verdicts

pytestmark = pytest.mark.slow("checks a commit out and judges with it")

ROWS = """# section
rm -rf /	any	deny	guardrails/remove-root
npm test	strict	deny	orchestrator/test-or-build
Read	strict	deny	orchestrator/second-lookup	{"input":{"file_path":"a.py"},"history":["Read"]}
"""


def test_a_checked_out_release_judges_with_the_mode_off_and_strict(tmp_path):
    with checked_out("HEAD", tmp_path) as tree, served(tree, tmp_path / "home") as client:
        found = verdicts(client, list(parse("x", ROWS)))
    assert found == [
        *["deny guardrails/remove-root"] * 2, "allow", "deny orchestrator/test-or-build", "allow", "deny orchestrator/second-lookup",
    ]  # fmt: skip
    assert not tree.exists()
