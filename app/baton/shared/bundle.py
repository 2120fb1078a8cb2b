"""What a relay decides by while the server is away: the rules of one user, with the mode, freezes and exceptions."""

from datetime import datetime

import msgspec

from baton.rules.call.call import Principal
from baton.rules.call.modes import Freeze, ModeSetting
from baton.rules.policy.load import Layer
from baton.rules.policy.rules.files import Unlock

LONGEST_OUTAGE_S = 604_800
"""How long the server accepts decisions made without it, in seconds."""
MOST_RECORDS = 200
"""Decisions delivered together."""


class Grant(msgspec.Struct, frozen=True, kw_only=True):
    """An exception for a shape of calls. `key` is its scope, the scope's name, and the user or ""."""

    rule: str
    layer: str
    condition: str
    key: tuple[str, str, str]
    expires_at: datetime


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """All that decides a user's calls, as the server knew it.

    `layers` are the organisation's and those below it that may concern the user. `aliases` are other names of the
    projects named in it.
    """

    principal: Principal
    layers: list[Layer]
    unlocks: list[Unlock] = []
    modes: list[ModeSetting] = []
    freezes: list[Freeze] = []
    grants: list[Grant] = []
    aliases: dict[str, str] = {}
