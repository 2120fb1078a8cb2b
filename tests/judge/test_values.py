"""Lines whose programs stand in values: variables, loops, functions, files that the line writes, unknown programs."""

from pathlib import Path

import yaml

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from tests.support.cases import listed

LINES = yaml.load((Path(__file__).parent / "values.yaml").read_text(), yaml.CSafeLoader)


def verdict(policies, one):
    call = ToolCall(
        client="judge",
        session_id="s",
        tool_name="Bash",
        tool_input={"command": one["line"]},
        agent_id="a" if one.get("who") == "subagent" else "",
        cwd=one.get("cwd", "/repo"),
        project_root=one.get("cwd", "/repo"),
    )
    return evaluate(policies, Facts(call=call, level=one.get("mode", "off")))


def test_each_line_has_the_verdict_that_is_wanted(shipped):
    wrong = {}
    for one in LINES:
        found = verdict(shipped, one)
        effect = "allow" if found.effect == "abstain" else found.effect
        rule = found.rule if effect != "allow" else ""
        if effect not in one["want"] or rule != one.get("rule", ""):
            wrong[one["line"]] = f"{found.effect} {found.rule}"
    assert not wrong, listed(wrong)


def test_the_list_is_large_and_has_harmless_neighbours():
    assert len({one["line"] for one in LINES}) == len(LINES)
    assert sum(one["want"] == ["allow"] for one in LINES) >= len(LINES) / 3
