"""Qwen Code: payloads of real runs, by today's and an earlier version, and its answers."""

from baton.clients import qwen
from baton.clients.event import HookAnswer
from tests.support.cases import every
from tests.support.recorded import hook, recorded

TODAY, EARLIER = recorded("qwen"), recorded("qwen", "payloads_earlier")
TOOLS = {"run_shell_command": "Bash", "edit": "Edit", "read_file": "Read", "agent": "Agent"}
ENDS = {"Stop", "SessionStart", "UserPromptSubmit"}


@every("payload", [*TODAY.values(), *EARLIER.values()], ids=[*TODAY, *EARLIER])
def test_every_recorded_payload_is_read(payload):
    event = qwen.read(payload, "")
    name = payload["hook_event_name"]
    nobody_prompts = payload.get("prompt") == "" or name == "Notification"
    assert (event.client, event.native_name) == ("qwen", name)
    assert event.name == ("other" if nobody_prompts else name)
    assert event.session_id == payload["session_id"]
    assert event.tool_name == TOOLS.get(payload.get("tool_name", ""), "")
    assert event.tool_input == payload.get("tool_input", {})
    assert event.agent_id == payload.get("agent_id", "")


def test_today_a_call_names_its_agent():
    subagent, own = (qwen.read(TODAY[f"PreToolUse.read_file{rest}"], "") for rest in (".subagent", ""))
    assert (subagent.agent_id, subagent.agent_type, subagent.sign) == ("Explore-call_0005_0", "Explore", None)
    assert (own.agent_id, own.agent_type, own.sign) == ("", "", None)


@every(("kind", "payload"), EARLIER.items())
def test_an_earlier_version_is_read_by_agent_starts_and_ends(kind, payload):
    event = qwen.read(payload, "")
    name = kind.partition(".")[0]
    kinds = {"PreToolUse": "call", "SubagentStart": "start", "SubagentStop": "end"} | dict.fromkeys(ENDS, "none")
    assert (event.sign.kind if event.sign else "") == kinds.get(name, "")
    if name == "SubagentStart":
        assert (event.sign.agent, event.sign.agent_id) == ("Explore", event.agent_id)


SENT = [
    ("PreToolUse", HookAnswer(effect="ask", reason="r"),
     hook("PreToolUse", permissionDecision="ask", permissionDecisionReason="r")),
    ("PreToolUse", HookAnswer(updated_input={"a": 1}, context="c", system_message="m"), {}),
    ("SessionStart", HookAnswer(context="c", system_message="m"),
     hook("SessionStart", additionalContext="Baton says to the person: m\n\nc")),
    ("UserPromptSubmit", HookAnswer(effect="deny", reason="r"), {"decision": "block", "reason": "r"}),
    ("PostToolUse", HookAnswer(context="c"), hook("PostToolUse", additionalContext="c")),
]  # fmt: skip


@every(("event", "answer", "sent"), SENT)
def test_an_answer_is_rendered_for_qwen(event, answer, sent):
    assert qwen.render(event, answer) == sent
