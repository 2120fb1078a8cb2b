"""Feedback on routes, and the weights fitted to it: the types that every file of this folder shares."""

from datetime import datetime
from typing import Any

import msgspec


class Feedback(msgspec.Struct, frozen=True, kw_only=True):
    """What one person said of one route; `right_agent` is "" for none of the agents."""

    route_id: str
    user: str
    team: str
    at: datetime
    selected: str
    right_agent: str
    agents: list[str]
    features: list[list[float]]


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """Fitted weights by name, and in `report` what they are worth on feedback that the fit had not seen."""

    team: str
    version: int
    weights: dict[str, float]
    report: dict[str, Any]
    active: bool
    created_at: datetime
    created_by: str
