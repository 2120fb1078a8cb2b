"""What requests that read or change a layer of policies have in common. It looks at no layer itself."""

from typing import Annotated, Literal

import msgspec
from fastapi import Depends, Query

from baton.engine.call.principal import Principal
from baton.kernel.http.etags import IfMatch, version_in
from baton.people.dependencies import CallerOf
from baton.policies.layers import Where, place

Tier = Literal["organisation", "team", "project", "user"]
Name = Annotated[str, Query(max_length=500, description="The team, project or user; your own without it.")]
Reason = Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")]


class LayerChange(msgspec.Struct, frozen=True, kw_only=True):
    """Who changes which layer, why, and from which active version on; None for whichever is active."""

    principal: Principal
    where: Where
    reason: str
    version: str | None


def _where(caller: CallerOf, tier: Tier, name: Name = "") -> Where:
    return place(caller.principal, tier, name, caller.project)


def _change(
    caller: CallerOf, where: Annotated[Where, Depends(_where)], reason: Reason = "", if_match: IfMatch = None
) -> LayerChange:
    return LayerChange(principal=caller.principal, where=where, reason=reason, version=version_in(if_match))


WhereOf = Annotated[Where, Depends(_where)]
"""A layer that a path's `tier` and the query's `name` mean."""
LayerChangeOf = Annotated[LayerChange, Depends(_change)]
"""A change of that layer."""
