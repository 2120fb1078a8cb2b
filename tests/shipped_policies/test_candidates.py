"""Rules are found by a line's content; checking every rule gives the same verdict."""

from collections import Counter

import msgspec
import pytest

from baton.rules.call.call import ToolCall
from baton.rules.call.modes import Freeze
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate, refused_within
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.rule import Candidates, live_rules
from tests.lines.corpus import lines
from tests.support.cases import listed
from tests.support.shipped import unread

MORE = ["", 'x=$(curl u); eval "$x"', "f() { f | f & }; f", "A=1 B=2", "a 'b", "> .baton/x", "BATON_DISABLED=1 claude"]


def every_line():
    return [line for line in dict.fromkeys(MORE + lines()) if len(line) < 10_000]


@pytest.mark.parametrize(
    ("level", "one_of"),
    [
        ("strict", 80),
        pytest.param("off", 1, marks=pytest.mark.slow("judges every line twice")),
        pytest.param("strict", 1, marks=pytest.mark.slow("judges every line twice")),
    ],
)
def test_candidate_selection_loses_no_rule(monkeypatch, level, one_of):
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
    assert len(found) > 5_000 // one_of


def test_no_guardrail_is_asked_again_about_a_line_that_was_read_before():
    """Each open check runs for every call: two of them made a known line four times as expensive."""
    policies = unread()
    asked = Counter()
    for line in filter(None, every_line()[::10]):
        call = ToolCall(client="x", session_id="s", tool_name="Bash", tool_input={"command": line}, cwd="/home/ann/app")
        asked.update(one.rule.id for one in live_rules(Context(policies, Facts(call=call, level="strict"))).open)
    assert {rule for rule in asked if not rule.startswith("orchestrator/")} == set()
    assert asked["orchestrator/second-lookup"] > 0


FREEZE = Freeze(scope="user", id="ann", read_only=True)


@pytest.mark.parametrize(("level", "freeze"), [("off", None), ("strict", None), ("guidance", None), ("off", FREEZE)])
def test_a_call_is_judged_alike_in_the_context_of_its_name_and_refused_if_that_is_sure(level, freeze):
    policies, sure, wrong = unread(), 0, []
    for line in filter(None, every_line()[::60]):
        call = ToolCall(client="x", session_id="s", tool_name="Bash", tool_input={"command": line}, cwd="/home/ann/app")
        unknown = Facts(call=call, level=level, freeze=freeze)
        context = Context(policies, unknown)
        policies.history_name(context)
        is_sure = refused_within(context) is not None
        sure += is_sure
        facts = msgspec.structs.replace(unknown, history=("Read", "Grep"), background_running=9, other_editor="s2")
        verdict = evaluate(policies, facts)
        if evaluate(policies, facts, context) != verdict or (is_sure and verdict.effect != "deny"):
            wrong.append(line)
    assert wrong == []
    assert sure > 0
