"""`/breakers`: whether the services that routing asks are asked now; people may hold them open or closed."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN
from baton.route.llm.breaker import BreakerStatus
from baton.route.llm.breakers import Breakers

router = APIRouter(prefix="/breakers", tags=["breakers"])
BreakersOf = Annotated[Breakers, Depends(of(Breakers))]


class BreakerModel(BaseModel):
    """A breaker, with what it has counted since its last change."""

    name: str
    allows: bool
    """Whether the service is asked now."""
    state: Literal["closed", "open", "half_open"]
    held: Literal["", "open", "closed"]
    """What a person has set; empty leaves it to the counts."""
    since: datetime | None = None
    open_until: datetime | None = None
    """When it is probed next."""
    cause: str
    calls: int
    slow: int
    failed: int
    slow_ms: float
    """A call that takes longer counts as slow, in milliseconds."""
    local: bool
    """True while Redis is away: this server alone knows it so."""
    judged: int
    """Choices of the last three days that people have judged; from twenty on, fewer than 60 % right hold it back."""
    right: int
    """Of these, the choices that people called right."""

    @classmethod
    def of(cls, status: BreakerStatus) -> "BreakerModel":
        """Show a breaker as the API does."""
        state = status.state
        return cls(
            name=status.name,
            allows=status.allows,
            state=status.held or state.phase,
            held=status.held,
            since=_moment(state.since),
            open_until=_moment(state.until) if state.phase == "open" else None,
            cause=state.cause,
            calls=status.calls,
            slow=status.slow,
            failed=status.failed,
            slow_ms=status.limits.slow_ms,
            local=status.local,
            judged=status.agreement.judged,
            right=status.agreement.right,
        )


class BreakersModel(BaseModel):
    """All breakers; none where routing asks no service."""

    items: list[BreakerModel]


class BreakerBody(BaseModel):
    """Why, for the audit log."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"reason": "the model is down for maintenance"}]}
    )

    reason: str = Field("", max_length=1_000)


@router.get("", operation_id="list_breakers", response_model_exclude_none=True)
async def list_breakers(caller: CallerOf, breakers: BreakersOf) -> BreakersModel:
    """List the breakers of the model, the routing node and the local models that are configured."""
    return BreakersModel(items=[BreakerModel.of(one) for one in breakers.find(caller.principal)])


@router.post("/{name}/open", operation_id="open_breaker", dependencies=[ADMIN], response_model_exclude_none=True)
async def open_breaker(caller: CallerOf, breakers: BreakersOf, name: str, body: BreakerBody) -> BreakerModel:
    """Hold a breaker open: its service is not asked until it is closed or reset."""
    return BreakerModel.of(await breakers.set(caller.principal, name, "open", body.reason))


@router.post("/{name}/close", operation_id="close_breaker", dependencies=[ADMIN], response_model_exclude_none=True)
async def close_breaker(caller: CallerOf, breakers: BreakersOf, name: str, body: BreakerBody) -> BreakerModel:
    """Hold a breaker closed: its service is asked however slow it is, until it is opened or reset."""
    return BreakerModel.of(await breakers.set(caller.principal, name, "close", body.reason))


@router.post("/{name}/reset", operation_id="reset_breaker", dependencies=[ADMIN], response_model_exclude_none=True)
async def reset_breaker(caller: CallerOf, breakers: BreakersOf, name: str, body: BreakerBody) -> BreakerModel:
    """Close a breaker, forget what it counted, and leave it to its counts again."""
    return BreakerModel.of(await breakers.set(caller.principal, name, "reset", body.reason))


def _moment(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None
