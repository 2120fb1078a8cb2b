"""Permission requests of delegated agents: the rules answer first, then a person. A timeout denies."""

from datetime import timedelta
from typing import Any, Literal, Protocol
from uuid import uuid4

import msgspec

from baton.delegate.core.call_reading import reading_of
from baton.delegate.core.job import ENDED_STATES, Job
from baton.delegate.core.job_events import question_changed
from baton.delegate.core.states import JobStates
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.jobs.bodies import title_of
from baton.delegate.runners.progress import JobProgress, is_current_lease
from baton.delegate.runners.service import LeaseClaim
from baton.kernel.base.errors import LeaseLost
from baton.kernel.base.sql import StoreErrors
from baton.lib.text.masking import mask_json
from baton.people import approvals
from baton.people.approvals import Approval
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.commands import judged_as
from baton.shared.caller import Caller
from baton.shared.decided import Decision

Answer = Literal["allow", "deny", "pending"]
CLIENT = "acp"  # the client name in decisions about delegated agents' calls
_OWN_TOOLS = "mcp__baton__"  # prefix of tools of `baton mcp`. The server judges each call itself.
JOB_PREFIX = "perm_"  # of the requests' ids
_AWAY = "the permission cannot be stored now; nothing was changed, try again"
_ANSWERS: dict[str, Answer] = {"deny": "deny", "allow": "allow"}  # all other effects need a person


class PermissionRequest(msgspec.Struct, frozen=True, kw_only=True):
    """An agent's request. With `confirm` `always`, the runner accepts an `allow` only from a person."""

    tool_name: str
    tool_input: dict[str, Any] = {}
    title: str = ""
    kind: str = ""
    options: list[dict[str, Any]] = []
    confirm: Literal["always", "by-rules"] = "by-rules"


class PermissionAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a runner. After `pending`, it follows as a command."""

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
        """Answer by the rules, or ask a person. Raise LeaseLost, NotFound or StoreUnavailable.

        A rule's allow needs the consent of the runner's owner.
        """
        with StoreErrors(_AWAY):
            async with self._states.transaction() as transaction:
                job = await self._lock_leased(transaction, principal, runner_id, claim)
            request_id = f"{JOB_PREFIX}{uuid4().hex}"
            # Decide outside the transactions: it may take a while, and must not lock the job's row. Check the lease
            # again afterwards.
            decision = await self._rules.decide(*_as_call(principal, job, request_id, request))
            async with self._states.transaction() as transaction:
                job = await self._lock_leased(transaction, principal, runner_id, claim)
                return await self._store(transaction, job, request_id, request, decision)

    async def answer(self, principal: Principal, approval_id: str, *, approve: bool, reason: str) -> Approval:
        """Answer a request as `approvals.answer` does, and tell the runner. Raise as that does, or StoreUnavailable."""
        with StoreErrors(_AWAY):
            async with self._states.transaction() as transaction:
                connection = transaction.connection
                # Lock the job before the request: the end of its attempt does so too.
                asked = await approvals.get(connection, principal, approval_id)
                job = await self._states.lock(transaction, asked.job)
                found, is_new = await approvals.answer(
                    connection, principal, approval_id, approve=approve, reason=reason, now=transaction.now
                )
                if is_new and job is not None:
                    await self._tell(transaction, job, found.id, "allow" if approve else "deny", principal.user, reason)
                return found

    async def expire(self, job_id: str) -> None:
        """Deny a job's requests that nobody answered in time."""
        async with self._states.transaction() as transaction:
            job = await self._states.lock(transaction, job_id)
            if job is None:
                return
            why = "nobody answered in time"
            late = await approvals.deny_of_job(transaction.connection, job_id, why, before=transaction.now)
            for request_id in late:
                await self._tell(transaction, job, request_id, "deny", "", why)

    async def _tell(
        self, transaction: JobTransaction, job: Job, request_id: str, answer: Answer, user: str, reason: str
    ) -> None:
        """Tell the runner and all who follow of an answer, by a user or "" by the clock."""
        resolved = {"permission": request_id, "answer": answer, "by": "user" if user else "timeout"}
        transaction.add_event(job, "permission.resolved", resolved | {"reason": reason})
        over: dict[str, Any] = {"answered_by": user} if user else {"reason": "timeout"}
        changed = question_changed(job, request_id, "answered" if user else "expired", answer=answer, **over)
        transaction.questions.append((job, changed))
        if job.state not in ENDED_STATES:
            await self._states.command(transaction, job, "permission", resolved)
        if job.state == "awaiting_permission" and not await approvals.waits(transaction.connection, job.id):
            await self._states.start(transaction, job)

    async def _lock_leased(
        self, transaction: JobTransaction, principal: Principal, runner_id: str, claim: LeaseClaim
    ) -> Job:
        job = await self._progress.lock_job(transaction, principal, runner_id, claim.job)
        if not is_current_lease(job, claim) or job.state in ENDED_STATES:
            raise LeaseLost(f"attempt {claim.attempt} of job `{job.id}` is over (it is `{job.state}`); end its agent")
        return await self._states.hear(transaction, job)

    async def _store(
        self, transaction: JobTransaction, job: Job, request_id: str, request: PermissionRequest, decision: Decision
    ) -> PermissionAnswer:
        verdict = decision.verdict
        answer = _ANSWERS.get(verdict.effect, "pending")
        tool, _ = judged_as(request.kind, request.tool_name, request.tool_input)
        if verdict.effect == "abstain" and job.agent_type and tool.startswith(_OWN_TOOLS):
            answer = "allow"
        if answer == "allow" and request.confirm == "always":
            answer = "pending"
        body: dict[str, Any] = msgspec.to_builtins(request)
        del body["confirm"]  # the runner's setting, not part of the agent's request
        if job.state == "leased":
            job = await self._states.start(transaction, job)
        deadline = transaction.now + self._wait
        asked = {"permission": request_id, "request": body, "deadline": deadline.isoformat()}
        transaction.add_event(job, "permission.requested", asked)
        if answer != "pending":
            resolved = {"permission": request_id, "answer": answer, "by": "policy", "reason": verdict.reason}
            transaction.add_event(job, "permission.resolved", resolved)
            return PermissionAnswer(permission=request_id, answer=answer, reason=verdict.reason)
        reading = reading_of(verdict, mask_json(msgspec.to_builtins(request)))
        made = Approval(
            id=request_id,
            organisation=job.organisation,
            user=job.user,
            team=job.team,
            project=job.project,
            session_id=job.session_id,
            client=job.agent_type or job.provider,
            tool=reading.tool or request.tool_name,
            shown=approvals.text_of(request.tool_input),
            rule=reading.rule,
            reason=reading.why,
            # The agent uses the files and login of its machine's owner, whoever submitted the task.
            approvers="self" if job.runner_user in {"", job.user} else f"user:{job.runner_user}",
            created_at=transaction.now,
            expires_at=deadline,
            job=job.id,
            job_title=title_of(job.description, job.prompt),
            workspace=job.workspace,
            decision_id=decision.id,
            reading=msgspec.to_builtins(reading),
        )
        await approvals.add(transaction.connection, made)
        opened = question_changed(job, request_id, "opened", tool_name=request.tool_name[:200])
        transaction.questions.append((job, opened))
        if job.state != "awaiting_permission":
            await self._states.move(transaction, job, "awaiting_permission")
        return PermissionAnswer(permission=request_id, answer=answer)


def _as_call(owner: Principal, job: Job, request_id: str, request: PermissionRequest) -> tuple[Caller, ToolCall]:
    """Return a request as a sub-agent's call in the delegating session.

    The rules of the runner's owner apply: on a shared runner, the task author's rules must not allow anything on
    another person's machine.
    """
    principal = Principal(organisation=owner.organisation, team=owner.team, user=owner.user)
    tool, tool_input = judged_as(request.kind, request.tool_name, request.tool_input)
    call = ToolCall(
        client=CLIENT,
        session_id=job.session_id,
        tool_name=tool,
        tool_input=tool_input,
        tool_use_id=request_id,
        agent_id=job.id,
        agent_type=job.agent_type or job.provider,
        project=job.project,
    )
    return Caller(principal=principal, project=job.project), call
