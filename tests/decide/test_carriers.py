"""A tool's input in every encoding, over real HTTP: judged like the usual object, by each client and endpoint."""

import json

from baton.rules.call.commands import judged_as
from tests.support.cases import every, listed

ROOT = "rm -rf /"
CONFIG = "*** Begin Patch\n*** Update File: /home/dev/.codex/config.toml\n@@\n+x\n*** End Patch\n"
SHELLS = {
    "claude-code": ("PreToolUse", "Bash"),
    "codex": ("PreToolUse", "exec_command"),
    "copilot-cli": ("preToolUse", "bash"),
    "cursor": ("preToolUse", "Shell"),
    "gemini": ("BeforeTool", "run_shell_command"),
    "opencode": ("PreToolUse", "bash"),
    "qwen": ("PreToolUse", "run_shell_command"),
}
CARRIERS = {
    "text": ROOT,
    "list": ["rm", "-rf", "/"],
    "json": json.dumps({"command": ROOT}),
    "json in json": json.dumps(json.dumps({"command": ROOT})),
    "arguments": {"arguments": json.dumps({"command": ROOT})},
    "input": {"input": {"command": ROOT}},
    "args": {"command": "rm", "args": ["-rf", "/"]},
    "args as text": {"command": "rm", "args": "-rf /"},
    "program": {"program": "rm", "args": ["-rf", "/"]},
    "executable": {"executable": "/bin/rm", "argv": ["rm", "-rf", "/"]},
    "list as cmd": {"cmd": ["rm", "-rf", "/"]},
    "shell": {"command": ["bash", "-lc", ROOT]},
    "script": {"script": ROOT},
    "code": {"code": ROOT},
    "shell_command": {"shell_command": ROOT},
    "bash_command": {"bash_command": ROOT},
    "commands": {"commands": ["ls -l", ROOT]},
    "camel": {"commandLine": ROOT},
    "other": {"whatever": ROOT},
}
HARMLESS = [
    "ls -la",
    ["ls", "-la"],
    json.dumps({"command": "ls", "description": "don't"}),
    {"command": "ls", "args": ["-la"]},
]


def payload(client, tool, given, session="c"):
    _, named = SHELLS[client]
    tool = tool or named
    if client == "copilot-cli":
        return {"timestamp": 1, "cwd": "/home/dev/shop", "sessionId": session, "toolName": tool, "toolArgs": given}
    if client == "opencode":
        return {
            "directory": "/home/dev/shop",
            "session": {"id": session},
            "input": {"tool": tool},
            "output": {"args": given},
        }
    name = "conversation_id" if client == "cursor" else "session_id"
    return {name: session, "cwd": "/home/dev/shop", "tool_name": tool, "tool_input": given}


def asked(http, client, given, tool=""):
    body = given if isinstance(given, bytes) else json.dumps(payload(client, tool, given)).encode()
    answer = http.post(f"/hooks/{client}?event={SHELLS[client][0]}", content=body)
    assert answer.status_code == 200
    return answer.text


@every("client", SHELLS)
def test_each_client_s_shell_is_judged_by_every_carrier(http, client):
    let_through = {
        name: text for name, given in CARRIERS.items() if '"deny"' not in (text := asked(http, client, given))
    }
    assert not let_through, listed(let_through)
    stopped = {str(given): text for given in HARMLESS if (text := asked(http, client, given)) != "{}"}
    assert not stopped, listed(stopped)


@every("path", ["/pre-tool-use", "/policies/evaluate"])
@every("tool", ["Bash", "shell", "mcp__shell__execute", "run_terminal_cmd", "execute_command", "terminal"])
def test_the_typed_endpoints_judge_it_for_every_tool_that_runs_lines(http, path, tool):
    def decided(given):
        return http.post(path, json={"tool_name": tool, "tool_input": given}).json()["decision"]

    let_through = {name: found for name, given in CARRIERS.items() if (found := decided(given)) != "block"}
    assert not let_through, listed(let_through)
    assert [decided(given) for given in HARMLESS] == ["allow"] * len(HARMLESS)


@every("carrier", [name for name, given in CARRIERS.items() if isinstance(given, dict)])
def test_a_delegated_agent_s_call_is_judged_by_every_carrier(http, carrier):
    for kind, name in (("execute", "anything"), ("execute", ""), ("", "Bash")):
        tool, given = judged_as(kind, name, CARRIERS[carrier])
        answer = http.post("/policies/evaluate", json={"tool_name": tool, "tool_input": given}).json()
        assert answer["decision"] == "block", (kind, name)


PATCHES = [
    ("codex", "apply_patch", CONFIG),
    ("codex", "apply_patch", ["apply_patch", CONFIG]),
    ("codex", "apply_patch", {"input": CONFIG}),
    ("copilot-cli", "apply_patch", CONFIG),
    ("opencode", "patch", {"patchText": CONFIG}),
    ("claude-code", "ApplyPatch", {"diff": "--- a/.claude/settings.json\n+++ b/.claude/settings.json\n"}),
    ("claude-code", "Write", {"input": {"file_path": "/home/dev/.codex/config.toml", "content": "x"}}),
    ("gemini", "write_file", json.dumps({"file_path": "/home/dev/.codex/config.toml", "content": "x"})),
]


@every(("client", "tool", "given"), PATCHES)
def test_files_are_found_by_every_carrier(http, client, tool, given):
    text = asked(http, client, given, tool)
    assert "guardrails/hook-settings" in text or '"ask"' in text


BODY = b'{"session_id":"s","conversation_id":"s","tool_name":"Bash","tool_input":{"command":"rm -rf /","cwd":"/"}}'
BOM = b"\xef\xbb\xbf"
BODIES = {
    "two marks": BOM * 2 + BODY,
    "five marks and blanks": BOM * 5 + b"\r\n " + BODY,
    "NUL": BODY + b"\0",
    "NULs and blanks": b"\n" + BODY + b"\0\0 \r\n\x1a",
    "UTF-16 with a mark": b"\xff\xfe" + BODY.decode().encode("utf-16-le"),
    "UTF-16": BODY.decode().encode("utf-16-be"),
    "UTF-32": BODY.decode().encode("utf-32"),
    "code page": BODY.replace(b'"cwd":"/"', '"cwd":"C:/Jörg"'.encode("cp1252")),
}


@every("client", ["claude-code", "codex", "cursor", "gemini"])
def test_a_body_in_any_encoding_is_read(http, client):
    wrong = {
        name: text
        for name, body in BODIES.items()
        if '"deny"' not in (text := asked(http, client, body)) or "did not check" in text
    }
    assert not wrong, listed(wrong)


BROKEN = {"number": 5, "truth": True, "broken JSON in a text": '{"command": "rm', "no text": {"command": {"a": 7}}}
ASKING = ["claude-code", "copilot-cli", "qwen"]


@every("client", SHELLS)
def test_a_call_that_cannot_be_read_is_a_question_or_a_notice_and_counted(http, client):
    before = sum(http.get("/status").json()["hook_failures"].values())
    for name, given in (*BROKEN.items(), ("cut", BODY[:-9])):
        text = asked(http, client, given)
        if client in ASKING:
            assert '"ask"' in text, name
        elif name == "no text":  # a rule asks about it, and a question is refused here
            assert "deny" in text
        else:
            assert "did not check this call" in text, name
    assert sum(http.get("/status").json()["hook_failures"].values()) == before + len(BROKEN)
