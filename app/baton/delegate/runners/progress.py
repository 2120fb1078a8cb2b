"""Stores a job's progress and end, as reported by the holder of its lease."""

import hmac
from datetime import datetime
from typing import Any

import msgspec

from baton.delegate.core import attempts
from baton.delegate.core.attempts import JobUsage
from baton.delegate.core.job import ENDED_STATES, Job, State
from baton.delegate.core.protocol import progress_of
from baton.delegate.core.states import JobStates
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.runners.agent_tokens import EXEMPT, ModeExemptions
from baton.delegate.runners.service import LeaseClaim
from baton.kernel.base.errors import Invalid, LeaseLost, NotFound
from baton.kernel.base.sql import StoreErrors
from baton.people.tokens import digest_of
from baton.people.users import require
from baton.rules.call.call import Principal
from baton.shared.storable import storable_json

KINDS = ("session.update", "agent.session", "workspace.diff")  # types of runners' events
END_STATES = ("completed", "failed", "cancelled")  # a runner's end states of a job
LONGEST_SESSION = 1_024  # maximum length of an agent's session id, in characters
_TOKENS = ("input_tokens", "cached_tokens", "output_tokens")
_AWAY = "the database is unavailable; nothing was stored, send it again"


class RunnerEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One event, with the runner's number, counted from 1 in each attempt."""

    seq: int
    type: str
    body: dict[str, Any]


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """The end of an attempt."""

    state: State
    output: str = ""
    usage: JobUsage = JobUsage()
    error_code: str = ""
    error_detail: str = ""


class ProgressReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """The number `accepted` of the last stored event, and whether to `cancel` the job."""

    accepted: int
    cancel: bool


class JobProgress:
    """Stores runners' reports on their jobs."""

    def __init__(self, states: JobStates, modes: ModeExemptions) -> None:
        self._states = states
        self._modes = modes

    async def record(
        self,
        principal: Principal,
        runner_id: str,
        claim: LeaseClaim,
        events: list[RunnerEvent],
        finish: Finish | None = None,
        waiting_for: str | None = None,
    ) -> ProgressReceipt:
        """Store new events and the end of the attempt, idempotently.

        Events after a gap are not stored: the runner continues after `accepted`. `waiting_for` is the reason why the
        runner is blocked; events without it mean it is not. Raise Invalid, LeaseLost, NotFound or StoreUnavailable.
        """
        _check(events, finish)
        lost = ""
        with StoreErrors(_AWAY):
            async with self._states.transaction() as transaction:
                job = await self.lock_job(transaction, principal, runner_id, claim.job)
                if not is_current_lease(job, claim):
                    lost = await self._keep_late_result(transaction, job, claim.attempt, finish)
                elif job.state in ENDED_STATES:
                    return ProgressReceipt(accepted=job.last_seq, cancel=False)
                else:
                    receipt = await self._store(transaction, job, events, finish, waiting_for)
            if not lost:
                await self._exempt_sessions(principal, job, events, transaction.now)
                return receipt
        # Raised after the commit: inside the transaction it would discard the late result.
        raise LeaseLost(lost)

    async def lock_job(self, transaction: JobTransaction, principal: Principal, runner_id: str, job_id: str) -> Job:
        """Lock a current or former job of a principal's runner. Raise NotFound."""
        require(principal, "jobs.run")
        job = await self._states.lock(transaction, job_id)
        if job is None or (principal.user, runner_id) != (job.runner_user, job.runner_id):
            if job is not None and principal.user in {job.user, job.runner_user}:
                return job  # another of their runners holds it: they get `lease_lost`, not 404
            raise NotFound(f"the runner `{runner_id}` has no job `{job_id[:100]}`")
        return job

    async def _exempt_sessions(self, principal: Principal, job: Job, events: list[RunnerEvent], now: datetime) -> None:
        sessions = {str(one.body.get("id", "")) for one in events if one.type == "agent.session"}
        for session in sorted(sessions - {"", job.session_id}):
            await self._modes.let_work(principal, session, f"the agent of {job.id}", now + EXEMPT)

    async def _store(
        self,
        transaction: JobTransaction,
        job: Job,
        events: list[RunnerEvent],
        finish: Finish | None,
        waiting_for: str | None,
    ) -> ProgressReceipt:
        job = await self._states.hear(transaction, job)
        if waiting_for is not None or events:
            job = await self._states.wait_for(transaction, job, waiting_for or "")
        if job.state == "leased" and (events or finish is not None):
            job = await self._states.start(transaction, job)
        values: dict[str, Any] = {}
        last = job.last_seq
        for event in sorted(events, key=lambda one: one.seq):
            if event.seq == last + 1:  # older ones are stored, later ones follow a gap
                last = event.seq
                values |= self._add_event(transaction, job, event)
        job = transaction.change(job, **(values | {"last_seq": last}))
        # The end counts only with all earlier events. Otherwise the runner sends it again with the missing ones.
        if finish is not None and (not events or max(event.seq for event in events) <= last):
            job = await self._end(transaction, job, finish)
        return ProgressReceipt(accepted=last, cancel=job.cancel_requested and job.state not in ENDED_STATES)

    async def _end(self, transaction: JobTransaction, job: Job, finish: Finish) -> Job:
        values: dict[str, Any] = {
            "output": finish.output,
            "error_code": finish.error_code,
            "error_detail": finish.error_detail,
            "stream_tails": None,
        }
        job = transaction.change(job, **attempts.used(job, job.attempt, finish.usage))
        return await self._states.end(transaction, job, finish.state, **values)

    @staticmethod
    def _add_event(transaction: JobTransaction, job: Job, event: RunnerEvent) -> dict[str, Any]:
        match event.type:
            case "agent.session":
                transaction.add_event(job, event.type, event.body, seq=event.seq)
                return {"agent_session": str(event.body.get("id", ""))[:LONGEST_SESSION]}
            case "session.update":
                update = event.body["update"] if isinstance(event.body.get("update"), dict) else event.body
                transaction.add_agent_update(job, update, event.seq)
                progress = progress_of(update)
                usage = usage_of(update)  # counts even if the attempt never reports its end
                if usage is not None:
                    latest = transaction.latest(job)
                    transaction.change(latest, **attempts.used(latest, job.attempt, usage))
                return {"progress": progress} if progress else {}
            case _:
                transaction.add_event(job, event.type, event.body, seq=event.seq)
                return {}

    @staticmethod
    async def _keep_late_result(transaction: JobTransaction, job: Job, attempt: int, finish: Finish | None) -> str:
        """Store the first late end. Return the message for the runner."""
        if finish is not None and job.late_result is None and 0 < attempt <= job.attempt:
            result = {"attempt": attempt, "at": transaction.now.isoformat(), **msgspec.to_builtins(finish)}
            job = transaction.change(job, late_result=storable_json(result))
        if finish is not None and 0 < attempt <= job.attempt:
            transaction.change(job, **attempts.used(job, attempt, finish.usage))
        return (
            f"attempt {attempt} of job `{job.id}` is over (it is `{job.state}`, attempt {job.attempt}); end its agent"
        )


def is_current_lease(job: Job, claim: LeaseClaim) -> bool:
    """Return whether a claim matches a job's current lease."""
    digest = digest_of(claim.token)
    return job.attempt == claim.attempt and job.digest != "" and hmac.compare_digest(job.digest, digest)


def usage_of(update: dict[str, Any]) -> JobUsage | None:
    """Return the usage in an agent's update, or None: ACP has the cost, our `_meta.baton.usage` the tokens."""
    if update.get("sessionUpdate") != "usage_update":
        return None
    cost, meta = update.get("cost"), update.get("_meta")
    known: dict[str, Any] = {}
    own = meta.get("baton") if isinstance(meta, dict) else None
    told = own.get("usage") if isinstance(own, dict) else None
    if isinstance(told, dict):
        known = {name: told[name] for name in _TOKENS if isinstance(told.get(name), int) and 0 <= told[name] < 2**53}
    if isinstance(cost, dict) and cost.get("currency") == "USD" and isinstance(cost.get("amount"), int | float):
        known["cost_usd"] = float(cost["amount"])
    return JobUsage(**known) if known else None


def _check(events: list[RunnerEvent], finish: Finish | None) -> None:
    for event in events:
        if event.type not in KINDS:
            raise Invalid("events.type", f"is `{event.type[:100]}`", list(KINDS))
    if finish is not None and finish.state not in END_STATES:
        raise Invalid("finish.state", f"is `{finish.state}`", list(END_STATES))
