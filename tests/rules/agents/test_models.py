"""An agent's model: the deciding sources in order, and the part used in a client's call."""

import pytest

from baton.rules.agents.judge import Spawn, judge
from baton.rules.agents.plan import choose, wrong_model
from baton.rules.agents.rosters import Roster, Rosters, Row, family
from baton.rules.call.call import OwnAgent, SessionModels, ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.load import PolicyProblems, layered, load
from baton.shared import policy_folders
from tests.support.cases import every

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


@every(
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
def test_the_first_model_in_order_decides(asked, file, name, more, expected):
    choice = choose(asked, file, found(name, **more))
    assert (choice.name, choice.full, choice.step) == expected
    assert choice.reason


@every("name", TABLE.agents)
@every("file", [None, own("haiku"), own("inherit"), own("")])
def test_a_start_over_the_api_has_the_model_of_a_call(name, file):
    plan = judge(Rosters({"one": TABLE}, ["one"], {}), Spawn(agent_type=name, prompt="p"), "t", file)
    choice = choose("", file, found(name))
    assert (plan.cli_model, plan.model_reason) == (choice.full, choice.reason)
    assert choice.name in {"", family(plan.cli_model)}


@every(
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


@every(
    ("session", "expected"),
    [
        (SessionModels(), True),
        (SessionModels(model="claude-opus-5-5"), True),
        (SessionModels(model="claude-sonnet-4-5-20250929[1m]"), True),
        (SessionModels(model="claude-3-5-haiku-latest"), True),
        (SessionModels(model="opusplan", provider="gateway"), True),
        (SessionModels(model="claude-sonnet-4.5", provider="gateway"), True),
        (SessionModels(model="qwen3-coder:30b"), False),
        (SessionModels(model="glm-5"), False),
        (SessionModels(model="gpt-6.1-sol"), False),
        (SessionModels(model="us.anthropic.claude-opus-4-1-20250805-v1:0"), False),
        (SessionModels(model="arn:aws:bedrock:eu-west-1:12:application-inference-profile/abc123"), False),
        (SessionModels(model="claude-opus-4-1@20250805"), False),
        (SessionModels(model="anthropic/claude-sonnet-4.5"), False),
        (SessionModels(model="claude-sonnet-prod"), False),
        (SessionModels(model="claude-2026"), False),
        (SessionModels(provider="cloud"), False),
        (SessionModels(model="claude-opus-4-6", provider="cloud"), False),
        (SessionModels(provider="gateway"), False),
        (SessionModels(model="glm-5", mapped=("haiku",), provider="gateway"), True),
        (SessionModels(model="glm-5", mapped=("opus",), provider="gateway"), False),
    ],
)
def test_an_alias_is_set_only_where_the_session_s_provider_is_known_to_have_it(session, expected):
    row = found("bedrock")
    assert (choose("", None, row, session).name == "haiku") is expected
    assert choose("", None, row, session, "always").name == "haiku"
    left_alone = choose("", None, row, session, "never")
    assert (left_alone.name, left_alone.full) == ("", row.full)
    assert "never" in left_alone.reason


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


@every(
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


@every(
    ("client", "given", "expected"),
    [
        ("claude-code", {}, "sonnet"),
        ("claude-code", {"subagent_type": ""}, "sonnet"),
        ("claude-code", {"subagent_type": None, "model": None}, "sonnet"),
        ("api", {}, "sonnet"),
        ("claude-code", {"model": "opus"}, None),
        ("claude-code", {"subagent_type": 3}, None),
        ("claude-code", {"description": 3}, None),
        ("codex", {}, None),
        ("copilot-cli", {}, None),
    ],
)
def test_a_call_without_a_type_gets_the_model_of_the_client_s_default_agent(client, given, expected):
    tool_input = {"prompt": "p", "description": "d"} | given
    facts = Facts(call=ToolCall(client=client, session_id="s", tool_name="Agent", tool_input=tool_input))
    verdict = evaluate(shipped(), facts)
    assert (verdict.updated_input or {}).get("model") == expected


def test_the_same_call_in_sessions_of_different_providers_is_judged_for_each():
    policies, always = shipped(), shipped("model_aliases: always")
    tool_input = {"subagent_type": "Explore", "prompt": "p", "description": "d"}
    local, own_api = SessionModels(model="qwen3-coder:30b"), SessionModels(model="claude-opus-5")
    models = [
        (
            evaluate(
                of,
                Facts(
                    call=ToolCall(
                        client="claude-code", session_id="s", tool_name="Agent", tool_input=tool_input, models=session
                    )
                ),
            ).updated_input
            or {}
        ).get("model")
        for of, session in [(policies, local), (policies, own_api), (policies, local), (always, local)]
    ]
    assert models == [None, "haiku", None, "haiku"]


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
