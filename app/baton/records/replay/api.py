"""`POST /policies/replay` (past calls under other policies), `/policies/packs`, and `GET /policies/rules` (rule hits)."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from baton.kernel.base.clock import start_of
from baton.kernel.base.errors import BatonError, Invalid, NotFound
from baton.kernel.http.features import of
from baton.kernel.http.fields import PROJECT, ApiModel, Moment, Shown, request_body
from baton.people.callers import CallerOf, UsersOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.people.users import require
from baton.policies.in_force import Policies
from baton.policies.layer_versions import Tier
from baton.policies.layers import PolicyLayers, place
from baton.policies.layers_api import FilePath, Name, check_layer
from baton.records.columns.reading import Period
from baton.records.replay.rule_hits import PackReport, PackShape, RuleHitCounts, RuleHits
from baton.records.replay.service import Replay, ReplayLine
from baton.rules.policy.matching.rule import PolicySet
from baton.rules.policy.rules.files import PACKS, unknown
from baton.rules.policy.rules.model import Switch
from baton.shared.caller import Caller

router = APIRouter(tags=["policies"])
PoliciesOf = Annotated[Policies, Depends(of(Policies))]
PolicyLayersOf = Annotated[PolicyLayers, Depends(of(PolicyLayers))]
ReplayOf = Annotated[Replay, Depends(of(Replay))]
RuleHitsOf = Annotated[RuleHits, Depends(of(RuleHits))]


class ReplayBody(BaseModel):
    """The calls, and the policies to compare: files for a layer, its stored version, or a once active revision."""

    model_config = request_body(
        {"since": "2026-01-05T09:30:00Z", "tier": "organisation",
        "files": {"config.yaml": "rules:\n  options/pkill: 'off'\n"}}
    )  # fmt: skip

    since: Moment | None = Field(None, description="From when; seven days ago without it.")
    until: Moment | None = Field(None, description="Until when; now without it.")
    tier: Tier | None = Field(None, description="The widest that you may change without it.")
    name: str = Field("", max_length=500)
    files: dict[FilePath, str] | None = Field(None, max_length=500)
    version: int | None = Field(None, ge=1, le=2**31 - 1)
    revision: str | None = Field(None, max_length=64)
    pack: str | None = Field(None, max_length=100, description="The active layer with this pack on.")
    limit: int = Field(10_000, ge=1, le=1_000_000)


ShownPack = Annotated[PackReport, ApiModel("PackModel")]


class ShapedPack(PackReport, frozen=True, kw_only=True):
    """A pack with its three noisiest shapes."""

    shapes: list[PackShape]


class PackBody(BaseModel):
    """How a pack is switched in a layer, and why."""

    model_config = request_body({"state": "shadow"})

    state: Switch
    reason: str = Field("", max_length=1_000)


@router.get("/policies/rules", dependencies=[EXPENSIVE], response_model_exclude_none=True)
async def list_rule_counts(
    caller: CallerOf,
    rule_hits: RuleHitsOf,
    since: Moment | None = None,
    until: Moment | None = None,
    project: Annotated[str, Query(max_length=1_024), PROJECT] = "",
) -> list[Shown[RuleHitCounts]]:
    """Count each rule's hits in a period (seven days), with the unused and the most reported rules."""
    period = _period(since, until)
    return list(await rule_hits.count(caller.principal, project or caller.project, period))


PackName = Annotated[str, Path(max_length=100)]
TierQuery = Annotated[Tier | None, Query(description="State in this layer; yours without it.")]


@router.get("/policies/packs", dependencies=[EXPENSIVE])
async def list_packs(
    caller: CallerOf,
    rule_hits: RuleHitsOf,
    policies: PoliciesOf,
    layers: PolicyLayersOf,
    tier: TierQuery = None,
    name: Name = "",
    since: Moment | None = None,
    until: Moment | None = None,
) -> list[ShownPack]:
    """List the packs with their state and their hits in a period (seven days)."""
    chosen = await _set(caller, policies, layers, tier, name)
    return await rule_hits.packs(caller.principal, chosen, _period(since, until))


@router.get("/policies/packs/{pack}", dependencies=[EXPENSIVE])
async def report_pack(
    caller: CallerOf,
    rule_hits: RuleHitsOf,
    policies: PoliciesOf,
    layers: PolicyLayersOf,
    pack: PackName,
    tier: TierQuery = None,
    name: Name = "",
    since: Moment | None = None,
    until: Moment | None = None,
) -> Annotated[ShapedPack, ApiModel("PackReportModel")]:
    """Show a pack's hits in a period (seven days), with its three noisiest shapes and an exception for each."""
    chosen, period = await _set(caller, policies, layers, tier, name), _period(since, until)
    one = next((one for one in await rule_hits.packs(caller.principal, chosen, period) if one.name == pack), None)
    if one is None:
        raise NotFound(unknown("pack", pack, list(chosen.parsed.packs)))
    shapes = await rule_hits.shapes(caller.principal, chosen, f"{PACKS}{pack}/", period)
    return ShapedPack(**msgspec.structs.asdict(one), shapes=shapes)


@router.put("/policies/packs/{pack}", dependencies=[ADMIN])
async def switch_pack(
    caller: CallerOf,
    users: UsersOf,
    rule_hits: RuleHitsOf,
    layers: PolicyLayersOf,
    pack: PackName,
    body: PackBody,
    tier: Annotated[Tier | None, Query(description="The widest that you may change without it.")] = None,
    name: Name = "",
) -> ShownPack:
    """Switch a pack on, off or into shadow in a layer, active at once: a new version of the layer, audited as such."""
    where = place(caller.principal, tier or "", name, caller.project)
    await check_layer(caller, users, layers, where)
    await layers.switch_pack(caller.principal, where, pack, body.state, reason=body.reason)
    chosen = await layers.set_of(caller.principal, where)
    found = await rule_hits.packs(caller.principal, chosen, _period(None, None))
    return next(one for one in found if one.name == pack)


async def _set(caller: Caller, policies: Policies, layers: PolicyLayers, tier: Tier | None, name: str) -> PolicySet:
    if tier is None:
        return (await policies.prepare(caller.principal, caller.project, wait_s=None)).policies
    return await layers.set_of(caller.principal, place(caller.principal, tier, name, caller.project))


_EXAMPLE = '{"progress":{"read":500,"total":1200,"changed":3}}\n'


@router.post(
    "/policies/replay",
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
    """Ask other policies about past calls. Return the changes by rule and by user. Nothing is recorded."""
    principal = caller.principal
    require(principal, "policies.replay")
    period = _period(body.since, body.until)
    where = place(
        principal, body.tier or "organisation" if body.pack is None else body.tier or "", body.name, caller.project
    )
    if sum(one is not None for one in (body.files, body.version, body.revision, body.pack)) != 1:
        raise Invalid("files", "is missing, or not alone; give one of them", ["files", "version", "revision", "pack"])
    if body.revision is not None:
        candidate = await replay.of_revision(await policies.texts(principal, body.revision))
    else:
        files = body.files
        if body.pack is not None:
            _, files = await layers.with_pack(principal, where, body.pack, "on")
        elif files is None:
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
    return Period(start, end)
