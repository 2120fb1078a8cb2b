"""Resolve the mode in force for a caller: settings at six scopes, of which the most specific counts."""

from datetime import datetime
from typing import Literal

import msgspec

from baton.engine.call.principal import Principal

Scope = Literal["organisation", "team", "project", "user", "user_project", "session"]
SCOPES: tuple[Scope, ...] = ("organisation", "team", "project", "user", "user_project", "session")
"""From wide to narrow."""


class ModeSetting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One setting at one scope. Times are timezone-aware.

    `id` names the team, project, user or session; it is "" for organisation and user_project, which has `user` and
    `project` instead. A session setting keeps the user (and project, where known) that it belongs to.
    `auto_activated` marks a setting made because of open work items, not by a person. `delegated` marks the session of an
    agent that works on a job. If the organisation's setting is `locked`, narrower ones count only if they are stricter,
    or delegated: an agent that was given a job must be able to do it.
    """

    scope: Scope
    id: str = ""
    user: str = ""
    project: str = ""
    enabled: bool = False
    level: Literal["strict", "guidance"] = "guidance"
    locked: bool = False
    reason: str = ""
    expires_at: datetime | None = None
    activated_at: datetime | None = None
    auto_activated: bool = False
    delegated: bool = False
    set_by: str = ""
    set_at: datetime | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The key by which a setting is unique within an organisation."""
        if self.scope == "user_project":
            return (self.scope, self.user, self.project)
        if self.scope == "session":
            return (self.scope, self.user, self.id)
        return (self.scope, self.id, "")

    def counts(self, now: datetime) -> bool:
        """Return whether the setting has not expired."""
        return self.expires_at is None or self.expires_at > now


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """The mode in force, and the settings that were considered, wide to narrow; the last one decided."""

    enabled: bool = False
    level: Literal["strict", "guidance"] = "guidance"
    scope: Literal["organisation", "team", "project", "user", "user_project", "session", "default"] = "default"
    activated_at: datetime | None = None
    auto_activated: bool = False
    chain: tuple[ModeSetting, ...] = ()


def keys_for(principal: Principal, project: str, session_id: str) -> tuple[tuple[str, str, str], ...]:
    """Return the keys of the settings that concern a caller, wide to narrow.

    A session setting without a user applies to whoever runs that session; only people who may act for all make one.
    """
    return (
        ("organisation", "", ""),
        ("team", principal.team, ""),
        ("project", project, ""),
        ("user", principal.user, ""),
        ("user_project", principal.user, project),
        ("session", "", session_id),
        ("session", principal.user, session_id),
    )


def resolve(chain: tuple[ModeSetting, ...], now: datetime) -> Mode:
    """Return the mode that follows from the settings that concern a caller, given wide to narrow.

    Expired settings do not count, nor do those that a locked setting of the organisation excludes.
    """
    live = tuple(s for s in chain if s.counts(now))
    if not live:
        return Mode()
    if live[0].locked and live[0].scope == "organisation":
        live = (live[0], *(s for s in live[1:] if s.delegated or _strictness(s) > _strictness(live[0])))
    last = live[-1]
    return Mode(
        enabled=last.enabled,
        level=last.level,
        scope=last.scope,
        activated_at=last.activated_at if last.enabled else None,
        auto_activated=last.auto_activated,
        chain=live,
    )


def _strictness(setting: ModeSetting) -> int:
    return 0 if not setting.enabled else 2 if setting.level == "strict" else 1
