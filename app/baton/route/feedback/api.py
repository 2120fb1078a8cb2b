"""`POST /route/{id}/feedback`, and `/routing/fits`: the weights that are fitted to a team's feedback."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel, ConfigDict, Field

from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.route.feedback.feedback import Fit
from baton.route.feedback.service import RouteFeedback

router = APIRouter(tags=["routing"])
RouteFeedbackOf = Annotated[RouteFeedback, Depends(of(RouteFeedback))]

Team = Annotated[str, Query(max_length=200, description="The team; your own without it.")]
RouteId = Annotated[str, Path(min_length=1, max_length=100)]


class RouteFeedbackBody(BaseModel):
    """What would have been right: an agent, or "" or null for none of them."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"agent": "test-fixer"}]})

    agent: str | None = Field(max_length=200)


class RouteFeedbackModel(BaseModel):
    """Feedback as it is kept; the prompt is no part of it."""

    route_id: str
    agent: str
    selected_agent: str
    at: datetime


class JudgedModel(BaseModel):
    """How good weights are: shares from 0 to 1, and the mean log loss of the confidence (less is better)."""

    top_1: float
    false_routes: float
    log_loss: float


class RouteFitModel(BaseModel):
    """Weights fitted to a team's feedback, judged before and after on feedback that the fit had not seen."""

    team: str
    version: int
    active: bool
    samples: int
    before: JudgedModel
    after: JudgedModel
    weights: dict[str, float]
    created_at: datetime
    created_by: str

    @classmethod
    def of(cls, fit: Fit) -> "RouteFitModel":
        """Show a stored fit."""
        return cls(
            team=fit.team,
            version=fit.version,
            active=fit.active,
            weights=fit.weights,
            created_at=fit.created_at,
            created_by=fit.created_by,
            **fit.report,
        )


class RouteFitList(BaseModel):
    """A team's fits, the newest first; if none is active, the defaults are in force."""

    items: list[RouteFitModel]


class ActivateFitBody(BaseModel):
    """Why a fit is put in force; it is kept in the audit log."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "right more often on last week's prompts"}]}
    )

    reason: str = Field("", max_length=1_000)


@router.post("/route/{route_id}/feedback", operation_id="give_route_feedback", dependencies=[ADMIN])
async def give_route_feedback(
    caller: CallerOf, feedback: RouteFeedbackOf, route_id: RouteId, body: RouteFeedbackBody
) -> RouteFeedbackModel:
    """Report which agent would have been right for a prompt of the last two days. Newer feedback replaces your older."""
    given = await feedback.give(caller.principal, route_id, body.agent or "")
    return RouteFeedbackModel(
        route_id=given.route_id, agent=given.right_agent, selected_agent=given.selected, at=given.at
    )


@router.get("/routing/fits", operation_id="list_route_fits")
async def list_route_fits(caller: CallerOf, feedback: RouteFeedbackOf, team: Team = "") -> RouteFitList:
    """List the weights that were fitted to a team's feedback."""
    found = await feedback.fits(caller.principal, team)
    return RouteFitList(items=[RouteFitModel.of(one) for one in found])


@router.post("/routing/fits", operation_id="fit_routes", dependencies=[EXPENSIVE])
async def fit_routes(caller: CallerOf, feedback: RouteFeedbackOf, team: Team = "") -> RouteFitModel:
    """Fit weights to a team's feedback and report what they are worth; activate them to put them in force."""
    return RouteFitModel.of(await feedback.fit(caller.principal, team))


@router.post("/routing/fits/{version}/activate", operation_id="activate_route_fit", dependencies=[ADMIN])
async def activate_route_fit(
    caller: CallerOf,
    feedback: RouteFeedbackOf,
    version: Annotated[int, Path(ge=0, le=2**31 - 1)],
    body: ActivateFitBody,
    team: Team = "",
) -> RouteFitList:
    """Put a fit in force for its team, on every server; version 0 stands for the defaults."""
    await feedback.activate(caller.principal, team, version, body.reason)
    return await list_route_fits(caller, feedback, team)
