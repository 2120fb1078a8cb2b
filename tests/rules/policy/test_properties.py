"""Properties of all calls."""

from functools import cache

from hypothesis import given
from hypothesis import strategies as st

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.explain import explain
from baton.rules.policy.load import layered, load
from tests.support.shipped import shipped, shipped_files

DENY = """
id: team/deny
description: One deny more.
match: [{tools: [Bash, Read]}, {agent: {known: true}, input: {subagent_type: explore*}}]
decision: deny
reason: no
tests: {match: [ls], not_match: [{tool: Write}]}
"""
RANK = {"abstain": 0, "allow": 0, "rewrite": 0, "ask": 1, "deny": 2}

anything = st.text(st.characters(), max_size=40) | st.text(st.characters(categories=["Cs"]), max_size=3)
words = st.sampled_from(
    ["rm", "-rf", "/", "~", "git", "push", "-f", "main", "|", "sh", ">", "$(", ")", "'", '"', "&&", "\n", "pytest",
     "curl", "<<EOF", "EOF", "`", "\\", ";", "{", "}", "find", "-exec", "BATON_DISABLED=1", ".baton", "\0", "\ud800"]
)  # fmt: skip
lines = st.lists(words, max_size=12).map(" ".join)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | anything | lines,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(anything, inner, max_size=4),
    max_leaves=12,
)
keys = st.sampled_from(
    ["command", "file_path", "path", "paths", "subagent_type", "prompt", "description", "model", "run_in_background"]
)
tools = st.sampled_from(
    ["Bash", "shell", "Edit", "Write", "Read", "Task", "Agent", "apply_patch", "mcp__a__b", "Grep", ""]
)
calls = st.builds(
    ToolCall,
    client=st.just("x"),
    session_id=anything,
    tool_name=tools | anything,
    tool_input=st.dictionaries(keys | anything, values, max_size=6),
    agent_id=st.sampled_from(["", "a"]),
    agent_type=st.sampled_from(["", "Explore"]) | anything,
    cwd=st.sampled_from(["", "/", "/repo", "relative"]) | anything,
    project_root=st.sampled_from(["", "/repo"]) | anything,
)
unmodelled = st.dictionaries(keys.filter(lambda name: name != "model"), values, max_size=6)
spawns = st.builds(
    lambda tool, agent, model, more: ToolCall(
        client="x",
        session_id="s",
        tool_name=tool,
        tool_input=more | model | {"subagent_type": agent, "prompt": "p", "description": "d"},
    ),
    st.sampled_from(["Task", "Agent"]),
    st.sampled_from(["Explore", "executor", "ultrapower:explore", "executor-high"]),
    st.sampled_from([{}, {"model": ""}, {"model": None}]),
    unmodelled,
)
"""Calls of known agents that name no model."""
facts = st.builds(
    Facts,
    call=calls,
    level=st.sampled_from(["off", "guidance", "strict"]),
    history=st.none() | st.lists(tools, max_size=4).map(tuple),
    background_running=st.none() | st.integers(0, 9),
    other_editor=st.none() | st.sampled_from(["", "s2"]),
)


@cache
def more():
    """Return the shipped policies with one more rule."""
    return load(layered(shipped_files(), {"team/deny.yaml": DENY}))


@given(facts)
def test_no_call_crashes_and_explain_agrees(given_facts):
    verdict = evaluate(shipped(), given_facts)
    matched = {trace.id for trace in explain(shipped(), given_facts) if trace.matched}
    assert {hit.id for hit in verdict.hits} <= matched
    assert (verdict.effect == "abstain") == (not matched)
    assert (verdict.rule == "") == (verdict.effect == "abstain")
    assert verdict.reason != "" or verdict.effect not in ("deny", "ask")


@given(facts)
def test_a_verdict_is_the_same_when_asked_again(given_facts):
    assert evaluate(shipped(), given_facts) == evaluate(shipped(), given_facts)


@given(facts)
def test_another_deny_never_loosens(given_facts):
    before, after = evaluate(shipped(), given_facts), evaluate(more(), given_facts)
    assert RANK[after.effect] >= RANK[before.effect]


@given(spawns, st.sampled_from(["off", "guidance", "strict"]))
def test_a_rewrite_changes_the_model_and_nothing_else(call, level):
    updated = evaluate(shipped(), Facts(call=call, level=level)).updated_input
    assert updated["model"] in {"haiku", "sonnet", "opus", "fable"}
    assert {name for name, value in updated.items() if call.tool_input.get(name) is not value} == {"model"}
    assert call.tool_input.keys() <= updated.keys()


@given(lines)
def test_who_asks_and_the_mode_never_lift_a_guardrail(line):
    said = set()
    for level, agent_id in (("off", ""), ("guidance", ""), ("strict", "a")):
        call = ToolCall(
            client="x", session_id="s", tool_name="Bash", tool_input={"command": line}, agent_id=agent_id, cwd="/repo"
        )
        verdict = evaluate(shipped(), Facts(call=call, level=level))
        said.add(frozenset(hit for hit in verdict.hits if hit.id.startswith("guardrails/")))
    assert len(said) == 1
