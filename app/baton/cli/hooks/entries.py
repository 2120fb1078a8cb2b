"""Baton's own entries in a client's hook settings: how they are written and recognised."""

import json
import re
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from baton.cli.hooks.shims import Shim, ShimKind, line

ClientName = Literal["claude-code", "codex", "copilot-cli", "gemini", "opencode", "qwen", "cursor", "continue"]
Transport = Literal["http", "curl"]
PROTOCOL = "1"

TIMEOUTS: dict[str, int] = {
    "SessionStart": 10,
    "UserPromptSubmit": 15,
    "PreToolUse": 2,
    "PostToolUse": 2,
    "PostToolUseFailure": 2,
    "PermissionDenied": 2,
    "SubagentStart": 2,
    "SubagentStop": 2,
    "Stop": 2,
    "SessionEnd": 3,
    "PreCompress": 2,
}
"""Seconds that a client waits for each event; `hooks/baton-lib.sh` gives up earlier."""
_USUAL = tuple(event for event in TIMEOUTS if event not in {"PreCompress", "PermissionDenied"})
EVENTS: dict[ClientName, tuple[str, ...]] = {
    "claude-code": tuple(event for event in TIMEOUTS if event != "PreCompress"),
    "codex": tuple(event for event in _USUAL if event != "PostToolUseFailure"),
    "copilot-cli": _USUAL,
    "gemini": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd", "PreCompress"),
    "qwen": _USUAL,
    "opencode": ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
    "cursor": _USUAL,
    "continue": tuple(event for event in _USUAL if event not in {"SubagentStart", "SubagentStop"}),
}
GEMINI_EVENTS = {
    "UserPromptSubmit": "BeforeAgent",
    "PreToolUse": "BeforeTool",
    "PostToolUse": "AfterTool",
    "Stop": "AfterAgent",
}
"""Gemini CLI's own names of the events, where they differ. PreCompress, ahead of each request, tells whose turn it is."""
_IN_MILLISECONDS: frozenset[ClientName] = frozenset({"gemini", "qwen"})
"""Clients whose timeouts are in milliseconds. Qwen Code takes seconds as well, but its earlier versions do not."""
DECIDING = frozenset({"PreToolUse", "UserPromptSubmit"})
"""Events that a hook can block. With `--fail-closed` they are blocked even if the shim itself is missing."""
BACKGROUND = frozenset({"PostToolUse", "PostToolUseFailure", "PermissionDenied"})
"""Events whose answer nobody needs. Claude Code runs their commands in the background, which it cannot do with http hooks.

For other clients the shim itself does not wait: Codex before 0.148 leaves a hook out that is marked so.
"""

_NOT_INSTALLED = (
    "Baton is not installed on this machine: the hooks here cannot ask it, and nothing checks this session."
    " Install the program baton, then run baton hooks install."
)
_SHIM = re.compile(r"""(?:^|[/\\"'\s])baton(-hook\.sh|-hook\.ps1|(?:\.exe)?["']? hook)(?=["'\s]|$)""")
_URL_PATH = re.compile(r"/hooks/(?:claude-code|codex)$")


class HookOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks to write: `shim` is the path of the POSIX shim as a shell word, `headers` those whose values are known now.

    `other` is the shim that is run in its place, on a machine that has no POSIX shell or wants another.
    """

    client: ClientName
    transport: Transport
    shim: str
    url: str
    fail_closed: bool = False
    headers: dict[str, str] = {}
    other: Shim | None = None


def groups(options: HookOptions) -> dict[str, dict[str, Any]]:
    """Return one group for each event, by its name in the client. SessionStart is always a command: Claude Code never sends it over http."""
    commands = {"SessionStart", *BACKGROUND}
    native = GEMINI_EVENTS if options.client == "gemini" else {}
    unit = 1_000 if options.client in _IN_MILLISECONDS else 1
    return {
        native.get(event, event): {
            "hooks": [
                _http(options, event)
                if options.transport == "http" and event not in commands
                else {"type": "command", "command": _command(options, event), "timeout": TIMEOUTS[event] * unit}
                | ({"async": True} if event in BACKGROUND and options.client == "claude-code" else {}),
            ],
        }
        for event in EVENTS[options.client]
    }


def commands(options: HookOptions) -> dict[str, dict[str, Any]]:
    """Return the command and the timeout of each event, for a client whose file has a form of its own."""
    return {
        event: {"command": _command(options, event), "timeout": TIMEOUTS[event]} for event in EVENTS[options.client]
    }


def is_ours(hook: Any) -> bool:
    """Check whether Baton wrote an entry: it runs the shim, or posts to a native endpoint with its header."""
    if not isinstance(hook, dict):
        return False
    if isinstance(hook.get("command"), str):
        return _SHIM.search(hook["command"]) is not None
    if not (isinstance(hook.get("url"), str) and isinstance(hook.get("headers"), dict)):
        return False
    return "Baton-Protocol" in hook["headers"] and _URL_PATH.search(hook["url"].partition("?")[0]) is not None


def kind_of(hook: dict[str, Any]) -> ShimKind:
    """Return which shim an entry runs; an http hook runs none, and counts as the usual one."""
    found = _SHIM.search(str(hook.get("command", "")))
    ending = found[1] if found else ""
    return "powershell" if ending == "-hook.ps1" else "python" if ending.endswith("hook") else "sh"


def describe(hook: dict[str, Any]) -> tuple[Transport, bool, str]:
    """Return an entry's transport, whether it fails closed, and the server of http hooks ("" for the shim)."""
    if "url" in hook:
        parts = urlsplit(hook["url"])
        return "http", hook.get("onFailure") == "block", f"{parts.scheme}://{parts.netloc}"
    return "curl", re.search(r"\sblock\b", hook["command"]) is not None, ""


def _command(options: HookOptions, event: str) -> str:
    must = options.fail_closed and event in DECIDING
    if options.other:
        missing = _to_the_person(options.client, _NOT_INSTALLED)
        return line(options.other, options.client, event, block=options.fail_closed, must=must, missing=missing)
    call = f"sh {options.shim} {options.client} {event}"
    if must:
        return f"{call} block || exit 2"
    call += " block" if options.fail_closed else ""
    if event == "SessionStart":  # once a session: a project's hooks on a machine without Baton check nothing
        said = json.dumps(_to_the_person(options.client, _NOT_INSTALLED))
        return f"if test -f {options.shim}; then {call}; else echo '{said}'; fi"
    return f"test ! -f {options.shim} || {call}"


def _to_the_person(client: ClientName, text: str) -> dict[str, Any]:
    """Return an answer at a session's start that tells the person something, by the model where the client shows nothing."""
    if client == "copilot-cli":
        return {"additionalContext": text}
    if client == "cursor":
        return {"additional_context": text}
    if client == "qwen":
        return {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": text}}
    return {"systemMessage": text}


def _http(options: HookOptions, event: str) -> dict[str, Any]:
    headers = {
        "Authorization": "Bearer $BATON_TOKEN",
        "Baton-User": "$BATON_USER",
        "Baton-Project": "$BATON_PROJECT",
        "Baton-Disabled": "$BATON_DISABLED",
        "Baton-Orchestrator-Disabled": "$HTMLGRAPH_ORCHESTRATOR_DISABLED",
        "Baton-On-Failure": "block" if options.fail_closed else "$BATON_ON_FAILURE",
        "Baton-Debug": "$BATON_DEBUG",
        "Baton-Protocol": PROTOCOL,
        **options.headers,
    }
    return {
        "type": "http",
        "url": f"{options.url}/hooks/{options.client}?event={event}",
        "timeout": TIMEOUTS[event],
        "headers": headers,
        "allowedEnvVars": sorted({part[1:] for value in headers.values() for part in value.split() if part[:1] == "$"}),
        **({"onFailure": "block"} if options.fail_closed and event in DECIDING else {}),
    }
