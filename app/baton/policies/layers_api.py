"""`/policies/layers` and `/policies/validate`: upload, activate, roll back, compare.

A layer's name is a query parameter, since a project's name holds slashes; without it the caller's own is meant.
"""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid
from baton.kernel.http.etags import IfMatch, etag
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.policies.bodies import PolicyProblemModel
from baton.policies.layer_versions import LayerVersion, StoredLayer
from baton.policies.layers import PolicyLayers, Where, place

router = APIRouter(tags=["policies"])
PolicyLayersOf = Annotated[PolicyLayers, Depends(of(PolicyLayers))]

Tier = Literal["organisation", "team", "project", "user"]
Name = Annotated[str, Query(max_length=500, description="The team, project or user; your own without it.")]
Reason = Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]
FilePath = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$")
]


class LayerChange(msgspec.Struct, frozen=True, kw_only=True):
    """Who changes which layer, why, and what the request's `If-Match` says."""

    principal: Principal
    where: Where
    reason: str
    if_match: str | None


def _where(caller: CallerOf, tier: Tier, name: Name = "") -> Where:
    return place(caller.principal, tier, name, caller.project)


def _change(
    caller: CallerOf, where: Annotated[Where, Depends(_where)], reason: Reason = "", if_match: IfMatch = None
) -> LayerChange:
    return LayerChange(principal=caller.principal, where=where, reason=reason, if_match=if_match)


WhereOf = Annotated[Where, Depends(_where)]
"""The layer that the path's `tier` and the query's `name` name."""
LayerChangeOf = Annotated[LayerChange, Depends(_change)]
"""A change of that layer."""


class LayerBody(BaseModel):
    """A layer's files by path, and why it is uploaded."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"files": {"config.yaml": "rules:\n  options/pkill: 'off'\n"}, "reason": "a hung test runner"}]
        },
    )

    files: dict[FilePath, str] = Field(max_length=500)
    reason: str = Field("", max_length=1_000)


class ValidateBody(BaseModel):
    """A layer that is only checked."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"tier": "organisation", "files": {"config.yaml": "rules:\n  options/pkill: 'off'\n"}}]
        },
    )

    tier: Tier = "organisation"
    name: str = Field("", max_length=500)
    files: dict[FilePath, str] = Field(max_length=500)


class ValidatedModel(BaseModel):
    """A layer that would be accepted, and the set that it makes with what lies above it."""

    revision: str
    rules: int


class LayerVersionModel(BaseModel):
    """One version of a layer, without its texts."""

    tier: Tier
    name: str
    version: int
    state: Literal["draft", "active", "retired"]
    created_at: datetime
    created_by: str
    activated_at: datetime | None = None
    reason: str

    @classmethod
    def of(cls, one: LayerVersion) -> "LayerVersionModel":
        """See a stored version so."""
        return cls.model_validate(one, from_attributes=True)


class LayerModel(LayerVersionModel):
    """One version of a layer, with its texts by path."""

    files: dict[str, str]


class LayerVersionPage(BaseModel):
    """Versions, newest first; `next_cursor` is absent on the last page."""

    items: list[LayerVersionModel]
    next_cursor: str | None = None


class RuleChangeModel(BaseModel):
    """A rule, or a key of config.yaml, that two versions do not have in common."""

    kind: Literal["added", "removed", "changed", "config"]
    id: str
    what: str


class LayerDiffModel(BaseModel):
    """What changes from one version to another: by rule, and as a unified diff of each file."""

    before: int
    after: int
    rules: list[RuleChangeModel]
    text: dict[str, str]
    problems: list[PolicyProblemModel]


@router.post("/policies/validate", operation_id="validate_policies", dependencies=[EXPENSIVE])
async def validate_policies(caller: CallerOf, layers: PolicyLayersOf, body: ValidateBody) -> ValidatedModel:
    """Check a layer over what is active now; nothing is stored. What is wrong is listed by file and line."""
    where = place(caller.principal, body.tier, body.name, caller.project)
    found = await layers.validate(where, body.files)
    return ValidatedModel(revision=found.revision, rules=len(found.rules))


@router.get("/policies/layers", operation_id="list_policy_layers", response_model_exclude_none=True)
async def list_policy_layers(caller: CallerOf, layers: PolicyLayersOf) -> list[LayerVersionModel]:
    """List the active layers that you may see."""
    return [LayerVersionModel.of(one) for one in await layers.find(caller.principal)]


@router.put(
    "/policies/layers/{tier}",
    operation_id="put_policy_layer",
    dependencies=[ADMIN],
    response_model_exclude_none=True,
)
async def put_policy_layer(
    caller: CallerOf,
    layers: PolicyLayersOf,
    response: Response,
    where: WhereOf,
    body: LayerBody,
    activate: bool = False,
    if_match: IfMatch = None,
) -> LayerModel:
    """Store a new version of a layer, checked as a whole: as a draft, or active at once, which may need `If-Match`."""
    stored = await layers.upload(
        caller.principal, where, body.files, reason=body.reason, activate=activate, if_match=if_match
    )
    return answer(response, stored)


@router.get("/policies/layers/{tier}", operation_id="get_policy_layer", response_model_exclude_none=True)
async def get_policy_layer(caller: CallerOf, layers: PolicyLayersOf, response: Response, where: WhereOf) -> LayerModel:
    """Show the active version of a layer; its `ETag` is what `If-Match` takes."""
    return answer(response, await layers.get(caller.principal, where))


@router.delete("/policies/layers/{tier}", operation_id="delete_policy_layer", status_code=204, dependencies=[ADMIN])
async def delete_policy_layer(layers: PolicyLayersOf, change: LayerChangeOf) -> Response:
    """Take a layer out of force; its versions stay and can be activated again."""
    await layers.remove(change.principal, change.where, reason=change.reason, if_match=change.if_match)
    return Response(status_code=204)


@router.get(
    "/policies/layers/{tier}/versions", operation_id="list_policy_layer_versions", response_model_exclude_none=True
)
async def list_policy_layer_versions(
    caller: CallerOf,
    layers: PolicyLayersOf,
    where: WhereOf,
    cursor: Annotated[str, Query(max_length=20)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> LayerVersionPage:
    """List the versions of a layer, newest first. `cursor` is the `next_cursor` of the page before."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and 0 < int(cursor) < 2**31):
        raise Invalid("cursor", f"is `{cursor}`; take `next_cursor` of the page before")
    below = int(cursor or 0)
    found = await layers.versions(caller.principal, where, below=below, limit=limit + 1)
    more = str(found[limit - 1].version) if len(found) > limit else None
    return LayerVersionPage(items=[LayerVersionModel.of(one) for one in found[:limit]], next_cursor=more)


@router.get(
    "/policies/layers/{tier}/versions/{version}",
    operation_id="get_policy_layer_version",
    response_model_exclude_none=True,
)
async def get_policy_layer_version(
    caller: CallerOf, layers: PolicyLayersOf, where: WhereOf, version: Version
) -> LayerModel:
    """Show one version of a layer with its texts."""
    return LayerModel.model_validate(await layers.get(caller.principal, where, version), from_attributes=True)


@router.post(
    "/policies/layers/{tier}/versions/{version}/activate",
    operation_id="activate_policy_layer",
    dependencies=[ADMIN],
    response_model_exclude_none=True,
)
async def activate_policy_layer(
    layers: PolicyLayersOf, response: Response, change: LayerChangeOf, version: Version
) -> LayerModel:
    """Make a stored version the active one; `If-Match` names the one that it replaces."""
    stored = await layers.activate(
        change.principal, change.where, version, reason=change.reason, if_match=change.if_match
    )
    return answer(response, stored)


@router.post(
    "/policies/layers/{tier}/rollback",
    operation_id="roll_back_policy_layer",
    dependencies=[ADMIN],
    response_model_exclude_none=True,
)
async def roll_back_policy_layer(layers: PolicyLayersOf, response: Response, change: LayerChangeOf) -> LayerModel:
    """Make the version active that was so before; doing it again goes one further back."""
    stored = await layers.roll_back(change.principal, change.where, reason=change.reason, if_match=change.if_match)
    return answer(response, stored)


@router.get("/policies/layers/{tier}/diff", operation_id="diff_policy_layer", dependencies=[EXPENSIVE])
async def diff_policy_layer(
    caller: CallerOf,
    layers: PolicyLayersOf,
    where: WhereOf,
    before: Annotated[int | None, Query(alias="from", ge=0, le=2**31 - 1)] = None,
    after: Annotated[int | None, Query(alias="to", ge=0, le=2**31 - 1)] = None,
) -> LayerDiffModel:
    """Compare two versions: from the active one to the newest where not said; 0 is the empty layer."""
    found = await layers.diff(
        caller.principal,
        where,
        await _active(caller, layers, where) if before is None else before,
        await _newest(caller, layers, where) if after is None else after,
    )
    return LayerDiffModel.model_validate(found, from_attributes=True)


async def _active(caller: CallerOf, layers: PolicyLayersOf, where: Where) -> int:
    return await layers.active_version(caller.principal, where)


async def _newest(caller: CallerOf, layers: PolicyLayersOf, where: Where) -> int:
    found = await layers.versions(caller.principal, where, below=0, limit=1)
    return found[0].version if found else 0


def answer(response: Response, stored: StoredLayer) -> LayerModel:
    """Show a version; an active one's number is the `ETag`."""
    if stored.state == "active":
        response.headers["ETag"] = etag(stored.version)
    return LayerModel.model_validate(stored, from_attributes=True)
