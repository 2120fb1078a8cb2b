"""Cursor: payloads from its documentation, and its answers. None was recorded: it was not driven."""

from baton.clients import claude_code, cursor
from baton.clients.event import HookAnswer
from baton.clients.registry import CLIENTS, who_posts
from tests.support.cases import every
from tests.support.recorded import recorded

PAYLOADS = recorded("cursor")
TOOLS = {"Shell": "Bash", "Task": "Agent", "MCP:create_issue": "mcp__cursor__create_issue"}
REWRITE = {"prompt": "p", "subagent_type": "explore"}


@every(("kind", "given"), PAYLOADS.items())
def test_every_documented_payload_is_read(kind, given):
    native = kind.partition(".")[0]
    event = cursor.read(given, "")
    assert (event.client, event.session_id, event.cwd) == ("cursor", "74676b03-0001", "/home/dev/work")
    assert (event.name, event.native_name) == (cursor.SPEC.names[native],) * 2
    tool = given.get("tool_name", "")
    assert event.tool_name == TOOLS.get(tool, tool)
    assert event.tool_input == given.get("tool_input", {})
    assert (event.prompt, event.agent_id) == (given.get("prompt", ""), given.get("subagent_id", ""))


@every("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_it_is_recognised_where_it_runs_the_hooks_of_claude_settings(payload):
    client = who_posts(CLIENTS["claude-code"], payload)
    assert (client.name, client is cursor) == ("cursor", False)


SENT = [
    ("PreToolUse", HookAnswer(), {}),
    ("PreToolUse", HookAnswer(effect="deny", reason="no", context="c"),
     {"permission": "deny", "user_message": "no", "agent_message": "no"}),
    ("PreToolUse", HookAnswer(effect="ask", reason="sure?"),
     {"permission": "deny", "user_message": "sure?", "agent_message": "sure?"}),
    ("", HookAnswer(effect="deny", reason="no"), {"permission": "deny", "user_message": "no", "agent_message": "no"}),
    ("PreToolUse", HookAnswer(updated_input=REWRITE), {"permission": "allow", "updated_input": REWRITE}),
    ("PreToolUse", HookAnswer(context="c"), {"additional_context": "c"}),
    ("UserPromptSubmit", HookAnswer(effect="deny", reason="no"), {"continue": False, "user_message": "no"}),
    ("UserPromptSubmit", HookAnswer(context="c"), {}),
    ("SessionStart", HookAnswer(context="c", system_message="s"), {"additional_context": "Baton says to the person: s\n\nc"}),
    ("SubagentStart", HookAnswer(effect="deny", reason="no"), {"permission": "deny", "user_message": "no", "agent_message": "no"}),
    ("Stop", HookAnswer(effect="deny", reason="no"), {}),
]  # fmt: skip


@every(("event", "answer", "sent"), SENT)
def test_an_answer_is_rendered_for_cursor(event, answer, sent):
    assert cursor.render(event, answer) == sent


@every(("event", "answer", "sent"), SENT)
def test_in_claude_settings_it_is_sent_both_forms(event, answer, sent):
    client = who_posts(CLIENTS["claude-code"], {"cursor_version": "3.9"})
    assert client.render(event, answer) == claude_code.render(event, answer) | sent


@every("payload", [{}, {"workspace_roots": "x", "tool_name": 5}, {"workspace_roots": [1], "cwd": None}])
def test_odd_payloads_are_read_without_an_error(payload):
    assert cursor.read(payload, "preToolUse").name == "PreToolUse"
