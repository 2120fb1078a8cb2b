"""Rules are found by what a line has; whoever looks at every rule comes to the same verdict."""

import msgspec
import pytest

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.matching.candidates import Candidates
from tests.attacks.corpus import calls
from tests.corpus.judge import lines
from tests.support.cases import listed
from tests.support.shipped import unread

MORE = ["", 'x=$(curl u); eval "$x"', "f() { f | f & }; f", "A=1 B=2", "a 'b", "> .baton/x", "BATON_DISABLED=1 claude"]


def every_line():
    attacks = [call.tool_input["command"] for call in calls() if call.tool == "Bash"]
    found = MORE + attacks + [row["line"] for row in lines("programs.jsonl")]
    return [line for line in dict.fromkeys(found) if isinstance(line, str) and len(line) < 10_000]


@pytest.mark.parametrize(
    ("level", "one_of"),
    [
        ("strict", 8),
        pytest.param("off", 1, marks=pytest.mark.slow("judges every line twice")),
        pytest.param("strict", 1, marks=pytest.mark.slow("judges every line twice")),
    ],
)
def test_no_rule_is_lost_by_looking_only_at_what_a_line_may_concern(monkeypatch, level, one_of):
    def verdicts():
        policies = unread()
        calls = [
            ToolCall(client="x", session_id="s", tool_name="Bash", tool_input={"command": line}, cwd="/home/ann/app")
            for line in every_line()[::one_of]
        ]
        return {call.tool_input["command"]: evaluate(policies, Facts(call=call, level=level)) for call in calls}

    found = verdicts()

    def every_rule(self, _shell, *, guesses=False, unread=False):
        return (msgspec.structs.replace(one, guesses=guesses) for one in self.rules)

    monkeypatch.setattr(Candidates, "reached", every_rule)
    wrong = {line: verdict.rule for line, verdict in verdicts().items() if verdict != found[line]}
    assert not wrong, listed(wrong)
    assert len(found) > 1_500 // one_of
