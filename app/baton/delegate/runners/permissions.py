"""What agents of delegated tasks ask leave for: the rules are asked first, then a person; nobody's answer is a denial."""

from datetime import timedelta
from typing import Any, Literal, Protocol
from uuid import uuid4

import msgspec

from baton.delegate.core import permissions_store as store
from baton.delegate.core.permissions_store import JobPermission
from baton.delegate.core.protocol import ENDED
from baton.delegate.core.states import JobMachine
from baton.delegate.core.store import Job
from baton.delegate.core.transaction import Work
from baton.delegate.jobs.service import visible
from baton.delegate.runners.progress import JobReports, proves
from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Conflict, LeaseLost, NotFound, StoreUnavailable
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes import audit_store
from baton.people.permissions import require
from baton.records.pipeline.decision import Decision

Answer = Literal["allow", "deny", "pending"]
CLIENT = "acp"
"""What the decisions about delegated agents' calls are recorded under."""
_OWN_TOOLS = "mcp__baton__"
"""How the names begin of the tools that a spawned agent is handed to reach its target; each is judged when it is called."""
_AWAY = "the permission cannot be stored now; nothing was changed, try again"
_STATES = {"allow": "allowed", "deny": "denied"}


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent asks: the call, and how its client words it."""

    tool_name: str
    tool_input: dict[str, Any] = {}
    title: str = ""
    kind: str = ""
    options: list[dict[str, Any]] = []


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner is told at once."""

    permission: str
    answer: Answer
    reason: str = ""


class Decider(Protocol):
    """Decides a call by the rules, and records it."""

    async def decide(self, caller: Caller, call: ToolCall) -> Decision:
        """Decide."""


class JobPermissions:
    """Asks the rules, then waits for a person."""

    def __init__(self, machine: JobMachine, reports: JobReports, rules: Decider, *, wait_s: float) -> None:
        self._machine = machine
        self._reports = reports
        self._rules = rules
        self._wait = timedelta(seconds=wait_s)

    async def ask(
        self, principal: Principal, runner_id: str, job_id: str, *, attempt: int, token: str, request: Request
    ) -> Answered:
        """Answer by the rules: a denial is final, an allow is one; where they have no opinion a person is asked.

        Raises:
            LeaseLost: the lease is another's, or over.
            NotFound: the runner never had such a job.
            StoreUnavailable: the database is away; nothing was stored.
        """
        try:
            async with self._machine.work() as work:
                job = await self._held(work, principal, runner_id, job_id, attempt, token)
            permission_id = f"perm_{uuid4().hex}"
            decision = await self._rules.decide(*_as_call(job, permission_id, request))
            async with self._machine.work() as work:
                job = await self._held(work, principal, runner_id, job_id, attempt, token)
                return await self._decided(work, job, permission_id, request, decision)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def find(self, job: Job) -> list[JobPermission]:
        """List what a job asked leave for, the oldest first; raises StoreUnavailable."""
        try:
            async with self._machine.database.transaction() as connection:
                return await store.of_job(connection, job.id)
        except DatabaseUnavailable:
            raise StoreUnavailable("permissions cannot be read now; try again") from None

    async def answer(
        self, principal: Principal, job_id: str, permission_id: str, *, allow: bool, reason: str = ""
    ) -> JobPermission:
        """Answer as a person; the same answer again changes nothing.

        Raises:
            Conflict: it was answered otherwise.
            NotFound: there is none that the principal may answer.
            StoreUnavailable: the database is away; nothing was changed.
        """
        require(principal, "jobs.decide")
        answer: Answer = "allow" if allow else "deny"
        try:
            async with self._machine.work() as work:
                job = visible(principal, await self._machine.lock(work, job_id), job_id, "jobs.decide")
                found = await store.get(work.connection, job.id, permission_id)
                if found is None:
                    raise NotFound(f"job `{job.id}` has asked for no permission `{permission_id[:100]}`")
                if found.state != "pending":
                    if found.state == _STATES[answer]:
                        return found
                    raise Conflict(f"permission `{found.id}` is `{found.state}` already, by {found.decided_by}")
                settled = await self.settle(work, job, found, answer, by="user", user=principal.user, reason=reason)
                await audit_store.add(
                    work.connection,
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
        """Deny what nobody has answered in time."""
        async with self._machine.work() as work:
            job = await self._machine.lock(work, job_id)
            found = await store.get(work.connection, job_id, permission_id)
            if job is not None and found is not None and found.state == "pending" and found.deadline < work.now:
                await self.settle(work, job, found, "deny", by="timeout", reason="nobody answered in time")

    async def settle(
        self, work: Work, job: Job, found: JobPermission, answer: Answer, *, by: str, user: str = "", reason: str = ""
    ) -> JobPermission:
        """Store an answer, tell it to the runner, and let the agent go on."""
        state = _STATES[answer]
        await store.decide(work.connection, found, state=state, by=by, user=user, reason=reason, at=work.now)
        body = {"permission": found.id, "answer": answer, "by": by, "reason": reason}
        work.tell(job, "permission.resolved", body)
        if job.state not in ENDED:
            await self._machine.command(work, job, "permission", {"permission": found.id, "answer": answer})
        others = [one for one in await store.of_job(work.connection, job.id) if one.state == "pending"]
        if job.state == "awaiting_permission" and not others:
            await self._machine.run(work, job)
        return msgspec.structs.replace(
            found, state=state, decided_by=by, decided_user=user, reason=reason, decided_at=work.now
        )

    async def _held(
        self, work: Work, principal: Principal, runner_id: str, job_id: str, attempt: int, token: str
    ) -> Job:
        job = await self._reports.held(work, principal, runner_id, job_id)
        if not proves(job, attempt, token) or job.state in ENDED:
            raise LeaseLost(f"attempt {attempt} of job `{job.id}` is over (it is `{job.state}`); end its agent")
        return job

    async def _decided(
        self, work: Work, job: Job, permission_id: str, request: Request, decision: Decision
    ) -> Answered:
        verdict = decision.verdict
        answer: Answer = {"deny": "deny", "allow": "allow"}.get(verdict.effect, "pending")  # type: ignore[assignment]
        if verdict.effect == "abstain" and job.agent_type and request.tool_name.startswith(_OWN_TOOLS):
            answer = "allow"
        reason = verdict.reason if answer != "pending" else ""
        asked: dict[str, Any] = msgspec.to_builtins(request)
        permission = JobPermission(
            id=permission_id,
            organisation=job.organisation,
            user=job.user,
            job_id=job.id,
            attempt=job.attempt,
            request=asked,
            state=_STATES.get(answer, "pending"),
            decided_by="" if answer == "pending" else "policy",
            decision_id=decision.id,
            reason=reason,
            created_at=work.now,
            deadline=work.now + self._wait,
            decided_at=None if answer == "pending" else work.now,
        )
        if job.state == "leased":
            job = await self._machine.run(work, job)
        await store.add(work.connection, permission)
        body = {"permission": permission.id, "request": asked, "deadline": permission.deadline.isoformat()}
        work.tell(job, "permission.requested", body)
        if answer != "pending":
            told = {"permission": permission.id, "answer": answer, "by": "policy", "reason": reason}
            work.tell(job, "permission.resolved", told)
        elif job.state != "awaiting_permission":
            await self._machine.await_permission(work, job)
        return Answered(permission=permission.id, answer=answer, reason=reason)


def _as_call(job: Job, permission_id: str, request: Request) -> tuple[Caller, ToolCall]:
    """See what an agent asks as a call of a sub-agent of its user's session."""
    principal = Principal(organisation=job.organisation, team=job.team, user=job.user)
    call = ToolCall(
        client=CLIENT,
        session_id=job.session_id,
        tool_name=request.tool_name,
        tool_input=request.tool_input,
        tool_use_id=permission_id,
        agent_id=job.id,
        agent_type=job.agent_type or job.provider,
        project=job.project,
    )
    return Caller(principal=principal, project=job.project), call
