"""Uploaded policy layers: all versions are kept, at most one is active."""

from datetime import datetime
from typing import Literal

import msgspec

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
