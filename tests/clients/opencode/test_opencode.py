"""opencode: payloads of Baton's plugin in a real run, and the plugin's answers."""

from baton.clients import opencode
from baton.clients.event import HookAnswer
from tests.support.cases import every
from tests.support.recorded import recorded

RECORDED = recorded("opencode")
ROOT = "ses_dfa74a84cffecnmPl0o7NMbAJn"
TOOLS = {"bash": "Bash", "edit": "Edit", "read": "Read", "task": "Agent"}


def event_of(name, **changes):
    return opencode.read(RECORDED[name] | changes, "")


@every("kind", RECORDED)
def test_every_recorded_payload_is_read(kind):
    name, _, rest = kind.partition(".")
    tool, _, subagent = rest.partition(".")
    event = event_of(kind)
    assert (event.client, event.name, event.native_name) == ("opencode", name, name)
    assert (event.session_id, event.cwd, event.tool_name) == (ROOT, "/home/dev/work", TOOLS.get(tool, ""))
    assert bool(event.agent_id) is bool(subagent)
    assert event.agent_type == ("explore" if subagent else "")
    assert bool(event.tool_input) is bool(event.tool_use_id) is bool(tool)


def test_a_prompt_is_the_person_s_text():
    assert event_of("UserPromptSubmit").prompt == '"[[main]] do it"'
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b", "synthetic": True}, {"type": "file"}, 5]
    assert event_of("UserPromptSubmit", output={"parts": parts}).prompt == "a"


def test_a_patch_is_known_as_one():
    call = {"tool": "apply_patch", "sessionID": "s", "callID": "c"}
    event = event_of("PreToolUse.edit", input=call, output={"args": {"patchText": "*** Begin Patch"}})
    assert (event.tool_name, event.tool_input["command"]) == ("apply_patch", "*** Begin Patch")


def test_a_question_is_a_refusal():
    specific = opencode.render("PreToolUse", HookAnswer(effect="ask", reason="sure?"))["hookSpecificOutput"]
    assert (specific["permissionDecision"], specific["permissionDecisionReason"]) == ("deny", "sure?")


@every("payload", [{}, {"session": 5, "input": None, "output": []}, {"output": {"parts": 3}}])
def test_odd_payloads_are_read_without_an_error(payload):
    assert opencode.read(payload, "PreToolUse").name == "PreToolUse"
