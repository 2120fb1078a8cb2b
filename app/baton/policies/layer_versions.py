"""Uploaded policy layers (all versions are kept, at most one is active), their revisions, and unlocks of rules."""

from datetime import datetime
from typing import Literal

import msgspec

from baton.rules.policy.rules.files import Unlock

Tier = Literal["organisation", "team", "project", "user"]
State = Literal["draft", "active", "retired"]


class LayerVersion(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a layer, without its files. `activated_at` is its latest activation."""

    tier: Tier
    name: str
    version: int
    state: State
    created_at: datetime
    created_by: str
    activated_at: datetime | None
    reason: str


class StoredLayer(LayerVersion, frozen=True, kw_only=True):
    """One version of a layer, with its files by path."""

    files: dict[str, str]


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """A policy revision, and its first and latest activation."""

    revision: str
    first_at: datetime
    activated_at: datetime


class StoredUnlock(msgspec.Struct, frozen=True, kw_only=True):
    """A rule or pattern unlocked `until` then, for a team or a user; both are "" for everybody."""

    id: str
    rule: str
    team: str
    user: str
    reason: str
    created_by: str
    created_at: datetime
    until: datetime

    @property
    def for_everybody(self) -> bool:
        """Whether it applies to the whole organisation."""
        return not (self.team or self.user)

    def concerns(self, *, team: str, user: str) -> bool:
        """Return whether it applies to a user of a team."""
        return self.for_everybody or (self.user == user if self.user else self.team == team)

    def for_engine(self) -> Unlock:
        """Convert it for the rule engine, with a note for explanations."""
        until = self.until.isoformat(timespec="minutes")
        return Unlock(pattern=self.rule, note=f"by {self.created_by} until {until}: {self.reason}")
