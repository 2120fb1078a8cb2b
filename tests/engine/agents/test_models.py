"""Which model an agent gets: who decides, in which order, and what a client's call takes of it."""

import pytest

from baton.engine.agents.judge import Spawn, judge
from baton.engine.agents.models import choose, wrong_model
from baton.engine.agents.rosters import Roster, Rosters, Row, family
from baton.engine.call.agent_model import OwnAgent
from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.load import PolicyProblems, layered, load
from baton.shared import policy_folders

TABLE = Roster(
    id="one",
    description="x",
    agents={
        "plain": Row(model="opus"),
        "heir": Row(),
        "alone": Row(model="leave-alone"),
        "bedrock": Row(model="us.anthropic.claude-haiku-4-5-20251001-v1:0"),
        "opaque": Row(model="arn:aws:bedrock:eu-west-1:12:application-inference-profile/abc123"),
        "wrapper": Row(display_model="gemini-3-flash"),
    },
)


def found(name, **more):
    return Rosters({"one": TABLE}, ["one"], {}, **more).resolve(name)


def own(model):
    return OwnAgent(name="plain", model=model, source="project")


@pytest.mark.parametrize(
    ("asked", "file", "name", "more", "expected"),
    [
        ("haiku", own("opus"), "plain", {}, ("", "haiku", "call")),
        ("", own("haiku"), "plain", {}, ("", "haiku", "agent-file")),
        ("", own("inherit"), "plain", {}, ("", "", "agent-file")),
        ("", own("claude-opus-4-1@20250805"), "plain", {}, ("", "claude-opus-4-1@20250805", "agent-file")),
        ("", own(""), "plain", {"own": frozenset({"one"})}, ("opus", "opus", "team-row")),
        ("", None, "plain", {"changed": frozenset({"one/plain"})}, ("opus", "opus", "team-row")),
        ("", None, "plain", {}, ("opus", "opus", "shipped-roster")),
        ("", None, "heir", {}, ("sonnet", "sonnet", "default")),
        ("", None, "alone", {}, ("", "", "shipped-roster")),
        ("", None, "bedrock", {}, ("haiku", TABLE.agents["bedrock"].model, "shipped-roster")),
        ("", None, "opaque", {}, ("", TABLE.agents["opaque"].model, "shipped-roster")),
        ("", None, "wrapper", {}, ("", "", "shipped-roster")),
        ("", None, "nobody", {}, ("", "", "none")),
    ],
)
def test_the_first_that_says_something_decides(asked, file, name, more, expected):
    choice = choose(asked, file, found(name, **more))
    assert (choice.name, choice.full, choice.step) == expected
    assert choice.reason


@pytest.mark.parametrize("name", TABLE.agents)
@pytest.mark.parametrize("file", [None, own("haiku"), own("inherit"), own("")])
def test_a_start_over_the_api_has_the_model_of_a_call(name, file):
    plan = judge(Rosters({"one": TABLE}, ["one"], {}), Spawn(agent_type=name, prompt="p"), "t", file)
    choice = choose("", file, found(name))
    assert (plan.cli_model, plan.model_reason) == (choice.full, choice.reason)
    assert choice.name in {"", family(plan.cli_model)}


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("haiku", "haiku"),
        ("Sonnet[1m]", "sonnet"),
        ("claude-3-5-haiku-20241022", "haiku"),
        ("anthropic/claude-sonnet-4.5", "sonnet"),
        ("claude-opus-4-1@20250805", "opus"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-opus-4-5-v1:0", "opus"),
        ("opusplan", ""),
        ("my-haiku-7b", ""),
        ("gpt-5.2", ""),
        ("", ""),
    ],
)
def test_the_family_of_a_model_s_id(model, expected):
    assert family(model) == expected


def test_a_misspelt_model_is_no_id():
    assert "did you mean `haiku`" in wrong_model("hiku")
    assert not any(map(wrong_model, ("", "inherit", "leave-alone", "gpt-5.2", "claude-opus-4-1@20250805")))


def shipped(config=""):
    return load(layered(policy_folders.read(policy_folders.shipped()), {"config.yaml": config} if config else {}))


def call(agent, file=None, config=""):
    tool_input = {"subagent_type": agent, "prompt": "p", "description": "d"}
    facts = Facts(
        call=ToolCall(client="claude-code", session_id="s", tool_name="Agent", tool_input=tool_input), own_agent=file
    )
    verdict = evaluate(shipped(config), facts)
    return (verdict.updated_input or {}).get("model", ""), verdict.model.step


@pytest.mark.parametrize(
    ("agent", "file", "config", "expected"),
    [
        ("code-reviewer", None, "", ("opus", "shipped-roster")),
        ("code-reviewer", own("haiku"), "", ("", "agent-file")),
        ("code-reviewer", own("inherit"), "overrides: {ultrapower/code-reviewer: {model: sonnet}}", ("", "agent-file")),
        ("code-reviewer", own(""), "overrides: {ultrapower/code-reviewer: {model: sonnet}}", ("sonnet", "team-row")),
        ("code-reviewer", None, "overrides: {ultrapower/code-reviewer: {model: leave-alone}}", ("", "team-row")),
        ("ultrapower:axiom-worker", None, "", ("sonnet", "shipped-roster")),
        ("stravinsky:explore", None, "rosters: [stravinsky]", ("", "shipped-roster")),
        ("stravinsky:planner", None, "rosters: [stravinsky]", ("opus", "shipped-roster")),
        ("ours", None, "overrides: {ultrapower/ours: {model: fable, description: Ours.}}", ("fable", "team-row")),
        ("nobody-knows", None, "", ("", "none")),
    ],
)
def test_a_call_gets_the_model_that_was_chosen(agent, file, config, expected):
    assert call(agent, file, config) == expected


def test_the_same_call_of_people_with_different_files_is_judged_for_each():
    policies = shipped()
    tool_input = {"subagent_type": "code-reviewer", "prompt": "p", "description": "d"}
    asked = ToolCall(client="claude-code", session_id="s", tool_name="Agent", tool_input=tool_input)
    models = [
        (evaluate(policies, Facts(call=asked, own_agent=file)).updated_input or {}).get("model")
        for file in (None, own("haiku"), None, own(""), own("haiku"))
    ]
    assert models == ["opus", None, "opus", "opus", None]


def test_a_new_row_without_a_description_is_a_misspelt_one():
    with pytest.raises(
        PolicyProblems, match=r"unknown row `ultrapower/exploer`; did you mean `ultrapower/explore`\?.*description"
    ):
        shipped("overrides: {ultrapower/exploer: {model: haiku}}")
