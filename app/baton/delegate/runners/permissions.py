"""Permission requests of delegated agents: the rules answer first, then a person; no answer in time is a denial."""

from datetime import timedelta
from typing import Any, Literal, Protocol
from uuid import uuid4

import msgspec

from baton.delegate.core.call_reading import reading_of
from baton.delegate.core.job import ENDED_STATES, Job, JobPermission, PendingQuestion
from baton.delegate.core.job_events import question_changed
from baton.delegate.core.states import JobStates
from baton.delegate.core.stores import permissions as store
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.jobs.service import visible
from baton.delegate.runners.progress import JobProgress, is_current_lease
from baton.delegate.runners.service import LeaseClaim
from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.engine.text.masking import mask_json
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Conflict, Forbidden, LeaseLost, NotFound, StoreUnavailable
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes import audit_store
from baton.people.permissions import covers, reach, require
from baton.people.row_scope import row_scope
from baton.records.pipeline.decision import Decision
from baton.shared.tool_kinds import judged_as

Answer = Literal["allow", "deny", "pending"]
CLIENT = "acp"
"""The client under which decisions about delegated agents' calls are recorded."""
_OWN_TOOLS = "mcp__baton__"
"""Prefix of the tools of `baton mcp`, which a spawned agent is handed; the server judges each of their calls itself."""
MOST_PENDING = 200
"""Requests that one list shows; an agent waits for each, so there are never many."""
_AWAY = "the permission cannot be stored now; nothing was changed, try again"
_STATES = {"allow": "allowed", "deny": "denied"}
_ANSWERS: dict[str, Answer] = {"deny": "deny", "allow": "allow"}
"""Answers by the rules' effects; every other effect leaves the answer to a person."""


class PermissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent asks permission for: the call, and how its client words it.

    `confirm` is `always` if the runner takes an `allow` only from a person.
    """

    tool_name: str
    tool_input: dict[str, Any] = {}
    title: str = ""
    kind: str = ""
    options: list[dict[str, Any]] = []
    confirm: Literal["always", "by-rules"] = "by-rules"


class PermissionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a runner, which may be `pending`."""

    permission: str
    answer: Answer
    reason: str = ""


class Decider(Protocol):
    """Decides a call by the rules, and records the decision."""

    async def decide(self, caller: Caller, call: ToolCall) -> Decision:
        """Return the decision."""


class JobPermissions:
    """The permission requests of jobs."""

    def __init__(self, states: JobStates, progress: JobProgress, rules: Decider, *, wait_s: float) -> None:
        self._states = states
        self._progress = progress
        self._rules = rules
        self._wait = timedelta(seconds=wait_s)

    async def ask(
        self, principal: Principal, runner_id: str, claim: LeaseClaim, request: PermissionRequest
    ) -> PermissionAnswer:
        """Answer by the rules: a deny or an allow is final; without an opinion of theirs a person is asked.

        An allow counts only where the runner's owner lets rules allow.

        Raises:
            LeaseLost: If the lease is not current.
            NotFound: If the runner never had such a job.
            StoreUnavailable: If the database is away; nothing was stored.
        """
        try:
            async with self._states.transaction() as transaction:
                job = await self._lock_leased(transaction, principal, runner_id, claim)
            permission_id = f"perm_{uuid4().hex}"
            # Between the transactions: a decision may take a while, and must not hold the job's row. So look again after.
            decision = await self._rules.decide(*_as_call(principal, job, permission_id, request))
            async with self._states.transaction() as transaction:
                job = await self._lock_leased(transaction, principal, runner_id, claim)
                return await self._store(transaction, job, permission_id, request, decision)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def find(self, job: Job) -> list[JobPermission]:
        """List a job's permission requests, the oldest first. Raise StoreUnavailable."""
        try:
            async with self._states.database.transaction() as connection:
                return await store.of_job(connection, job.id)
        except DatabaseUnavailable:
            raise StoreUnavailable("permissions cannot be read now; try again") from None

    async def pending(self, principal: Principal) -> list[PendingQuestion]:
        """List the requests that wait for a person, the oldest first, of all jobs that the principal may see.

        Raises:
            Forbidden: If the role may not list jobs.
            StoreUnavailable: If the database is away.
        """
        scope = row_scope(principal, "jobs.read")
        try:
            async with self._states.database.transaction() as connection:
                return await store.pending(
                    connection, principal.organisation, scope, host=principal.user, limit=MOST_PENDING
                )
        except DatabaseUnavailable:
            raise StoreUnavailable("permissions cannot be read now; try again") from None

    async def answer(
        self, principal: Principal, job_id: str, permission_id: str, *, allow: bool, reason: str = ""
    ) -> JobPermission:
        """Answer a request as the person on whose machine the agent runs; the same answer again changes nothing.

        Raises:
            Conflict: If the request has the other answer already.
            Forbidden: If the agent runs on somebody else's machine, or the role answers nothing.
            NotFound: If there is no such request that the principal may see.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        require(principal, "jobs.decide")
        answer: Answer = "allow" if allow else "deny"
        try:
            async with self._states.transaction() as transaction:
                locked = await self._states.lock(transaction, job_id)
                job = visible(principal, locked, job_id, "jobs.decide")
                if job.runner_user not in {"", principal.user}:
                    # What the agent does, it does with that person's files and login, whoever gave the task.
                    raise Forbidden(
                        f"the agent of job `{job.id}` runs on the machine of `{job.runner_user}`, who alone answers it;"
                        " you may cancel the job"
                    )
                found = await store.get(transaction.connection, job.id, permission_id)
                if found is None:
                    raise NotFound(f"job `{job.id}` has no permission request `{permission_id[:100]}`")
                if found.state != "pending":
                    if found.state == _STATES[answer]:
                        return found
                    raise Conflict(f"permission `{found.id}` is already `{found.state}`, by {found.decided_by}")
                settled = await self._settle(
                    transaction, job, found, answer, by="user", user=principal.user, reason=reason
                )
                await audit_store.add(
                    transaction.connection,
                    principal,
                    action=f"job.permission-{answer}",
                    kind="job",
                    object=job.id,
                    after={"permission": found.id, "tool": found.request.get("tool_name"), "state": settled.state},
                    reason=reason,
                )
                return settled
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def expire(self, job_id: str, permission_id: str) -> None:
        """Deny a request that nobody has answered in time."""
        async with self._states.transaction() as transaction:
            job = await self._states.lock(transaction, job_id)
            found = await store.get(transaction.connection, job_id, permission_id)
            if job is None or found is None or found.state != "pending" or found.deadline >= transaction.now:
                return
            await self._settle(transaction, job, found, "deny", by="timeout", reason="nobody answered in time")

    async def _settle(
        self,
        transaction: JobTransaction,
        job: Job,
        found: JobPermission,
        answer: Answer,
        *,
        by: str,
        user: str = "",
        reason: str = "",
    ) -> JobPermission:
        """Store an answer, send it to the runner, and let the agent go on."""
        settled = msgspec.structs.replace(
            found,
            state=_STATES[answer],
            decided_by=by,
            decided_user=user,
            reason=reason,
            decided_at=transaction.now,
        )
        await store.decide(transaction.connection, settled)
        body = {"permission": found.id, "answer": answer, "by": by, "reason": reason}
        transaction.add_event(job, "permission.resolved", body)
        over: dict[str, Any] = {"answered_by": user} if by == "user" else {"reason": "timeout"}
        state: Literal["answered", "expired"] = "answered" if by == "user" else "expired"
        transaction.questions.append((job, question_changed(job, found.id, state, answer=answer, **over)))
        if job.state not in ENDED_STATES:
            command = {"permission": found.id, "answer": answer, "by": by}
            await self._states.command(transaction, job, "permission", command)
        pending = [one for one in await store.of_job(transaction.connection, job.id) if one.state == "pending"]
        if job.state == "awaiting_permission" and not pending:
            await self._states.start(transaction, job)
        return settled

    async def _lock_leased(
        self, transaction: JobTransaction, principal: Principal, runner_id: str, claim: LeaseClaim
    ) -> Job:
        job = await self._progress.lock_job(transaction, principal, runner_id, claim.job)
        if not is_current_lease(job, claim) or job.state in ENDED_STATES:
            raise LeaseLost(f"attempt {claim.attempt} of job `{job.id}` is over (it is `{job.state}`); end its agent")
        return await self._states.hear(transaction, job)

    async def _store(
        self,
        transaction: JobTransaction,
        job: Job,
        permission_id: str,
        request: PermissionRequest,
        decision: Decision,
    ) -> PermissionAnswer:
        """Store a request with the answer of the rules, or as pending."""
        verdict = decision.verdict
        answer = _ANSWERS.get(verdict.effect, "pending")
        tool, _ = judged_as(request.kind, request.tool_name, request.tool_input)
        if verdict.effect == "abstain" and job.agent_type and tool.startswith(_OWN_TOOLS):
            answer = "allow"
        if answer == "allow" and request.confirm == "always":
            answer = "pending"
        is_pending = answer == "pending"
        masked = mask_json(msgspec.to_builtins(request))
        request_body: dict[str, Any] = msgspec.to_builtins(request)
        del request_body["confirm"]  # the runner's own setting, not what the agent asks
        permission = JobPermission(
            id=permission_id,
            organisation=job.organisation,
            user=job.user,
            job_id=job.id,
            attempt=job.attempt,
            request=request_body,
            state=_STATES.get(answer, "pending"),
            decided_by="" if is_pending else "policy",
            decision_id=decision.id,
            reason="" if is_pending else verdict.reason,
            created_at=transaction.now,
            deadline=transaction.now + self._wait,
            decided_at=None if is_pending else transaction.now,
            reading=msgspec.to_builtins(reading_of(verdict, masked)) if is_pending else {},
        )
        if job.state == "leased":
            job = await self._states.start(transaction, job)
        await store.add(transaction.connection, permission)
        body = {"permission": permission.id, "request": request_body, "deadline": permission.deadline.isoformat()}
        transaction.add_event(job, "permission.requested", body)
        if not is_pending:
            resolved = {"permission": permission.id, "answer": answer, "by": "policy", "reason": permission.reason}
            transaction.add_event(job, "permission.resolved", resolved)
        else:
            opened = question_changed(job, permission.id, "opened", tool_name=request.tool_name[:200])
            transaction.questions.append((job, opened))
            if job.state != "awaiting_permission":
                await self._states.await_permission(transaction, job)
        return PermissionAnswer(permission=permission.id, answer=answer, reason=permission.reason)


def may_answer(principal: Principal, question: PendingQuestion) -> bool:
    """Return whether a principal may answer a request: on whose machine the agent runs, they alone."""
    hosted = question.runner_user == principal.user
    decides = hosted or covers(principal, "jobs.decide", user=question.permission.user, team=question.team)
    return decides and reach(principal, "jobs.decide") is not None and question.runner_user in {"", principal.user}


def _as_call(owner: Principal, job: Job, permission_id: str, request: PermissionRequest) -> tuple[Caller, ToolCall]:
    """Return a request as a call of a sub-agent in the session that delegated.

    It is judged by the rules of the runner's owner: on a shared runner, a rule of the person who gave the task must not
    allow anything on somebody else's machine.
    """
    principal = Principal(organisation=owner.organisation, team=owner.team, user=owner.user)
    tool, tool_input = judged_as(request.kind, request.tool_name, request.tool_input)
    call = ToolCall(
        client=CLIENT,
        session_id=job.session_id,
        tool_name=tool,
        tool_input=tool_input,
        tool_use_id=permission_id,
        agent_id=job.id,
        agent_type=job.agent_type or job.provider,
        project=job.project,
    )
    return Caller(principal=principal, project=job.project), call
