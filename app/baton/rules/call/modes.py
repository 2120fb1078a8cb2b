"""Resolve a caller's mode: of the settings at six scopes, the most specific counts."""

from collections.abc import Iterable
from datetime import datetime
from typing import Literal

import msgspec

from baton.rules.call.call import Principal

Scope = Literal["organisation", "team", "project", "user", "user_project", "session"]
SCOPES: tuple[Scope, ...] = ("organisation", "team", "project", "user", "user_project", "session")
FreezeScope = Literal["organisation", "team", "project", "user", "session"]


class ModeSetting(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One setting at one scope. Times are timezone-aware.

    `id` names the team, project, user or session; organisation and user_project have none, the latter `user` and
    `project` instead. A session setting stores its user (and project, if known). `auto_activated` marks a setting made because of
    open work items, not by a person. If the organisation's setting is `locked`, narrower ones count only if stricter,
    or for the session of an agent with a job, which must be able to do it.
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
    delegated: bool = False  # whether it is of the session of an agent with a job
    set_by: str = ""
    set_at: datetime | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The unique key of a setting within an organisation."""
        if self.scope == "user_project":
            return (self.scope, self.user, self.project)
        if self.scope == "session":
            return (self.scope, self.user, self.id)
        return (self.scope, self.id, "")

    def counts(self, now: datetime) -> bool:
        """Return whether the setting has not expired."""
        return self.expires_at is None or self.expires_at > now


class Mode(msgspec.Struct, frozen=True, kw_only=True):
    """The effective mode, and the considered settings, wide to narrow; the last one decided."""

    enabled: bool = False
    level: Literal["strict", "guidance"] = "guidance"
    scope: Literal["organisation", "team", "project", "user", "user_project", "session", "default"] = "default"
    activated_at: datetime | None = None
    auto_activated: bool = False
    chain: tuple[ModeSetting, ...] = ()


class Freeze(msgspec.Struct, frozen=True, kw_only=True):
    """A stop of all calls at a scope, or with `read_only` of those that may change anything. Times are timezone-aware.

    `id` names the team, project, user or session; the organisation has none. `user` is the owner of a session; without
    one it is for whoever runs it.
    """

    scope: FreezeScope
    id: str = ""
    user: str = ""
    read_only: bool = False
    reason: str = ""
    expires_at: datetime | None = None
    set_by: str = ""
    set_at: datetime | None = None

    @property
    def key(self) -> tuple[str, str, str]:
        """The key by which a freeze is unique within an organisation."""
        return (self.scope, self.user, self.id)

    def holds_for(self, principal: Principal, project: str, session_id: str) -> bool:
        """Return whether the freeze concerns a call of this user, in this project and session."""
        match self.scope:
            case "team":
                return self.id == principal.team
            case "project":
                return self.id == project
            case "user":
                return self.id == principal.user
            case "session":
                return self.id == session_id and self.user in {"", principal.user}
        return True


def strictest(
    freezes: Iterable[Freeze], principal: Principal, project: str, session_id: str, now: datetime
) -> Freeze | None:
    """Return the freeze of a call, the strictest of several; None for none."""
    found = None
    for one in freezes:
        if (one.expires_at is None or one.expires_at > now) and one.holds_for(principal, project, session_id):
            if not one.read_only:
                return one
            found = one
    return found


def keys_for(principal: Principal, project: str, session_id: str) -> tuple[tuple[str, str, str], ...]:
    """Return the keys of a caller's settings, wide to narrow.

    A session setting without a user applies to every user of that session; only people with rights for all create one.
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
    """Return the mode resulting from a caller's settings, given wide to narrow.

    Expired settings do not count, nor those excluded by a locked setting of the organisation.
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
