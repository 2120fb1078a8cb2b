"""The caller of a request and its environment."""

from typing import Literal

import msgspec

from baton.rules.call.call import Principal, SessionModels


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
