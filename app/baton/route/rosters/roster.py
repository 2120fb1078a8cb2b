"""The shared types of pushed rosters."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import msgspec

from baton.lib.router.agents import Agent
from baton.shared.storable import storable

Tier = Literal["team", "organisation"]
Source = Literal["team", "organisation", "policies"]
"""Who wrote a roster that prompts are routed over: somebody who pushed it, or the authors of the policy set."""
ORGANISATION = "-"  # the owner of an organisation's roster


class RosterKey(msgspec.Struct, frozen=True, array_like=True):
    """A roster's key: `owner` is the team, or `ORGANISATION`. Names are unique for an owner only."""

    tier: Tier
    owner: str
    name: str

    def __str__(self) -> str:
        return f"{self.tier}/{self.owner}/{self.name}"

    @property
    def object(self) -> str:
        """The object of a roster's change. It is unambiguous: no part can end inside another."""
        return storable(f"{self.tier}\n{self.owner}\n{self.name}")

    @classmethod
    def of_object(cls, text: str) -> "RosterKey":
        """Return the roster of a change."""
        return msgspec.convert(text.split("\n", 2), cls)


class PushedRoster(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a pushed roster, of the organisation or a `team`; `agents` is their number."""

    tier: Tier
    owner: str
    name: str
    version: int
    description: str
    digest: str  # names the content of its agents
    size: int
    created_at: datetime
    created_by: str
    reason: str

    @property
    def team(self) -> str:
        """Its team, "" for one of the organisation."""
        return self.owner if self.tier == "team" else ""

    @property
    def key(self) -> RosterKey:
        """The roster of this version."""
        return RosterKey(self.tier, self.owner, self.name)


class NewVersion(msgspec.Struct, frozen=True, kw_only=True):
    """The replacement pushed for the version in force."""

    agents: Sequence[Agent]
    description: str = ""
    reason: str = ""
