"""`/bundle`: what a relay needs to decide without the server, and the decisions it has made."""

import asyncio
import gzip
from datetime import timedelta
from hashlib import sha256
from typing import Annotated, Any
from uuid import UUID

import msgspec
from fastapi import APIRouter, Depends, Header, Response
from pydantic import BaseModel, ConfigDict, Field, create_model

from baton.kernel.base.errors import Invalid, StoreUnavailable
from baton.kernel.http.features import of
from baton.kernel.http.fields import request_body
from baton.kernel.http.paging import etag
from baton.kernel.redis.client import RedisUnavailable
from baton.modes.freezes import Freezes
from baton.modes.service import Modes
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK
from baton.people.users import require
from baton.policies.in_force import Policies
from baton.records.pipeline.recorder import Counters, Recorder
from baton.records.review.bodies import RuleHitModel
from baton.rules.call.call import Principal
from baton.rules.call.modes import keys_for
from baton.rules.call.record import FIELDS, Record
from baton.rules.policy.load import layers_of
from baton.sessions.exceptions.service import Exceptions
from baton.shared.bundle import LONGEST_OUTAGE_S, MOST_RECORDS, Bundle
from baton.shared.decided import DELIVERED
from baton.shared.record_ids import is_between, moment_of
from baton.shared.storable import aliases_of

_AHEAD = timedelta(minutes=5)
"""How far a developer's clock may be ahead."""
SERVER = "server"
"""The cause in `degraded` of a decision made without the server."""

router = APIRouter(tags=["decisions"])


def bundle_of(
    principal: Principal, policies: Policies, modes: Modes, freezes: Freezes, exceptions: Exceptions
) -> Bundle:
    """Return all that decides a user's calls, in a stable order."""
    mine = {("team", principal.team), ("user", principal.user)}
    lower = [one for key, one in policies.lower.items() if key in mine or key[0] == "project"]
    settings = [
        one
        for one in modes.settings
        if one.key in keys_for(principal, one.project if one.scope == "user_project" else one.id, one.id)
    ]
    frozen = freezes.concerning(principal)
    named = {one.name for one in lower if one.tier == "project"} | {one.id for one in frozen}
    return Bundle(
        principal=principal,
        layers=[*layers_of(policies.active.parsed.files), *sorted(lower, key=lambda one: (one.tier, one.name))],
        unlocks=policies.unlocks_for(team=principal.team, user=principal.user),
        modes=sorted(settings, key=lambda one: one.key),
        freezes=sorted(frozen, key=lambda one: one.key),
        grants=exceptions.grants(principal),
        aliases=aliases_of(named | {name for one in settings for name in (one.id, one.project)}),
    )


@router.get("/bundle", response_model=dict[str, object])
async def get_bundle(
    caller: CallerOf,
    policies: Annotated[Policies, Depends(of(Policies))],
    modes: Annotated[Modes, Depends(of(Modes))],
    freezes: Annotated[Freezes, Depends(of(Freezes))],
    exceptions: Annotated[Exceptions, Depends(of(Exceptions))],
    if_none_match: Annotated[str, Header()] = "",
    accept_encoding: Annotated[str, Header()] = "",
) -> Response:
    """Return the rules, mode, freezes and exceptions of the caller, for decisions while the server is away.

    The `ETag` is the SHA-256 of the content. With `If-None-Match`, an unchanged bundle is answered by 304.
    """
    require(caller.principal, "calls.make")
    bundle = bundle_of(caller.principal, policies, modes, freezes, exceptions)
    content = await asyncio.to_thread(msgspec.json.encode, bundle)
    headers = {"ETag": etag(sha256(content).hexdigest()), "Cache-Control": "private, no-cache"}
    if headers["ETag"] == if_none_match.removeprefix("W/"):
        return Response(status_code=304, headers=headers)
    if "gzip" in accept_encoding:
        content, headers["Content-Encoding"] = await asyncio.to_thread(gzip.compress, content, 1, mtime=0), "gzip"
    return Response(content, media_type="application/json", headers=headers)


_KINDS: dict[str, Any] = {one.name: one.kind for one in FIELDS} | {
    "rules": list[RuleHitModel], "degraded": list[str], "paths": list[str],
}  # fmt: skip
_FIELDS: dict[str, Any] = {name: (_KINDS[name] | None, None) for name in DELIVERED}
_Delivered: Any = create_model("_Delivered", **_FIELDS)


_EXAMPLE: Any = {
    "id": "019b8d5e-3f00-7000-8000-000000000001", "tool": "Bash", "command": "git status", "client": "claude-code",
    "decision": "allow", "effect": "abstain",
}  # fmt: skip


class DeliveredDecision(_Delivered):
    """A decision made by a relay. The time is that of its `id`, a UUIDv7; the user is the caller."""

    model_config = request_body(_EXAMPLE)
    id: UUID


class DeliveredDecisions(BaseModel):
    """Decisions made while the server was away, the oldest first."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"records": []}]})
    records: Annotated[list[DeliveredDecision], Field(max_length=MOST_RECORDS)]


@router.post("/bundle/records", status_code=204, dependencies=[WORK])
async def deliver_records(
    caller: CallerOf,
    body: DeliveredDecisions,
    recorder: Annotated[Recorder, Depends(of(Recorder))],
    counters: Annotated[Counters, Depends(of(Counters))],
) -> None:
    """Record decisions that a relay has made. One delivered twice is stored once; each is marked as degraded."""
    require(caller.principal, "calls.make")
    records = [_record(caller.principal, number, one) for number, one in enumerate(body.records)]
    try:
        await recorder.deliver(records)
    except RedisUnavailable:
        raise StoreUnavailable("the records cannot be stored now; nothing was lost, deliver them again") from None
    counters.degraded[SERVER] += len(records)


def _record(principal: Principal, number: int, given: DeliveredDecision) -> Record:
    name, record_id = f"records.{number}", str(given.id)
    if given.id.version != 7 or not is_between(record_id, timedelta(seconds=LONGEST_OUTAGE_S), _AHEAD):  # noqa: PLR2004 - UUIDv7
        raise Invalid(f"{name}.id", "must be a UUIDv7 of the last seven days")
    values = given.model_dump(mode="json", exclude_none=True)
    values["degraded"] = [SERVER, *(one for one in values.get("degraded", ()) if one != SERVER)]
    who = {one: getattr(principal, one) for one in ("organisation", "team", "user", "role")}
    try:
        return msgspec.convert(values | who | {"at": moment_of(record_id), "event": "PreToolUse"}, Record)
    except msgspec.ValidationError as error:
        raise Invalid(name, f"is no decision: {error}") from None
