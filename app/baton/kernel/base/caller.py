"""Who asks, and from where."""

from typing import Literal

import msgspec

from baton.engine.call.principal import Principal


class Caller(msgspec.Struct, frozen=True, kw_only=True):
    """One request's subject and surroundings.

    `project` and `root` are "" where the request does not say; `work_items` is None where it does not say.
    `accepts_rewrites` are the tools, besides those that start agents, whose input this developer lets policies change.
    `installed` are paths of the clients' settings and of Baton that are elsewhere than usual on this machine; `digests` and
    `manifest` are those of the installed files as its shim finds them and as they were installed, `machine` is its name,
    `client_version` the version of the agent client, where its environment tells.
    `disabled` is the person's per-session override of everything, `mode_off` that of the orchestrator mode alone;
    `on_failure` is the answer they want when no decision can be made.
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
    digests: str = ""
    manifest: str = ""
    machine: str = ""
    client_version: str = ""
