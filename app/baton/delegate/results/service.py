"""What is done with a job's result by the API: its runner does it, in the checkout of the person whose machine it is."""

import asyncio
from datetime import timedelta
from typing import Any, Literal

import msgspec
from uuid_utils import uuid7

from baton.delegate.core.job import ENDED_STATES, Job, JobEvent
from baton.delegate.core.notifier import JobNotifier, wait
from baton.delegate.core.states import LEASE, JobStates
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores.runners import RESULT_LIMIT
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.jobs.service import visible
from baton.delegate.results import store
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Conflict, Forbidden, NotFound, RunnerAway, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time import clock
from baton.kernel.changes import audit_store
from baton.people.permissions import require

Verb = Literal["apply", "branch", "discard", "pr"]
State = Literal["asked", "taken", "done", "refused", "failed", "expired"]
"""`asked` waits for the runner, `taken` is being done; `refused` names its reasons, and nothing was changed."""
OUTCOMES: tuple[State, ...] = ("done", "refused", "failed")
"""States in which a runner may leave an action."""
LOST = timedelta(minutes=10)
"""An action that was taken so long ago, and of which nothing was heard since, has lost its runner."""
_AWAY = "the database is away; nothing was changed, try again"


class ResultAction(msgspec.Struct, frozen=True, kw_only=True):
    """Something that was asked of a job's result, and what became of it.

    Attributes:
        asked: The arguments: `branch`, and for a request `title`, `body`, `target`, `draft`.
        code: Why it was not done, "" if it was.
        reasons: A line for each cause, such as a conflict.
        changed: How many files were written.
        url: The address of the request that was opened.
    """

    id: str
    job: str
    verb: Verb
    state: State
    by: str = ""
    asked: dict[str, Any] = {}
    code: str = ""
    detail: str = ""
    reasons: list[str] = []
    changed: int = 0
    branch: str = ""
    url: str = ""


class ResultOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of an action, as the runner says it."""

    state: State
    code: str = ""
    detail: str = ""
    reasons: list[str] = []
    changed: int = 0
    branch: str = ""
    url: str = ""


class JobResults:
    """Asks runners to apply, branch, discard or publish what jobs changed."""

    def __init__(self, database: Database, states: JobStates, notifier: JobNotifier) -> None:
        self._database = database
        self._states = states
        self._notifier = notifier

    async def ask(
        self, principal: Principal, job_id: str, verb: Verb, asked: dict[str, Any], wait_s: float
    ) -> ResultAction:
        """Ask a job's runner to do something with its result, and wait for it, at most so many seconds.

        Raises:
            Conflict: If the job has no result that could be used.
            Forbidden: If the result is on another person's machine.
            NotFound: If there is no such job that the principal may see.
            RunnerAway: If the runner is out of touch; nothing was asked.
            StoreUnavailable: If the database is away; nothing was asked.
        """
        require(principal, "jobs.apply")
        action_id = f"act_{uuid7().hex}"
        try:
            async with self._states.transaction() as transaction:
                job = visible(principal, await self._states.lock(transaction, job_id), job_id, "jobs.read")
                await _check(transaction, principal, job)
                body = {"action": action_id, "verb": verb, "state": "asked", "by": principal.user, "asked": asked}
                transaction.add_event(job, store.EVENT, body)
                command = {"verb": verb, "by_agent": principal.agent, **asked}
                await store.add_command(transaction.connection, job, action_id, command, transaction.now)
                transaction.topics.add(f"runner {job.runner_user}")
                await audit_store.add(
                    transaction.connection,
                    principal,
                    action=f"job.{verb}",
                    kind="job",
                    object=job.id,
                    before={},
                    after={"runner": job.runner_id, **asked},
                )
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        return await self._ended(job, action_id, wait_s)

    async def get(self, principal: Principal, job_id: str, action_id: str, wait_s: float = 0) -> ResultAction:
        """Return an action, once it has ended or so many seconds have passed.

        Raises:
            NotFound: If there is no such action of a job that the principal may see.
            StoreUnavailable: If the database is away.
        """
        return await self._ended(await self._job(principal, job_id), action_id, wait_s)

    async def find(self, principal: Principal, job_id: str) -> list[ResultAction]:
        """List what was asked of a job's result, the oldest first.

        Raises:
            NotFound: If there is no such job that the principal may see.
            StoreUnavailable: If the database is away.
        """
        return list((await self._read(await self._job(principal, job_id))).values())

    async def record(
        self, principal: Principal, runner_id: str, job_id: str, action_id: str, outcome: ResultOutcome
    ) -> None:
        """Store what became of an action; the first word of its runner counts.

        Raises:
            NotFound: If the runner was asked no such thing.
            StoreUnavailable: If the database is away; nothing was stored.
        """
        require(principal, "jobs.run")
        try:
            async with self._states.transaction() as transaction:
                job = await self._states.lock(transaction, job_id)
                events = [] if job is None else await store.events(transaction.connection, job)
                known = _folded(events).get(action_id)
                if job is None or known is None or (principal.user, runner_id) != (job.runner_user, job.runner_id):
                    raise NotFound(f"the runner `{runner_id}` was asked no `{action_id[:100]}` of job `{job_id[:100]}`")
                if known.state == "asked":
                    body = {"action": action_id, "verb": known.verb, **msgspec.to_builtins(outcome)}
                    transaction.add_event(job, store.EVENT, body)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    async def _ended(self, job: Job, action_id: str, wait_s: float) -> ResultAction:
        ends = asyncio.get_running_loop().time() + wait_s
        with self._notifier.subscribe(f"job {job.id}") as woken:
            while True:
                found = (await self._read(job)).get(action_id)
                if found is None:
                    raise NotFound(f"job `{job.id}` has no action `{action_id[:100]}`")
                left_s = ends - asyncio.get_running_loop().time()
                if found.state not in {"asked", "taken"} or left_s <= 0:
                    return found
                await wait(woken, min(left_s, self._notifier.pause_s))

    async def _job(self, principal: Principal, job_id: str) -> Job:
        require(principal, "jobs.read")
        try:
            async with self._database.transaction() as connection:
                job = await jobs.get(connection, principal.organisation, job_id)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        return visible(principal, job, job_id, "jobs.read")

    async def _read(self, job: Job) -> dict[str, ResultAction]:
        """Return a job's actions by their ids; where the runner has said nothing, its silence says how they stand."""
        try:
            async with self._database.transaction() as connection:
                events = await store.events(connection, job)
                found = _folded(events)
                asked_at = {str(one.body.get("action")): one.at for one in reversed(events)}
                now = await clock.now(connection)
                for action in [one for one in found.values() if one.state == "asked"]:
                    waits = await store.is_waiting(connection, action.id)
                    found[action.id] = _judged(action, now - asked_at[action.id], waits=waits)
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None
        return found


async def _check(transaction: JobTransaction, principal: Principal, job: Job) -> None:
    check_result(job)
    if principal.user != job.runner_user:
        raise Forbidden(f"what job `{job.id}` changed is on a machine of `{job.runner_user}`, who alone may use it")
    await check_runner(transaction, job)


def check_result(job: Job) -> None:
    """Check that a job can have a result of its own.

    Raises:
        Conflict: If it worked in place, has not ended, or never ran.
    """
    if job.isolation != "worktree":
        raise Conflict(f"job `{job.id}` worked in place: what it changed is in the workspace already")
    if job.state not in ENDED_STATES:
        raise Conflict(f"job `{job.id}` is `{job.state}`; it has a result when it has ended")
    if not job.runner_id:
        raise Conflict(f"job `{job.id}` never ran, so it changed nothing")


async def check_runner(transaction: JobTransaction, job: Job) -> None:
    """Check that the runner which has a job's result is in touch.

    Raises:
        RunnerAway: If it was not heard of lately.
    """
    seen = await store.last_seen(transaction.connection, job)
    if seen is None or transaction.now - seen > LEASE:
        heard = f"was last heard of at {seen.isoformat(timespec='seconds')}" if seen else "is not known any more"
        raise RunnerAway(
            f"the runner `{job.runner_id}`, which has the result of job `{job.id}`, {heard}; start it with"
            " `baton runner run`, or use the `baton jobs` commands on its machine"
        )


def _folded(events: list[JobEvent]) -> dict[str, ResultAction]:
    """Return the actions that events tell of: what was asked, and over it what became of it."""
    known: dict[str, ResultAction] = {}
    for event in events:
        action_id = str(event.body.get("action", ""))
        fields = {name: event.body[name] for name in ResultAction.__struct_fields__ if name in event.body}
        if action_id in known:
            known[action_id] = msgspec.structs.replace(known[action_id], **fields)
        elif fields.get("state") == "asked":
            known[action_id] = ResultAction(id=action_id, job=event.job_id, **fields)
    return known


def _judged(action: ResultAction, age: timedelta, *, waits: bool) -> ResultAction:
    """Return an action of which its runner has said nothing, as its age tells."""
    if waits and age > RESULT_LIMIT:
        detail = f"the runner did not take it within {RESULT_LIMIT.total_seconds():.0f} s; nothing was done"
        return msgspec.structs.replace(action, state="expired", code="runner_away", detail=detail)
    if waits:
        return action
    if age > LOST:
        detail = "the runner took it and said nothing of it since; look at the working tree before you ask again"
        return msgspec.structs.replace(action, state="expired", code="runner_lost", detail=detail)
    return msgspec.structs.replace(action, state="taken")
