"""Approvals: a person answers a question from anywhere, for exactly one act of a session or of a job's agent.

If the client cannot show a question, or a headless run makes requests, or the rule names other approvers, the call is
refused with a request's id. After the approval, the same call passes once. Requests live in SQL alone, so each server
sees each answer. A rule may let the hook wait: the shim then has the refusal already, and asks again after the answer.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from pydantic import BaseModel
from pydantic import Field as BodyField
from sqlalchemy import func, select, update
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid7

from baton.clients.registry import can_ask, words_of
from baton.delegate.core.call_reading import EditDiff, ReadProgram, reading_of
from baton.delegate.runners.api import JobPermissionsOf
from baton.delegate.runners.permissions import JOB_PREFIX
from baton.events.emission import NO_EVENTS, Emitter
from baton.events.payloads import QuestionChanged
from baton.kernel.base.errors import BatonError
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes import numbers
from baton.kernel.changes.announce import Changes
from baton.kernel.http.features import of
from baton.kernel.http.fields import Shown, request_body
from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.lib.text.masking import mask_json
from baton.people import approvals as requests
from baton.people.approvals import APPROVALS, Approval, may_answer, may_see
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK
from baton.people.users import reach, require
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.verdict import RuleHit, Verdict
from baton.rules.policy.matching.rule import PolicySet
from baton.shared.decided import refused_question
from baton.shared.storable import storable

KIND = "approvals"
EXPIRES = "1h"
"""Time that a request waits for an answer, and an approval for its call, unless the rule names another."""
MOST_WAITING = 50
"""Requests of one session that wait at once; more calls are refused without a request."""
MOST_LISTED = 200
_PRESENT_S = 90
"""Seconds after a list of requests in which its reader learns of new ones. A browser's hidden tab reads once a minute."""
_DAY_S = 86_400
_listed = msgspec.msgpack.Decoder(tuple[float, Principal]).decode
_REWORDED = frozenset({"description", "timeout"})
"""Keys of a shell tool's input in which a retry may differ: they change nothing that the line does. Of another tool,
such as an MCP server's, each key counts."""
_AWAY = "the approval cannot be stored now; nothing was changed, try again"
_c = APPROVALS.c


class Approvals:
    """The requests of the organisation."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        redis: Redis,
        events: Emitter = NO_EVENTS,
        has_webhook: Callable[[str], bool] = lambda _: False,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._changes = changes
        self._redis = redis
        self._has_webhook = has_webhook
        self._events = events
        self._now = now
        self._waiting: dict[str, list[asyncio.Future[bool]]] = {}
        changes.on(KIND, self.look_again, self._wake)

    async def weigh(
        self, principal: Principal, call: ToolCall, verdict: Verdict, policies: PolicySet
    ) -> tuple[Verdict, str]:
        """Return a rule's question as changed by requests and their answers, and what its hook may wait for.

        That is `wait SECONDS REQUEST`, or "". An approved act passes once. Where no request can be made, the call is
        refused: without the database, or if a call that others approve names no session.
        """
        asking = {hit.id for hit in verdict.hits if hit.effect == "ask"} | {verdict.rule}
        rules = [one for one in policies.rules if one.id in asking]
        # Several rules may ask. The user's own word does not answer the one that names other people only.
        rule = min(rules, key=lambda one: ("self" in one.file.approvers, one.id != verdict.rule), default=None)
        approvers, expires = (tuple(rule.file.approvers), rule.file.expires) if rule else (("self",), EXPIRES)
        wait_s = min(_seconds(rule.file.wait), words_of(call.client).longest_wait) if rule else 0
        is_alone = call.models.headless and policies.config.headless == "request"
        asked_here = can_ask(call.client) and "self" in approvers and not is_alone
        if asked_here or (not call.session_id and "self" in approvers):
            return verdict, ""
        is_shell = call.tool_name in policies.config.shell_tools
        given = {"tool_name": call.tool_name, "tool_input": mask_json(call.tool_input)}
        reading = reading_of(verdict, given, call.cwd)
        now = self._now()
        made = Approval(
            id=f"apr_{uuid7().hex}",
            organisation=principal.organisation,
            user=principal.user,
            team=principal.team,
            project=call.project,
            session_id=call.session_id,
            client=call.client,
            tool=call.tool_name,
            act=act_of(call, [*sorted(asking), *approvers, policies.revision], is_shell=is_shell),
            shown=requests.text_of(call.tool_input),
            rule=verdict.rule,
            reason=reading.why,
            reading=msgspec.to_builtins(reading),
            approvers=" ".join(approvers),
            created_at=now,
            expires_at=now + timedelta(seconds=_seconds(expires)),
        )
        request = None
        with contextlib.suppress(DatabaseUnavailable):
            if call.session_id:  # without one, any session's retry would fit
                async with self._database.transaction() as connection:
                    request = await self._find_or_add(connection, made)
        if request is None:
            said = "No request could be made. Ask the person to run it outside the agent."
            return refused_question(verdict, call.client, said), ""
        if request.state == "used":
            hits = tuple(RuleHit(hit.id, "lifted") if hit.effect == "ask" else hit for hit in verdict.hits)
            return msgspec.structs.replace(verdict, effect="abstain", reason="", suggestion="", hits=hits), ""
        if request.state == "denied":
            why = f": {request.answer_reason}" if request.answer_reason else ""
            return refused_question(
                verdict, call.client, f"`{request.decided_by}` denied it{why}. Do not try it again."
            ), ""
        whom = " or ".join(_WHOM.get(one, f"`{one}`") for one in approvers)
        said = (
            f"It waits for {whom}: `baton approve {request.id}`, or the console. Once it is approved, make exactly this"
            " call again; until then do other work, or stop."
        )
        if await self.unreached(principal, [request]):
            said += " Nobody who may approve it has the console or `baton approvals --follow` open: tell the person."
        return refused_question(verdict, call.client, said), f"wait {wait_s} {request.id}" if wait_s else ""

    async def wait(self, principal: Principal, approval_id: str, seconds: float) -> bool:
        """Wait until a request is answered. Return False if nobody has answered in time, or the server stops.

        It holds nothing but memory: the answer's change wakes it. Raise Forbidden, NotFound or StoreUnavailable.
        """
        answered = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(approval_id, []).append(answered)
        try:
            if (await self.get(principal, approval_id)).state != "waiting":
                return True
            with contextlib.suppress(TimeoutError):
                return await asyncio.wait_for(answered, seconds)
            return False
        finally:
            self._waiting[approval_id].remove(answered)
            if not self._waiting[approval_id]:
                del self._waiting[approval_id]

    async def look_again(self) -> None:
        """Wake the hooks whose requests have been answered, if it is unknown which were. Raise DatabaseUnavailable."""
        if self._waiting:
            async with self._database.transaction() as connection:
                found = await requests.find_approvals(connection, _c.id.in_(list(self._waiting)), _c.state != "waiting")
            await self._wake(one.id for one in found)

    async def _wake(self, answered: Iterable[str], *, is_answered: bool = True) -> None:
        for waiting in [one for name in answered for one in self._waiting.get(name, ())]:
            if not waiting.done():
                waiting.set_result(is_answered)

    async def leave(self) -> None:
        """Let the waiting hooks go with the refusals that they have: the server stops."""
        await self._wake(list(self._waiting), is_answered=False)

    async def _find_or_add(self, connection: AsyncConnection, made: Approval) -> Approval | None:
        """Return the act's request: use up an approved one, find an open one, or else add the one made."""
        of_session = (
            getattr(_c, name) == getattr(made, name) for name in ("organisation", "user", "session_id", "job")
        )
        whose = (*of_session, _c.expires_at > made.created_at)
        for found in reversed(
            await requests.find_approvals(connection, *whose, _c.act == made.act, _c.state != "used")
        ):
            if found.state != "approved":
                return found
            use = update(APPROVALS).where(_c.id == found.id, _c.state == "approved")
            if (await connection.execute(use.values(state="used"))).rowcount:
                return msgspec.structs.replace(found, state="used")
        waiting = select(func.count()).where(*whose, _c.state == "waiting")
        if (await connection.execute(waiting)).scalar_one() >= MOST_WAITING:
            return None
        await requests.add(connection, made)
        self._emit(made, "opened")
        return made

    async def list_requests(self, principal: Principal, job: str = "") -> list[Approval]:
        """List visible requests, the oldest first: all that wait, or all of a job. Raise Forbidden, StoreUnavailable."""
        require(principal, "approvals.read")
        which = (_c.job == storable(job),) if job else (_c.state == "waiting", _c.expires_at > self._now())
        async with self._database.transaction("approvals cannot be read now; try again") as connection:
            found = await requests.find_approvals(connection, _c.organisation == principal.organisation, *which)
        return [one for one in found if may_see(principal, one)][:MOST_LISTED]

    def listed(self, principal: Principal) -> None:
        """Note that a person reads the list, and so learns of new requests."""
        if reach(principal, "approvals.decide"):
            now = self._now().timestamp()
            line = msgspec.msgpack.encode((now, principal))
            self._redis.send(b"HSET", _listed_on(now), f"{principal.organisation} {principal.user}", line)
            self._redis.send(b"EXPIRE", _listed_on(now), 2 * _DAY_S)

    async def unreached(self, principal: Principal, waiting: list[Approval] | None = None) -> list[Approval]:
        """Return the requests, else all visible ones, that reached no approver; none while a store is unavailable."""
        if self._has_webhook("questions"):
            return []
        with contextlib.suppress(BatonError, RedisUnavailable):
            found = await self.list_requests(principal) if waiting is None else waiting
            now = self._now().timestamp()
            days = (
                await self._redis.pipeline([(b"HVALS", _listed_on(at)) for at in (now, now - _DAY_S)]) if found else []
            )
            seen = [_listed(line) for lines in days for line in lines]
            return [one for one in found if not any(_has_reached(one, *line) for line in seen)]
        return []

    async def get(self, principal: Principal, approval_id: str) -> Approval:
        """Return a request. Raise Forbidden, NotFound or StoreUnavailable."""
        require(principal, "approvals.read")
        async with self._database.transaction("approvals cannot be read now; try again") as connection:
            return await requests.get(connection, principal, approval_id)

    async def answer(self, principal: Principal, approval_id: str, *, approve: bool, reason: str) -> Approval:
        """Answer a session's request. Raise as `requests.answer` does, or StoreUnavailable: then nothing was changed."""
        async with self._database.transaction(_AWAY) as connection:
            answered, is_new = await requests.answer(
                connection, principal, approval_id, approve=approve, reason=reason, now=self._now()
            )
            if is_new:
                number = await numbers.raise_number(connection, principal.organisation, KIND)
                await numbers.name_objects(connection, principal.organisation, KIND, number, [answered.id])
        if is_new:
            self._changes.announce(KIND)
            self._emit(answered, "answered", answer="allow" if approve else "deny", answered_by=principal.user)
        return answered

    def _emit(self, request: Approval, state: Literal["opened", "answered"], **more: Any) -> None:
        payload = QuestionChanged(
            session_id=request.session_id,
            question_id=request.id,
            job_id="",
            state=state,
            tool_name=request.tool[:200],
            agent=request.client,
            project=request.project,
            approvers=request.approvers,
            **more,
        )
        whose = Principal(organisation=request.organisation, user=request.user, team=request.team)
        self._events.emit(whose, payload)


_UNITS = {"s": 1, "m": 60, "h": 3_600}
_WHOM = {"self": "the person", "lead": "the team's lead"}


def _listed_on(day: float) -> bytes:
    return b"{baton}:approvers:%d" % (day // _DAY_S)


def _has_reached(request: Approval, at: float, who: Principal) -> bool:
    is_new = at + _PRESENT_S > request.created_at.timestamp()
    return is_new and who.organisation == request.organisation and may_answer(who, request)


def _seconds(span: str) -> int:
    return int(span[:-1]) * _UNITS[span[-1]]


def act_of(call: ToolCall, terms: list[str], *, is_shell: bool) -> str:
    """Return the digest a request is bound to: the tool, its whole input, the folder, and the terms.

    The terms are the asking rules, the approvers and the policies: a call that another rule asks about needs its answer.
    """
    given = {name: value for name, value in call.tool_input.items() if not (is_shell and name in _REWORDED)}
    bound = [call.tool_name, given, call.cwd, call.project, call.agent_id, terms]
    return blake2b(msgspec.json.encode(bound, order="sorted"), digest_size=16).hexdigest()


# The API.

router = APIRouter(tags=["approvals"])
ApprovalsOf = Annotated[Approvals, Depends(of(Approvals))]


class ApprovalModel(BaseModel):
    """A request to approve one call, of a session or of a job's agent. Without an answer by `expires_at` it is denied."""

    id: str
    kind: Literal["session", "job"]
    user: str = BodyField(description="The session's user, or the author of the job.")
    team: str
    project: str
    session_id: str
    client: str = BodyField(description="The client, or the agent of the job.")
    tool: str
    input: str = BodyField(
        description="The call's input as JSON, with secrets masked. Beyond 4,000 characters it says how many are missing."
    )
    rule: str = BodyField(description="The asking rule; empty if none matches.")
    reason: str
    approvers: list[str] = BodyField(description="`self`, `lead`, `role:ROLE` or `user:NAME`.")
    may_answer: bool
    state: Literal["waiting", "approved", "denied", "used"]
    decided_by: str
    answer_reason: str
    created_at: datetime
    expires_at: datetime
    decision_id: str
    job: str = BodyField(description="Of kind `job`, like all that follows; else empty.")
    job_title: str
    workspace: str
    command: str = BodyField("", description="The shell line; empty for other calls.")
    programs: list[Shown[ReadProgram]] = []
    risky: list[list[int]] = BodyField(
        [], description="Pairs of character positions in `command`: start and end of a risky part."
    )
    unparsed: str = BodyField("", description="Why the command could not be read whole; empty if it was.")
    edits: list[Shown[EditDiff]] = []
    folder: str = BodyField("", description="Where the call runs, if known.")
    others: str = BodyField("", description="The input besides the command and the edits, as JSON.")

    @classmethod
    def of(cls, request: Approval, principal: Principal) -> "ApprovalModel":
        """Show a request to a principal."""
        fields = request.reading | msgspec.structs.asdict(request)
        may = request.state == "waiting" and reach(principal, "approvals.decide") and may_answer(principal, request)
        return cls.model_validate(
            fields
            | {
                "kind": "job" if request.job else "session",
                "input": request.shown,
                "approvers": request.approvers.split(" "),
                "may_answer": bool(may),
            }
        )


class ApprovalsModel(BaseModel):
    """Requests, the oldest first; at most 200."""

    items: list[ApprovalModel]


class ApprovalAnswerBody(BaseModel):
    """A person's answer."""

    model_config = request_body({"answer": "allow", "reason": "the release of today"})

    answer: Literal["allow", "deny"]
    reason: str = BodyField("", max_length=1_000, description="Of a denial, the agent reads it.")


_Id = Annotated[str, Path(max_length=200)]


@router.get("/approvals")
async def list_approvals(
    caller: CallerOf,
    approvals: ApprovalsOf,
    job: Annotated[str, Query(max_length=200, description="All requests of this job's agent, answered ones too.")] = "",
) -> ApprovalsModel:
    """List the waiting requests visible to you, of sessions and of jobs, and those of jobs on your machine."""
    found = await approvals.list_requests(caller.principal, job)
    if not job:
        approvals.listed(caller.principal)
    return ApprovalsModel(items=[ApprovalModel.of(one, caller.principal) for one in found])


@router.get("/approvals/{approval_id}")
async def get_approval(caller: CallerOf, approvals: ApprovalsOf, approval_id: _Id) -> ApprovalModel:
    """Get a request, answered or not."""
    return ApprovalModel.of(await approvals.get(caller.principal, approval_id), caller.principal)


@router.post("/approvals/{approval_id}", dependencies=[WORK])
async def answer_approval(
    caller: CallerOf, approvals: ApprovalsOf, jobs: JobPermissionsOf, approval_id: _Id, body: ApprovalAnswerBody
) -> ApprovalModel:
    """Approve or deny one call. A session's agent makes it again, and it passes once; a job's agent continues."""
    who = caller.principal
    service = jobs if approval_id.startswith(JOB_PREFIX) else approvals
    answered = await service.answer(who, approval_id, approve=body.answer == "allow", reason=body.reason)
    return ApprovalModel.of(answered, who)
