"""Baton's own entries in a client's hook settings: how they are written and recognised."""

import json
import re
from typing import Any, Literal

import msgspec

from baton.cli.hooks.shims import Shim, ShimKind, line, quote
from baton.clients.registry import SPECS
from baton.local.hook import answer
from baton.local.hook.main import BACKGROUND
from baton.relay.native import HEADER, WAITS

Transport = Literal["http", "curl"]
PROTOCOL = "1"

_TIMEOUTS = {"SessionStart": 10, "UserPromptSubmit": 15, "SessionEnd": 3}
_USUAL_TIMEOUT = 4
_BESIDE_S = 10
EVENTS: dict[str, tuple[str, ...]] = {client: tuple(spec.natives) for client, spec in SPECS.items()}
"""The events that each client gets an entry for, by Baton's names."""
DECIDING = frozenset({"PreToolUse", "PreSkillShellCommand", "UserPromptSubmit", "UserPromptExpansion"})
"""Events that a hook can block. With `--fail-closed` they are blocked even if the shim itself is missing."""
WITHOUT_HTTP = frozenset({"SessionStart", "UserPromptSubmit", "UserPromptExpansion", *BACKGROUND})
"""Events that only commands report. Claude Code never sends SessionStart over http. The shim starts the relay there and with
prompts, and reads the file of a command."""

_NOT_INSTALLED = (
    "Baton is not installed on this machine: the hooks here cannot ask it, and nothing checks this session."
    " Install the program baton, then run baton hooks install."
)
_SHIM = re.compile(
    r"""(?:^|[/\\"'\s])baton(-hook\.sh|-hook\.ps1|(?:\.exe)?["']? hook)(?=["'\s]|$)["']?(?: \S+ \S+( block)?)?"""
)
"""What runs a shim, with its kind and whether it fails closed. The one in PowerShell is of earlier versions."""
_URL_PATH = re.compile(r"/hooks/(?:claude-code|codex)$")


class HookOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The hooks to write: `shim` is the path of the POSIX shim as a shell word, `config` its config file's.

    `port` is the relay's for http hooks, and its secret. `other` is the shim run in place of the POSIX one, on a machine without a POSIX shell,
    or by choice.
    """

    client: str
    transport: Transport
    shim: str
    config: str = ""
    port: str = ""
    fail_closed: bool = False
    other: Shim | None = None


def seconds_of(client: str, event: str) -> int:
    """Return a client's timeout for an event, in seconds. `hooks/baton-lib.sh` gives up earlier.

    A call may wait for a person. It then takes three requests more than the wait.
    """
    longest = _longest_wait(client, event)
    return longest + _BESIDE_S if longest else _TIMEOUTS.get(event, _USUAL_TIMEOUT)


def _longest_wait(client: str, event: str) -> int:
    return SPECS[client].longest_wait if event == "PreToolUse" else 0


def groups(options: HookOptions) -> dict[str, dict[str, Any]]:
    """Return one group for each event, by its name in the client."""
    spec = SPECS[options.client]
    unit = 1_000 if spec.in_milliseconds else 1
    return {
        spec.natives[event]: {
            "hooks": [
                _http(options, event)
                if options.transport == "http" and event not in WITHOUT_HTTP
                else {
                    "type": "command",
                    "command": _command(options, event),
                    "timeout": seconds_of(options.client, event) * unit,
                }
                | ({"async": True} if event in BACKGROUND and options.client == "claude-code" else {})
                | (_on_failure(options, event) if options.client == "claude-code" else {})
            ]
        }
        for event in EVENTS[options.client]
    }


def commands(options: HookOptions) -> dict[str, dict[str, Any]]:
    """Return the command and the timeout of each event, for a client with its own file format."""
    return {
        event: {"command": _command(options, event), "timeout": seconds_of(options.client, event)}
        for event in EVENTS[options.client]
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
    """Return the kind of shim an entry runs. An http hook runs none, and counts as the usual one."""
    found = _SHIM.search(str(hook.get("command", "")))
    return "python" if found and found[1].endswith("hook") else "sh"


def describe(hook: dict[str, Any]) -> tuple[Transport, bool]:
    """Return an entry's transport, and whether it fails closed."""
    if "url" in hook:
        return "http", hook.get("onFailure") == "block"
    return "curl", any(found[2] for found in _SHIM.finditer(hook["command"]))


def _command(options: HookOptions, event: str) -> str:
    must = options.fail_closed and event in DECIDING
    block, waits = options.fail_closed, _longest_wait(options.client, event) > 0
    if options.other:
        missing = json.loads(answer.warning(options.client, event, _NOT_INSTALLED))
        return line(options.other, options.client, event, block=block, must=must, missing=missing, waits=waits)
    call = f"/bin/sh {options.shim} {options.client} {event}{' block' * block}{' wait' * waits}"
    call += f" {quote(options.config, 'sh')}" if options.config else ""
    if must:
        return f"{call} || exit 2"
    if event == "SessionStart":  # once a session: a project's hooks on a machine without Baton check nothing
        said = json.dumps(json.loads(answer.warning(options.client, event, _NOT_INSTALLED)))
        return f"if test -f {options.shim}; then {call}; else echo '{said}'; fi"
    return f"test ! -f {options.shim} || {call}"


def _http(options: HookOptions, event: str) -> dict[str, Any]:
    port, _, secret = options.port.partition(" ")
    return {
        "type": "http",
        "url": f"http://127.0.0.1:{port}/hooks/{options.client}?event={event}",
        "timeout": seconds_of(options.client, event),
        "headers": {
            HEADER: secret,
            "Baton-On-Failure": "block" if options.fail_closed else "allow",
            "Baton-Protocol": PROTOCOL,
        }
        | ({WAITS: "1"} if _longest_wait(options.client, event) else {}),
        **_on_failure(options, event),
    }


def _on_failure(options: HookOptions, event: str) -> dict[str, str]:
    return {"onFailure": "block"} if options.fail_closed and event in DECIDING else {}
