"""`/policies/layers`, `/policies/validate`. A layer's name is a query parameter: projects' names have slashes."""

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Response
from pydantic import BaseModel, Field, StringConstraints

from baton.kernel.base.errors import Invalid
from baton.kernel.http.features import of
from baton.kernel.http.fields import Shown, request_body
from baton.kernel.http.paging import IfMatch, etag
from baton.people.callers import CallerOf, UsersOf
from baton.people.rate_limits import ADMIN, EXPENSIVE
from baton.policies.layer_versions import LayerVersion, StoredLayer, Tier
from baton.policies.layers import LayerDiff, PolicyLayers, Where, place
from baton.rules.call.call import Principal

router = APIRouter(tags=["policies"])
PolicyLayersOf = Annotated[PolicyLayers, Depends(of(PolicyLayers))]

Name = Annotated[str, Query(max_length=500, description="The team, project or user; your own without it.")]
Reason = Annotated[str, Query(max_length=1_000, description="Why; it is kept in the audit log.")]
Version = Annotated[int, Path(ge=1, le=2**31 - 1)]
FilePath = Annotated[
    str, StringConstraints(min_length=1, max_length=200, pattern=r"^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$")
]


class LayerChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change to a layer: principal, layer, reason, and `If-Match`."""

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


WhereOf = Annotated[Where, Depends(_where)]  # the layer named by the path's `tier` and the query's `name`
LayerChangeOf = Annotated[LayerChange, Depends(_change)]  # a change of that layer


async def check_layer(caller: CallerOf, users: UsersOf, layers: PolicyLayersOf, where: WhereOf) -> None:
    """Refuse a layer that the caller may not write, or whose team, project or user is unknown."""
    layers.require_write_of(caller.principal, where)
    if where.tier in {"team", "project", "user"}:
        await users.check_known(caller, where.tier, where.name, field="name")


KNOWN = Depends(check_layer)


class LayerBody(BaseModel):
    """A layer's files by path, and the reason of the upload."""

    model_config = request_body(
        {"files": {"config.yaml": "rules:\n  options/pkill: 'off'\n"}, "reason": "a hung test runner"}
    )

    files: dict[FilePath, str] = Field(max_length=500)
    reason: str = Field("", max_length=1_000)


class ValidateBody(BaseModel):
    """A layer to check."""

    model_config = request_body({"tier": "organisation", "files": {"config.yaml": "rules:\n  options/pkill: 'off'\n"}})

    tier: Tier = "organisation"
    name: str = Field("", max_length=500)
    files: dict[FilePath, str] = Field(max_length=500)


class ValidatedModel(BaseModel):
    """The revision and number of rules of a valid layer combined with the layers above."""

    revision: str
    rules: int


class LayerVersionPage(BaseModel):
    """Versions, newest first. `next_cursor` is absent on the last page."""

    items: list[Shown[LayerVersion]]
    next_cursor: str | None = None


@router.post("/policies/validate", dependencies=[EXPENSIVE])
async def validate_policies(caller: CallerOf, layers: PolicyLayersOf, body: ValidateBody) -> ValidatedModel:
    """Validate a layer on top of the active ones, without storing it. Problems are listed by file and line."""
    where = place(caller.principal, body.tier, body.name, caller.project)
    found = await layers.validate(where, body.files)
    return ValidatedModel(revision=found.revision, rules=len(found.rules))


@router.get("/policies/layers", response_model_exclude_none=True)
async def list_policy_layers(caller: CallerOf, layers: PolicyLayersOf) -> list[Shown[LayerVersion]]:
    """List the active layers visible to you."""
    return list(await layers.list_layers(caller.principal))


@router.put("/policies/layers/{tier}", dependencies=[ADMIN, KNOWN], response_model_exclude_none=True)
async def put_policy_layer(
    caller: CallerOf,
    layers: PolicyLayersOf,
    response: Response,
    where: WhereOf,
    body: LayerBody,
    activate: bool = False,
    if_match: IfMatch = None,
) -> Shown[StoredLayer]:
    """Store a valid new version of a layer, as a draft or active. Activation may need `If-Match`."""
    stored = await layers.upload(
        caller.principal, where, body.files, reason=body.reason, activate=activate, if_match=if_match
    )
    return answer(response, stored)


@router.get("/policies/layers/{tier}", response_model_exclude_none=True)
async def get_policy_layer(
    caller: CallerOf, layers: PolicyLayersOf, response: Response, where: WhereOf
) -> Shown[StoredLayer]:
    """Show the active version of a layer. Its `ETag` is for `If-Match`."""
    return answer(response, await layers.get(caller.principal, where))


@router.delete("/policies/layers/{tier}", status_code=204, dependencies=[ADMIN])
async def delete_policy_layer(layers: PolicyLayersOf, change: LayerChangeOf) -> Response:
    """Deactivate a layer. Its versions remain, and can be activated again."""
    await layers.remove(change.principal, change.where, reason=change.reason, if_match=change.if_match)
    return Response(status_code=204)


@router.get("/policies/layers/{tier}/versions", response_model_exclude_none=True)
async def list_policy_layer_versions(
    caller: CallerOf,
    layers: PolicyLayersOf,
    where: WhereOf,
    cursor: Annotated[str, Query(max_length=20)] = "",
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> LayerVersionPage:
    """List the versions of a layer, newest first. `cursor` is the previous page's `next_cursor`."""
    if cursor and not (cursor.isascii() and cursor.isdigit() and 0 < int(cursor) < 2**31):
        raise Invalid("cursor", f"is `{cursor}`; pass `next_cursor` of the previous page")
    below = int(cursor or 0)
    found = await layers.versions(caller.principal, where, below=below, limit=limit + 1)
    more = str(found[limit - 1].version) if len(found) > limit else None
    return LayerVersionPage(items=found[:limit], next_cursor=more)


@router.get("/policies/layers/{tier}/versions/{version}", response_model_exclude_none=True)
async def get_policy_layer_version(
    caller: CallerOf, layers: PolicyLayersOf, where: WhereOf, version: Version
) -> Shown[StoredLayer]:
    """Show one version of a layer with its files."""
    return await layers.get(caller.principal, where, version)


@router.post(
    "/policies/layers/{tier}/versions/{version}/activate", dependencies=[ADMIN], response_model_exclude_none=True
)
async def activate_policy_layer(
    layers: PolicyLayersOf, response: Response, change: LayerChangeOf, version: Version
) -> Shown[StoredLayer]:
    """Activate a stored version. `If-Match` names the replaced one."""
    stored = await layers.activate(
        change.principal, change.where, version, reason=change.reason, if_match=change.if_match
    )
    return answer(response, stored)


@router.post("/policies/layers/{tier}/rollback", dependencies=[ADMIN], response_model_exclude_none=True)
async def roll_back_policy_layer(
    layers: PolicyLayersOf, response: Response, change: LayerChangeOf
) -> Shown[StoredLayer]:
    """Activate the previously active version. Repeat it to go further back."""
    stored = await layers.roll_back(change.principal, change.where, reason=change.reason, if_match=change.if_match)
    return answer(response, stored)


@router.get("/policies/layers/{tier}/diff", dependencies=[EXPENSIVE])
async def diff_policy_layer(
    caller: CallerOf,
    layers: PolicyLayersOf,
    where: WhereOf,
    before: Annotated[int | None, Query(alias="from", ge=0, le=2**31 - 1)] = None,
    after: Annotated[int | None, Query(alias="to", ge=0, le=2**31 - 1)] = None,
) -> Shown[LayerDiff]:
    """Compare two versions, by default the active and the newest one. 0 is the empty layer."""
    return await layers.diff(
        caller.principal,
        where,
        await layers.active_version(caller.principal, where) if before is None else before,
        await _newest(caller, layers, where) if after is None else after,
    )


async def _newest(caller: CallerOf, layers: PolicyLayersOf, where: Where) -> int:
    found = await layers.versions(caller.principal, where, below=0, limit=1)
    return found[0].version if found else 0


def answer(response: Response, stored: StoredLayer) -> Shown[StoredLayer]:
    """Return a version. An active one's number is the `ETag`."""
    if stored.state == "active":
        response.headers["ETag"] = etag(stored.version)
    return stored
