"""The caller of a request and its environment, as its headers give them."""

import re
from collections.abc import Callable, Mapping
from typing import Literal

import msgspec

from baton.clients.event import CallFields
from baton.rules.call.call import MODELS, Principal, SessionModels, ToolCall, call_of
from baton.rules.call.places.places import normal

PROTOCOL = "1"
"""The version of the headers between shim and server."""
LONGEST_HEADER = 1024
"""Maximum bytes read of a header's value."""
MOST_WORKTREES = 100
"""Maximum number of worktrees per repository."""
_PROVIDERS: tuple[Literal["cloud", "gateway"], ...] = ("cloud", "gateway")
_TRUE = {"1", "true", "yes", "on"}
_AI_AGENT = re.compile(r"[a-z-]{1,40}_(\d{1,6}(?:-\d{1,6}){0,3})(?:_|$)", re.ASCII)


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """One request's subject and environment.

    Empty `project` or `root`, and `work_items` None: not given by the request.
    `accepts_rewrites`: tools with input that policies may change, in addition to the tools that start agents.
    `installed`: non-standard paths of Baton and of client settings. `digests` and `manifest`: hashes of the installed
    files as found by the shim, and as installed. `machine`: the host name. `client_version`: the client's version, if
    its environment has it. `ignored`: variables dropped by the shim because the client started without them.
    `worktrees`: the repository's worktrees, as listed by git. `models`: the session's models, from the environment.
    `disabled`: per-session override of everything. `mode_off`: override of the orchestrator mode alone. `on_failure`:
    the answer if no decision is possible.
    """

    principal: Principal
    project: str = ""
    root: str = ""
    work_items: int | None = None
    disabled: bool = False
    mode_off: bool = False
    on_failure: Literal["allow", "block"] = "allow"
    debug: bool = False
    protocol: str = ""
    accepts_rewrites: frozenset[str] = frozenset()
    installed: tuple[str, ...] = ()
    worktrees: tuple[str, ...] = ()
    models: SessionModels = SessionModels()
    digests: str = ""
    manifest: str = ""
    machine: str = ""
    client_version: str = ""
    ignored: tuple[str, ...] = ()


def caller_of(
    principal: Principal,
    headers: Mapping[bytes, bytes],
    on_failure: Literal["allow", "block"],
    project_name: Callable[[str], str],
) -> Caller:
    """Read a caller. `on_failure` counts if the headers give none; `project_name` returns a project's one name."""
    count = header(headers, b"baton-work-items")
    return Caller(
        principal=principal,
        project=project_name(header(headers, b"baton-project")),
        root=header(headers, b"baton-root"),
        work_items=int(count) if count.isascii() and count.isdigit() else None,
        disabled=header(headers, b"baton-disabled").lower() in _TRUE,
        mode_off=header(headers, b"baton-orchestrator-disabled").lower() in _TRUE,
        on_failure=on_failure_of(headers, on_failure),
        debug=header(headers, b"baton-debug").lower() in _TRUE,
        protocol=header(headers, b"baton-protocol"),
        accepts_rewrites=_names(header(headers, b"baton-accept-rewrites")),
        installed=tuple(filter(None, header(headers, b"baton-installed").split(":"))),
        worktrees=_worktrees(_text(headers.get(b"baton-worktrees", b""))),
        models=_models(header(headers, b"baton-models")),
        digests=header(headers, b"baton-digests"),
        manifest=header(headers, b"baton-manifest"),
        machine=header(headers, b"baton-machine"),
        client_version=_version(header(headers, b"baton-client")),
        ignored=tuple(filter(str.isidentifier, header(headers, b"baton-ignored").split())),
    )


def on_failure_of(headers: Mapping[bytes, bytes], usual: Literal["allow", "block"]) -> Literal["allow", "block"]:
    """Return the client's chosen answer if no decision is possible."""
    failure = header(headers, b"baton-on-failure")
    return "block" if failure == "block" else "allow" if failure == "allow" else usual


def header(headers: Mapping[bytes, bytes], name: bytes) -> str:
    """Read a header as UTF-8 without control characters; "" if absent."""
    raw = headers.get(name)
    return _text(raw[:LONGEST_HEADER]) if raw else ""


def _text(raw: bytes) -> str:
    text = raw.decode("utf-8", "replace").strip()
    return text if text.isprintable() else "".join(c for c in text if c.isprintable())


def _names(text: str) -> frozenset[str]:
    return frozenset(name for one in text.split(",") if (name := one.strip()))


def _worktrees(text: str) -> tuple[str, ...]:
    """Parse a repository's worktrees: paths of their `.git`, separated by `|`."""
    found = [normal(one) for one in text.split("|")] if text else []
    trees = (one.removesuffix("/.git") for one in found if one.startswith("/") and one.endswith("/.git"))
    return tuple(dict.fromkeys(filter(None, trees)))[:MOST_WORKTREES]


def _models(text: str) -> SessionModels:
    """Parse a client's models: aliases, `cloud` or `gateway`, `headless`, and `model=…`, separated by blanks."""
    words, _, model = text.partition("model=")
    said = words.split()
    provider: Literal["", "cloud", "gateway"] = next((one for one in _PROVIDERS if one in said), "")
    mapped = tuple(one for one in said if one in MODELS)
    return SessionModels(model=model, mapped=mapped, provider=provider, headless="headless" in said)


def _version(agent: str) -> str:
    """Return the version in a client's AI_AGENT (`claude-code_2-1-329_harness`), or ""."""
    found = _AI_AGENT.match(agent)
    return found[1].replace("-", ".") if found else ""


def as_call(caller: Caller, event: CallFields) -> ToolCall:
    """Build the call of a hook's payload."""
    return call_of(event, caller.project, caller.root, caller.worktrees)
