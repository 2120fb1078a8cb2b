"""Uploaded policy layers: every version of each is kept, and at most one of them is active."""

from datetime import datetime
from typing import Literal

import msgspec

from baton.engine.policy.rules.layers import Tier

State = Literal["draft", "active", "retired"]


class LayerVersion(msgspec.Struct, frozen=True, kw_only=True):
    """A version without its texts; `activated_at` is when it last became active, None if it never was."""

    tier: Tier
    name: str
    version: int
    state: State
    created_at: datetime
    created_by: str
    activated_at: datetime | None
    reason: str


class StoredLayer(LayerVersion, frozen=True, kw_only=True):
    """A version with its texts by path."""

    files: dict[str, str]
