"""`POST /policies/replay` (past calls under other policies) and `GET /policies/rules` (rule hits)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from baton.kernel.base.errors import BatonError, Invalid
from baton.kernel.base.time.periods import start_of
from baton.kernel.http.features import of
from baton.kernel.http.moments import Moment
from baton.people.callers import CallerOf
from baton.people.permissions import require
from baton.people.rate_limits import EXPENSIVE
from baton.policies.in_force import Policies
from baton.policies.layers import PolicyLayers, place
from baton.policies.layers_api import FilePath, Tier
from baton.records.replay.period import Period
from baton.records.replay.rule_hits import RuleHits
from baton.records.replay.service import Replay, ReplayLine

router = APIRouter(tags=["policies"])
PoliciesOf = Annotated[Policies, Depends(of(Policies))]
PolicyLayersOf = Annotated[PolicyLayers, Depends(of(PolicyLayers))]
ReplayOf = Annotated[Replay, Depends(of(Replay))]
RuleHitsOf = Annotated[RuleHits, Depends(of(RuleHits))]


class ReplayBody(BaseModel):
    """Which calls, and against what: files for a layer, a stored version of it, or a revision that was active."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "since": "2026-01-05T09:30:00Z",
                    "tier": "organisation",
                    "files": {"config.yaml": "rules:\n  options/pkill: 'off'\n"},
                }
            ]
        },
    )

    since: Moment | None = Field(None, description="From when; seven days ago without it.")
    until: Moment | None = Field(None, description="Until when; now without it.")
    tier: Tier = "organisation"
    name: str = Field("", max_length=500)
    files: dict[FilePath, str] | None = Field(None, max_length=500)
    version: int | None = Field(None, ge=1, le=2**31 - 1)
    revision: str | None = Field(None, max_length=64)
    limit: int = Field(10_000, ge=1, le=1_000_000)


class RuleCountModel(BaseModel):
    """One rule in a period; most reported first, then most hit."""

    rule: str
    decision: str
    active: bool
    enabled: bool
    shadow: bool
    hits: dict[str, int]
    last_hit: datetime | None = None
    users: int
    reports: int
    never_fired: bool


@router.get(
    "/policies/rules", operation_id="list_rule_counts", dependencies=[EXPENSIVE], response_model_exclude_none=True
)
async def list_rule_counts(
    caller: CallerOf,
    rule_hits: RuleHitsOf,
    since: Moment | None = None,
    until: Moment | None = None,
    project: Annotated[str, Query(max_length=1_024)] = "",
) -> list[RuleCountModel]:
    """Count each rule's hits in a period (seven days), with those that never fired and those most reported."""
    period = _period(since, until)
    found = await rule_hits.find(caller.principal, project or caller.project, period)
    return [RuleCountModel.model_validate(one, from_attributes=True) for one in found]


_EXAMPLE = '{"progress":{"read":500,"total":1200,"changed":3}}\n'


@router.post(
    "/policies/replay",
    operation_id="replay_policies",
    dependencies=[EXPENSIVE],
    response_class=StreamingResponse,
    responses={
        200: {
            "description": (
                "One JSON object a line: `progress` and `calls` that change while it runs, then one `summary`; `problem`"
                " if it broke off. Closing the connection cancels the replay."
            ),
            "content": {
                "application/x-ndjson": {
                    "schema": {"type": "string"},
                    "itemSchema": {"$ref": "#/components/schemas/ReplayLine"},
                    "example": _EXAMPLE,
                }
            },
        }
    },
)
async def replay_policies(
    caller: CallerOf, replay: ReplayOf, policies: PoliciesOf, layers: PolicyLayersOf, body: ReplayBody
) -> StreamingResponse:
    """Ask other policies about past calls: what would change, by rule and by user. Nothing is recorded."""
    principal = caller.principal
    require(principal, "policies.replay")
    period = _period(body.since, body.until)
    where = place(principal, body.tier, body.name, caller.project)
    if sum(one is not None for one in (body.files, body.version, body.revision)) != 1:
        raise Invalid("files", "is missing, or not alone; give one of them", ["files", "version", "revision"])
    if body.revision is not None:
        candidate = await replay.of_revision(await policies.texts(principal, body.revision))
    else:
        files = body.files
        if files is None:
            files = (await layers.get(principal, where, body.version or 0)).files
        candidate = await replay.candidate(where, dict(files))
    lines = _lines(replay.run(principal, candidate, period, body.limit))
    return StreamingResponse(lines, media_type="application/x-ndjson")


async def _lines(found: AsyncIterator[ReplayLine]) -> AsyncIterator[bytes]:
    try:
        async for one in found:
            yield msgspec.json.encode(one) + b"\n"
    except BatonError as error:
        yield msgspec.json.encode(ReplayLine(problem=error.problem())) + b"\n"


def _period(since: datetime | None, until: datetime | None) -> Period:
    end = until or datetime.now(UTC)
    start = start_of(since, end)
    if start >= end:
        raise Invalid("since", "must be before `until`")
    return Period(since=start, until=end)
