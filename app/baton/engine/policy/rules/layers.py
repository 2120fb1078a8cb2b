"""The layers of a policy set, from wide to narrow."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

Tier = Literal["shipped", "organisation", "team", "project", "user"]
TIERS: tuple[Tier, ...] = ("shipped", "organisation", "team", "project", "user")
"""From wide to narrow."""


class Layer(msgspec.Struct, frozen=True, kw_only=True):
    """The files of one tier, by relative path. `name` is the team's, project's or user's.

    Shipped files and those in the organisation's folder have no name.
    """

    tier: Tier
    files: dict[str, str]
    name: str = ""
    origin: Literal["folder", "upload"] = "folder"

    @property
    def bound(self) -> bool:
        """Whether locks apply to it: every upload, and whatever lies below the organisation.

        Shipped files and those of the organisation's folder are the operator's own.
        """
        return self.narrow or self.origin == "upload"

    @property
    def narrow(self) -> bool:
        """Whether the layer lies below the organisation."""
        return self.tier in ("team", "project", "user")

    def source(self, path: str) -> str:
        """Return the name of a file in problems and records: its path if it is shipped, otherwise `tier/name:path`."""
        if self.tier == "shipped":
            return path
        return f"{self.tier}/{self.name}:{path}" if self.name else f"{self.tier}:{path}"


def layered(shipped: Mapping[str, str], organisation: Mapping[str, str] | None = None) -> list[Layer]:
    """Return the layers of a server without uploaded policies: shipped files and the organisation's folder."""
    return [Layer(tier="shipped", files=dict(shipped)), Layer(tier="organisation", files=dict(organisation or {}))]


def texts(layers: Sequence[Layer]) -> dict[str, str]:
    """Return the files of all layers by `Layer.source`."""
    return {layer.source(path): text for layer in layers for path, text in layer.files.items()}
