"""What a program's table, options, variables and keys run is judged like any other program."""

import json
from pathlib import Path

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from baton.engine.text.yaml_lines import parse
from tests.support.cases import listed

HERE = Path(__file__).parent
LINES = parse((HERE / "tables.yaml").read_text("utf-8"))[0]
WRAPPERS = json.loads((HERE.parent / "corpus" / "wrappers.json").read_text("utf-8"))


def verdict(shipped, line, mode="off"):
    call = ToolCall(
        client="judge",
        session_id="s",
        tool_name="Bash",
        tool_input={"command": line},
        agent_id="",
        cwd="/repo",
        project_root="/repo",
    )
    return evaluate(shipped, Facts(call=call, level=mode, history=()))


def test_each_line_has_the_verdict_that_is_wanted(shipped):
    wrong = {}
    for one in LINES:
        found = verdict(shipped, one["line"], one.get("mode", "off"))
        effect = "allow" if found.effect == "abstain" else found.effect
        rule = found.rule if effect != "allow" else ""
        if effect not in one["want"] or rule != one.get("rule", ""):
            wrong[one["line"]] = f"{found.effect} {found.rule}"
    assert not wrong, listed(wrong)


def test_there_are_enough_lines_of_both_kinds():
    harmless = [one for one in LINES if one["want"] == ["allow"]]
    assert len(LINES) >= 350
    assert len(harmless) >= 150
    assert len({(one["line"], one.get("mode")) for one in LINES}) == len(LINES)


def test_a_removal_of_the_root_is_refused_in_every_wrapper(shipped):
    passed = {}
    for form in (form for forms in WRAPPERS.values() for form in forms):
        found = verdict(shipped, form.replace("SCRIPT", "'rm -rf /'").replace("CMD", "rm -rf /"))
        if found.effect != "deny":
            passed[form] = f"{found.effect} {found.rule}"
    assert not passed, listed(passed)
