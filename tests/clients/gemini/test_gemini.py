"""Gemini CLI: payloads of a real run, and its answers."""

from baton.clients import gemini
from baton.clients.event import HookAnswer
from tests.support.cases import every
from tests.support.recorded import recorded

RECORDED = recorded("gemini")
EVENTS = {
    "BeforeAgent": ("UserPromptSubmit", "none"),
    "AfterAgent": ("Stop", "none"),
    "BeforeTool": ("PreToolUse", "call"),
    "AfterTool": ("PostToolUse", ""),
    "SessionStart": ("SessionStart", "none"),
    "SessionEnd": ("SessionEnd", "none"),
    "PreCompress": ("PreCompress", "turn"),
}
TOOLS = {
    "run_shell_command": "Bash",
    "replace": "Edit",
    "read_file": "Read",
    "invoke_agent": "Agent",
    "mcp_fs_say": "mcp__fs__say",
}
SIGNS = {"BeforeTool.invoke_agent": "start", "AfterTool.invoke_agent": "end"}


def event_of(name, **changes):
    return gemini.read(RECORDED[name] | changes, "")


@every("kind", RECORDED)
def test_every_recorded_payload_is_read(kind):
    name, _, rest = kind.partition(".")
    tool = rest.partition(".")[0]
    event = event_of(kind)
    assert (event.client, event.name) == ("gemini", EVENTS[name][0])
    assert (event.session_id, event.cwd) == ("47755227-8913-410d-ba8f-ee0bdea6fb22", "/home/dev/work")
    assert event.tool_name == TOOLS.get(tool, tool)
    assert bool(event.tool_input) is bool(tool)
    assert (event.sign.kind if event.sign else "") == SIGNS.get(f"{name}.{tool}", EVENTS[name][1])
    assert event.sign is None or 1_795_340_673_000 < event.sign.at_ms < 1_795_340_680_000


def test_prompts_and_agent_starts_are_read():
    assert event_of("BeforeAgent").prompt == "[[main]] do it"
    assert event_of("BeforeTool.invoke_agent").sign.agent == "codebase_investigator"


@every("name", ["PreToolUse", "UserPromptSubmit", "SessionStart", "PreCompress"])
def test_the_shim_s_names_of_events_are_known_too(name):
    event = gemini.read({"session_id": "s"}, name)
    assert event.native_name == name
    assert event.sign is not None


@every("stamp", [None, 5, "", "yesterday", "2026-11-22T09:44:36.433"])
def test_a_time_that_cannot_be_read_is_no_error(stamp):
    assert event_of("BeforeTool.read_file", timestamp=stamp).sign.at_ms >= 0


SENT = [
    ("PreToolUse", HookAnswer(), {}),
    ("PreToolUse", HookAnswer(effect="deny", reason="no"), {"decision": "deny", "reason": "no"}),
    ("PreToolUse", HookAnswer(effect="ask", reason="sure?"), {"decision": "deny", "reason": "sure?"}),
    ("BeforeTool", HookAnswer(updated_input={"a": 1}), {"hookSpecificOutput": {"tool_input": {"a": 1}}}),
    ("PreToolUse", HookAnswer(context="c"), {}),
    ("PostToolUse", HookAnswer(context="c"), {"hookSpecificOutput": {"additionalContext": "c"}}),
    ("UserPromptSubmit", HookAnswer(context="c"), {"hookSpecificOutput": {"additionalContext": "c"}}),
    ("UserPromptSubmit", HookAnswer(effect="deny", reason="no"), {"decision": "deny", "reason": "no"}),
    ("SessionStart", HookAnswer(system_message="m"), {"systemMessage": "m"}),
    ("", HookAnswer(effect="deny", reason="no"), {"decision": "deny", "reason": "no"}),
]


@every(("event", "answer", "sent"), SENT)
def test_an_answer_is_rendered_for_gemini(event, answer, sent):
    assert gemini.render(event, answer) == sent
