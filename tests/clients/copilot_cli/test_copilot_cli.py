"""Copilot CLI: its recorded payloads, and its answers."""

from baton.clients import claude_code, copilot_cli
from baton.clients.event import HookAnswer
from baton.clients.registry import CLIENTS, who_posts
from tests.support.cases import every
from tests.support.recorded import recorded

OWN = recorded("copilot_cli")
AS_CLAUDE = recorded("copilot_cli", "payloads_in_claude_settings")
TASK = {"agent_type": "explore", "name": "look", "description": "d", "prompt": "p", "mode": "sync"}
TOOLS = {
    "bash": "Bash", "Bash": "Bash", "edit": "Edit", "Edit": "Edit", "view": "Read", "Read": "Read", "task": "Agent",
    "Agent": "Agent", "apply_patch": "apply_patch",
}  # fmt: skip


@every(("kind", "given"), [*OWN.items(), *AS_CLAUDE.items()])
def test_every_recorded_payload_is_read(kind, given):
    native = kind.partition(".")[0]
    event = copilot_cli.read(given, native)
    main = given.get("parentAgentId") or given.get("parent_agent_id") or given.get("sessionId") or given["session_id"]
    assert (event.client, event.session_id, event.cwd) == ("copilot-cli", main, "/home/dev/work")
    assert (event.name == "other") is (native.lower() == "permissionrequest")
    assert event.agent_id == (given.get("agentId") or given.get("agent_id") or "")
    tool = given.get("toolName") or given.get("tool_name") or ""
    assert event.tool_name == TOOLS.get(tool, tool)
    if tool:
        assert event.tool_input


def test_the_events_of_the_file_are_those_that_are_read():
    for event, native in copilot_cli.SPEC.natives.items():
        assert copilot_cli.read({}, native).name == event == copilot_cli.read({}, event).name


def test_a_sub_agent_belongs_to_the_session_that_started_it():
    event = copilot_cli.read(OWN["preToolUse.view.2"], "PreToolUse")
    assert event.session_id == "a905565b-14ad-4097-b300-ecd537edad7f"
    assert (event.agent_id, event.agent_type) == ("431a9c47-351c-4cf2-ba98-d3d43adb3b8f", "explore")


def test_a_patch_is_a_string_in_both_directions():
    given = OWN["preToolUse.apply_patch"]
    event = copilot_cli.read(given, "PreToolUse")
    assert event.tool_input == {"command": given["toolArgs"]}
    sent = copilot_cli.render("PreToolUse", HookAnswer(updated_input=event.tool_input))
    assert sent == {"modifiedArgs": given["toolArgs"]}


@every("payload", AS_CLAUDE.values(), ids=AS_CLAUDE)
def test_it_is_recognised_where_it_runs_the_hooks_of_claude_settings(payload):
    assert who_posts(CLIENTS["claude-code"], payload).name == "copilot-cli"


def test_claude_code_is_not_taken_for_it():
    for one in recorded("claude_code").values():
        assert who_posts(CLIENTS["claude-code"], one) is claude_code
        dated = one | {"timestamp": "2026-11-22T09:54:01.988Z"}
        assert who_posts(CLIENTS["claude-code"], dated) is claude_code


def test_in_claude_settings_its_answers_hold_for_claude_code_as_well():
    client = who_posts(CLIENTS["claude-code"], AS_CLAUDE["PreToolUse.Agent"])
    deny = HookAnswer(effect="deny", reason="no")
    assert client.render("PreToolUse", deny) == claude_code.render("PreToolUse", deny)
    sent = client.render("PreToolUse", HookAnswer(updated_input=TASK | {"model": "haiku"}))
    assert sent["hookSpecificOutput"]["updatedInput"]["model"] == "claude-haiku-4.5"
    sent = client.render("SessionStart", HookAnswer(context="c"))
    assert sent == claude_code.render("SessionStart", HookAnswer(context="c")) | {"additionalContext": "c"}


SENT = [
    ("no opinion is an empty object", "PreToolUse", HookAnswer(), {}),
    ("deny", "PreToolUse", HookAnswer(effect="deny", reason="no", context="c"),
     {"permissionDecision": "deny", "permissionDecisionReason": "no"}),
    ("ask", "PreToolUse", HookAnswer(effect="ask", reason="sure?"),
     {"permissionDecision": "ask", "permissionDecisionReason": "sure?"}),
    ("an event without a name is a call", "", HookAnswer(effect="deny", reason="no"),
     {"permissionDecision": "deny", "permissionDecisionReason": "no"}),
    ("a prompt refused", "UserPromptSubmit", HookAnswer(effect="deny", reason="no"), {"decision": "block", "reason": "no"}),
    ("context", "SessionStart", HookAnswer(context="c"), {"additionalContext": "c"}),
    ("what a person is told", "SessionStart", HookAnswer(system_message="s", context="c"),
     {"additionalContext": "Baton says to the person: s\n\nc"}),
    ("no context where there is none", "Stop", HookAnswer(context="c"), {}),
    ("a model", "PreToolUse", HookAnswer(updated_input=TASK | {"model": "sonnet"}),
     {"modifiedArgs": TASK | {"model": "claude-sonnet-4.5"}}),
    ("a full model name", "PreToolUse", HookAnswer(updated_input=TASK | {"model": "gpt-5-mini"}),
     {"modifiedArgs": TASK | {"model": "gpt-5-mini"}}),
    ("a model that GitHub has not", "PreToolUse", HookAnswer(updated_input=TASK | {"model": "fable"}),
     {"modifiedArgs": TASK}),
]  # fmt: skip


@every(("event", "answer", "sent"), [row[1:] for row in SENT], ids=[row[0] for row in SENT])
def test_an_answer_is_rendered_for_copilot(event, answer, sent):
    assert copilot_cli.render(event, answer) == sent
