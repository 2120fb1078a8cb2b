"""Actions on a job's result through the API. Its runner performs them in its owner's checkout."""

import asyncio
from datetime import timedelta
from typing import Any, Literal

import msgspec
from uuid_utils import uuid7

from baton.delegate.core.job import ENDED_STATES, Job, JobEvent
from baton.delegate.core.notifier import JobNotifier, wait
from baton.delegate.core.states import LEASE, JobStates
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores import runners as store
from baton.delegate.core.stores.runners import RESULT_COMMAND, RESULT_LIMIT
from baton.delegate.core.transaction import JobTransaction
from baton.delegate.jobs.service import visible
from baton.kernel.base import clock
from baton.kernel.base.errors import Conflict, Forbidden, NotFound, RunnerAway
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.changes import audit_store
from baton.people.users import require
from baton.rules.call.call import Principal

Verb = Literal["apply", "branch", "discard", "pr"]
State = Literal["asked", "taken", "done", "refused", "failed", "expired"]  # see `ResultAction`
LOST = timedelta(minutes=10)  # maximum age of a taken action without an outcome. Then its runner is lost.
EVENT = "workspace.action"  # the type of the events of actions
_AWAY = "the database is unavailable; nothing was changed, try again"


class ResultOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of an action on a job's result, reported by the runner.

    `asked` waits for the runner, `taken` is in progress. `refused` has `reasons`, one line per cause such as a conflict,
    and nothing was changed. `failed` and `expired` have `code` and `detail`. `changed` counts files. `url` is the opened
    request's.
    """

    state: State
    code: str = ""
    detail: str = ""
    reasons: list[str] = []
    changed: int = 0
    branch: str = ""
    url: str = ""


class ResultAction(ResultOutcome, frozen=True, kw_only=True):
    """An action on a job's result, and its outcome. `asked` are the arguments."""

    id: str
    job: str
    verb: Verb
    by: str = ""
    asked: dict[str, Any] = {}


class JobResults:
    """Asks runners to apply, branch, discard or publish jobs' changes."""

    def __init__(self, database: Database, states: JobStates, notifier: JobNotifier) -> None:
        self._database = database
        self._states = states
        self._notifier = notifier

    async def ask(
        self, principal: Principal, job_id: str, verb: Verb, asked: dict[str, Any], wait_s: float
    ) -> ResultAction:
        """Request an action from a job's runner, and wait for it for `wait_s` seconds.

        Raise Conflict without a usable result, Forbidden on another person's machine, NotFound, RunnerAway or
        StoreUnavailable.
        """
        require(principal, "jobs.apply")
        action_id = f"act_{uuid7().hex}"
        with StoreErrors(_AWAY):
            async with self._states.transaction() as transaction:
                job = visible(principal, await self._states.lock(transaction, job_id), job_id, "jobs.read")
                await _check(transaction, principal, job)
                body = {"action": action_id, "verb": verb, "state": "asked", "by": principal.user, "asked": asked}
                transaction.add_event(job, EVENT, body)
                command = {"verb": verb, "by_agent": principal.agent, **asked}
                await store.add_command(
                    transaction.connection, job, RESULT_COMMAND, command, transaction.now, action_id
                )
                transaction.topics.add(f"runner {job.runner_user}")
                await audit_store.add(
                    transaction.connection,
                    principal,
                    action=f"job.{verb}",
                    object=job.id,
                    after={"runner": job.runner_id, **asked},
                )
        return await self._ended(job, action_id, wait_s)

    async def get(self, principal: Principal, job_id: str, action_id: str, wait_s: float = 0) -> ResultAction:
        """Return an action after its end or a timeout. Raise NotFound or StoreUnavailable."""
        return await self._ended(await self._job(principal, job_id), action_id, wait_s)

    async def list_actions(self, principal: Principal, job_id: str) -> list[ResultAction]:
        """List the actions on a job's result, oldest first. Raise NotFound or StoreUnavailable."""
        return list((await self._read(await self._job(principal, job_id))).values())

    async def record(
        self, principal: Principal, runner_id: str, job_id: str, action_id: str, outcome: ResultOutcome
    ) -> None:
        """Store the outcome of an action. The first report counts. Raise NotFound or StoreUnavailable."""
        require(principal, "jobs.run")
        with StoreErrors(_AWAY):
            async with self._states.transaction() as transaction:
                job = await self._states.lock(transaction, job_id)
                events = [] if job is None else await events_store.of_type(transaction.connection, job.id, EVENT)
                known = _folded(events).get(action_id)
                if job is None or known is None or (principal.user, runner_id) != (job.runner_user, job.runner_id):
                    raise NotFound(
                        f"the runner `{runner_id}` was not asked for `{action_id[:100]}` of job `{job_id[:100]}`"
                    )
                if known.state == "asked":
                    body = {"action": action_id, "verb": known.verb, **msgspec.to_builtins(outcome)}
                    transaction.add_event(job, EVENT, body)

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
        async with self._database.transaction(_AWAY) as connection:
            job = await jobs.get(connection, principal.organisation, job_id)
        return visible(principal, job, job_id, "jobs.read")

    async def _read(self, job: Job) -> dict[str, ResultAction]:
        """Return a job's actions by id. Without a report, derive the state from the runner's silence."""
        async with self._database.transaction(_AWAY) as connection:
            events = await events_store.of_type(connection, job.id, EVENT)
            found = _folded(events)
            asked_at = {str(one.body.get("action")): one.at for one in reversed(events)}
            now = await clock.now(connection)
            for action in [one for one in found.values() if one.state == "asked"]:
                waits = await store.is_waiting(connection, action.id)
                found[action.id] = _judged(action, now - asked_at[action.id], waits=waits)
        return found


async def _check(transaction: JobTransaction, principal: Principal, job: Job) -> None:
    check_result(job)
    if principal.user != job.runner_user:
        raise Forbidden(
            f"the changes of job `{job.id}` are on a machine of `{job.runner_user}`; only this user may use them"
        )
    await check_runner(transaction, job)


def check_result(job: Job) -> None:
    """Check that a job can have a result. Raise Conflict if it worked in place, has not ended, or never ran."""
    if job.isolation != "worktree":
        raise Conflict(f"job `{job.id}` worked in place: its changes are already in the workspace")
    if job.state not in ENDED_STATES:
        raise Conflict(f"job `{job.id}` is `{job.state}`; it has a result when it has ended")
    if not job.runner_id:
        raise Conflict(f"job `{job.id}` never ran, so it changed nothing")


async def check_runner(transaction: JobTransaction, job: Job) -> None:
    """Check that the runner with a job's result is connected. Raise RunnerAway."""
    seen = await store.last_seen(transaction.connection, job)
    if seen is None or transaction.now - seen > LEASE:
        heard = f"was last seen at {seen.isoformat(timespec='seconds')}" if seen else "is not known any more"
        raise RunnerAway(
            f"the runner `{job.runner_id}`, which has the result of job `{job.id}`, {heard}; start it with"
            " `baton runner run`, or use the `baton jobs` commands on its machine"
        )


def _folded(events: list[JobEvent]) -> dict[str, ResultAction]:
    """Combine events into actions: requests, updated by their outcomes."""
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
    if waits and age > RESULT_LIMIT:
        detail = f"the runner did not take it within {RESULT_LIMIT.total_seconds():.0f} s; nothing was done"
        return msgspec.structs.replace(action, state="expired", code="runner_away", detail=detail)
    if waits:
        return action
    if age > LOST:
        detail = "the runner took it without reporting an outcome; check the working tree before you repeat it"
        return msgspec.structs.replace(action, state="expired", code="runner_lost", detail=detail)
    return msgspec.structs.replace(action, state="taken")
