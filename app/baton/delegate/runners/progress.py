"""What runners tell of their jobs: events, and how a job ended. Only the holder of the lease is believed."""

import hmac
from datetime import datetime
from typing import Any

import msgspec

from baton.delegate.core.protocol import ENDED, HELD, State, progress_of
from baton.delegate.core.states import JobMachine
from baton.delegate.core.store import Job
from baton.delegate.core.transaction import Work
from baton.delegate.runners.exemption import DelegatedSessions
from baton.delegate.runners.service import LEASE, digest_of
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid, LeaseLost, NotFound, StoreUnavailable
from baton.kernel.base.sql import DatabaseUnavailable, storable_json
from baton.people.permissions import require

KINDS = ("session.update", "agent.session", "workspace.diff")
"""Types of events that a runner may send."""
FINISHES = ("completed", "failed", "cancelled")
_AWAY = "the database is away; nothing of this was stored, send it again"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """One event by the runner's own number, which counts from 1 in each attempt."""

    seq: int
    type: str
    body: dict[str, Any]


class Usage(msgspec.Struct, frozen=True, kw_only=True):
    """Tokens of an attempt, and what the agent says they cost in USD."""

    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None


class Finish(msgspec.Struct, frozen=True, kw_only=True):
    """How an attempt ended."""

    state: State
    output: str = ""
    usage: Usage = Usage()
    error_code: str = ""
    error_detail: str = ""


class Accepted(msgspec.Struct, frozen=True, kw_only=True):
    """The number of the last event that is stored, and whether the job is to be cancelled."""

    accepted: int
    cancel: bool


class JobReports:
    """Takes in what runners tell."""

    def __init__(self, machine: JobMachine, delegated: DelegatedSessions) -> None:
        self._machine = machine
        self._delegated = delegated

    async def report(
        self,
        principal: Principal,
        runner_id: str,
        job_id: str,
        *,
        attempt: int,
        token: str,
        events: list[Told],
        finish: Finish | None,
    ) -> Accepted:
        """Store events that are not stored yet, and the end; repeating it changes nothing.

        Events that come before others which are missing are not stored: `accepted` tells where to go on.

        Raises:
            Invalid: naming the field; nothing was stored.
            LeaseLost: the lease is another's, or over; the end is kept as a late result.
            NotFound: the runner never had such a job.
            StoreUnavailable: the database is away; nothing was stored.
        """
        _check(events, finish)
        late = ""
        try:
            async with self._machine.work() as work:
                job = await self.held(work, principal, runner_id, job_id)
                if not proves(job, attempt, token) or (job.state not in HELD and job.state not in ENDED):
                    late = await self._late(work, job, attempt, finish)
                elif job.state in ENDED:
                    return Accepted(accepted=job.last_seq, cancel=False)
                else:
                    accepted = await self._take_in(work, job, events, finish)
            if not late:
                await self._exempt(principal, job, events, work.now)
                return accepted
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        raise LeaseLost(late)

    async def _exempt(self, principal: Principal, job: Job, events: list[Told], now: datetime) -> None:
        for session in sorted({str(one.body.get("id", "")) for one in events if one.type == "agent.session"}):
            await self._delegated.let_work(principal, job, session, now)

    async def held(self, work: Work, principal: Principal, runner_id: str, job_id: str) -> Job:
        """Lock a job that a principal's runner has, or had.

        Raises:
            NotFound: it never had such a job.
        """
        require(principal, "jobs.run")
        job = await self._machine.lock(work, job_id)
        if job is None or (principal.user, runner_id) != (job.runner_user, job.runner_id):
            if job is not None and principal.user in {job.user, job.runner_user}:
                return job
            raise NotFound(f"the runner `{runner_id}` has no job `{job_id[:100]}`")
        return job

    async def _take_in(self, work: Work, job: Job, events: list[Told], finish: Finish | None) -> Accepted:
        if job.state == "leased":
            job = await self._machine.run(work, job)
        values: dict[str, Any] = {"lease_until": work.now + LEASE}
        last = job.last_seq
        for event in sorted(events, key=lambda one: one.seq):
            if event.seq == last + 1:
                last = event.seq
                values |= self._pass_on(work, job, event)
        job = work.change(job, **(values | {"last_seq": last}))
        if finish is not None and (not events or max(event.seq for event in events) <= last):
            ended: dict[str, Any] = {
                "output": finish.output,
                "error_code": finish.error_code,
                "error_detail": finish.error_detail,
                "input_tokens": job.input_tokens + finish.usage.input_tokens,
                "output_tokens": job.output_tokens + finish.usage.output_tokens,
            }
            if finish.usage.cost_usd is not None:
                ended["cost_usd"] = (job.cost_usd or 0.0) + finish.usage.cost_usd
            job = await self._machine.end(work, job, finish.state, **ended)
        return Accepted(accepted=last, cancel=job.cancel_requested and job.state not in ENDED)

    @staticmethod
    def _pass_on(work: Work, job: Job, event: Told) -> dict[str, Any]:
        """Add a runner's event to the job, and give what it changes of it."""
        match event.type:
            case "agent.session":
                work.tell(job, event.type, event.body, seq=event.seq)
                return {"agent_session": str(event.body.get("id", ""))[:1_024]}
            case "session.update":
                update = event.body["update"] if isinstance(event.body.get("update"), dict) else event.body
                work.pass_on(job, update, event.seq)
                progress = progress_of(update)
                return {"progress": progress} if progress else {}
            case _:
                work.tell(job, event.type, event.body, seq=event.seq)
                return {}

    @staticmethod
    async def _late(work: Work, job: Job, attempt: int, finish: Finish | None) -> str:
        if finish is not None and job.late_result is None and 0 < attempt <= job.attempt:
            kept = {"attempt": attempt, "at": work.now.isoformat(), **msgspec.to_builtins(finish)}
            work.change(job, late_result=storable_json(kept))
        return (
            f"attempt {attempt} of job `{job.id}` is over (it is `{job.state}`, attempt {job.attempt}); end its agent"
        )


def proves(job: Job, attempt: int, token: str) -> bool:
    """Tell whether a lease is the current one of a job."""
    return job.attempt == attempt and job.digest != "" and hmac.compare_digest(job.digest, digest_of(token))


def _check(events: list[Told], finish: Finish | None) -> None:
    for event in events:
        if event.type not in KINDS:
            raise Invalid("events.type", f"is `{event.type[:100]}`", list(KINDS))
    if finish is not None and finish.state not in FINISHES:
        raise Invalid("finish.state", f"is `{finish.state}`", list(FINISHES))
