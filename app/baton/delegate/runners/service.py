"""The long poll of runners: heartbeat, lease and command channel in one."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta

import msgspec

from baton.delegate.core import attempts
from baton.delegate.core.job import ACTIVE_STATES, CONTINUE, LEASED_STATES, Job, Runner, RunnerCommand
from baton.delegate.core.job_events import traceparent_for_agent
from baton.delegate.core.notifier import POLL_S, JobNotifier, wait
from baton.delegate.core.recap import recap_of
from baton.delegate.core.states import LEASE, JobStates, last_heard, was_away
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores import runners as store
from baton.delegate.core.waiting import folder_of
from baton.delegate.runners import agent_tokens
from baton.kernel.base import clock
from baton.kernel.base.sql import Database, StoreErrors
from baton.modes.freezes import Freezes
from baton.people.tokens import digest_of
from baton.people.users import require, row_scope
from baton.rules.call.call import Principal

LOOK_S = 2.0  # interval of checks whether a waiting runner is still connected, in seconds
_AWAY = "the database is unavailable; poll again"


class LeaseClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A runner's claim on a job, with the token of its lease."""

    job: str
    attempt: int
    token: str


class Poll(msgspec.Struct, frozen=True, kw_only=True):
    """A runner's report. `slots` are free; `wait_s` is its timeout; `folders` as in `core.job.Runner`."""

    boot_id: str
    name: str = ""
    version: str = ""
    slots: int
    wait_s: float = 20
    shared: bool = False
    providers: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()
    folders: dict[str, str] = {}
    active: tuple[LeaseClaim, ...] = ()
    acked_commands: tuple[str, ...] = ()


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A leased job, its token, and the agent's session to resume, or "".

    `agent_token` identifies the agent's job. `recap` summarizes the job's thread for an agent that cannot resume its
    session. `traceparent` is the span of the attempt, or "".
    """

    job: Job
    token: str
    agent_session: str
    agent_token: str
    recap: str
    traceparent: str = ""


class PollAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a poll: new leases, commands, and the ids of lost jobs."""

    jobs: list[Lease] = []
    commands: list[RunnerCommand] = []
    lost: list[str] = []


class Runners:
    """The runners of an organisation."""

    def __init__(
        self,
        database: Database,
        states: JobStates,
        notifier: JobNotifier,
        freezes: Freezes,
        *,
        longest_wait_s: float = 20,
        is_traced: bool = False,
    ) -> None:
        self._is_traced = is_traced
        self._freezes = freezes
        self._database = database
        self._states = states
        self._notifier = notifier
        self._longest_wait_s = longest_wait_s

    async def visible(self, principal: Principal) -> list[Runner]:
        """List the runners visible to a principal, latest contact first. Raise StoreUnavailable."""
        rows = row_scope(principal, "runners.read")
        async with self._database.transaction("runners cannot be read now; try again") as connection:
            return await store.find_runners(connection, principal.organisation, rows)

    async def poll(
        self,
        principal: Principal,
        runner_id: str,
        poll: Poll,
        has_left: Callable[[], Awaitable[bool]],
        *,
        arrived: float | None = None,
    ) -> PollAnswer:
        """Renew a runner's leases, and answer as soon as there are jobs, commands or losses.

        `has_left` returns whether the runner has disconnected or the server is stopping. `arrived` is the poll's
        arrival by the loop's clock. Raise Forbidden or StoreUnavailable.
        """
        require(principal, "jobs.run")
        began = asyncio.get_running_loop().time()
        ends = began + min(poll.wait_s, self._longest_wait_s)
        topics = [f"runner {principal.user}", *([f"team {principal.team}"] if poll.shared else [])]
        with StoreErrors(_AWAY), self._notifier.subscribe(*topics) as woken:
            if poll.active:
                await self._reconnect(principal, runner_id, poll)
            runner, lost, unlisted = await self._renew(principal, runner_id, poll)
            if await has_left():
                return PollAnswer()  # a newer poll has made this one obsolete
            for job in unlisted:
                await self._take_back(job, runner, began if arrived is None else arrived)
            while True:
                answer = await self._answer(runner, poll.slots, lost)
                left_s = ends - asyncio.get_running_loop().time()
                if answer.jobs or answer.commands or answer.lost or left_s <= 0:
                    return answer
                pause_s = left_s if self._notifier.listening else min(left_s, POLL_S)
                if await self._wait(woken, pause_s, has_left):
                    return PollAnswer()

    @staticmethod
    async def _wait(woken: asyncio.Event, seconds: float, has_left: Callable[[], Awaitable[bool]]) -> bool:
        """Wait with a timeout. Return whether the runner left meanwhile."""
        while not await wait(woken, min(LOOK_S, seconds)) and seconds > LOOK_S:
            if await has_left():
                return True
            seconds -= LOOK_S
        return await has_left()

    async def _reconnect(self, principal: Principal, runner_id: str, poll: Poll) -> None:
        """Return jobs to their reconnected runner, before it counts as alive and the sweeper takes expired leases."""
        claims = {(one.job, one.attempt, digest_of(one.token)) for one in poll.active}
        async with self._database.transaction() as connection:
            now = await clock.now(connection)
            held = await jobs.held_by(connection, principal.organisation, principal.user, runner_id)
        for job in held:
            if was_away(job, now) and (job.id, job.attempt, job.digest) in claims:
                await self._hear(job, poll.boot_id)

    async def _hear(self, job: Job, boot_id: str) -> None:
        """Return a job to its holder, unless it has ended or changed hands since it was read."""
        async with self._states.transaction() as transaction:
            now = await self._states.lock(transaction, job.id)
            if now is None or now.state not in ACTIVE_STATES:
                return
            if (now.attempt, now.digest) == (job.attempt, job.digest):
                await self._states.hear(transaction, transaction.change(now, boot_id=boot_id))

    async def _renew(self, principal: Principal, runner_id: str, poll: Poll) -> tuple[Runner, list[str], list[Job]]:
        """Store the runner and renew its leases. Return the runner, lost job ids, and its unlisted leased jobs."""
        async with clock.writing(self._database) as connection:
            now = await clock.now(connection)
            runner = Runner(
                organisation=principal.organisation,
                user=principal.user,
                id=runner_id,
                team=principal.team,
                boot_id=poll.boot_id,
                name=poll.name,
                version=poll.version,
                providers=poll.providers,
                workspaces=poll.workspaces,
                folders=poll.folders,
                slots=poll.slots,
                active=len(poll.active),
                shared=poll.shared,
                last_seen=now,
            )
            await store.put(connection, runner)
            await store.acknowledge(connection, runner, list(poll.acked_commands))
            leased = await jobs.held_by(connection, runner.organisation, runner.user, runner.id)
            current = {(job.id, job.attempt, job.digest) for job in leased}
            claims = [(one.job, one.attempt, digest_of(one.token)) for one in poll.active]
            renewed = [claim for claim in claims if claim in current]
            await jobs.renew(connection, renewed, runner.boot_id, now + LEASE)
            others = [claim for claim in claims if claim not in current]
            # A job's end may overtake a poll that still lists it. A job ended by its holder is not lost.
            ended = await jobs.ended_by(connection, others) if others else set()
        listed = {claim[0] for claim in renewed}
        lost = [one.job for one in poll.active if one.job not in listed | ended]
        return runner, lost, [job for job in leased if job.id not in listed and job.state != "queued"]

    async def _take_back(self, job: Job, runner: Runner, asked: float) -> None:
        """Take back a job unlisted by its runner at `asked`: its lease was not delivered, or its process ended.

        Several polls of one runner may be in flight, so a poll only counts for leases older than itself.
        """
        if job.state != "leased" and job.boot_id == runner.boot_id and job.disconnected_since is None:
            return  # its last events are on their way, or its lease will expire
        async with self._states.transaction() as transaction:
            # Measured next to `transaction.now`: the time to lock would make the poll seem older.
            moment = transaction.now - timedelta(seconds=asyncio.get_running_loop().time() - asked)
            now = await self._states.lock(transaction, job.id)
            if now is None or now.state not in LEASED_STATES or (now.attempt, now.digest) != (job.attempt, job.digest):
                return
            if (heard := last_heard(now)) is not None and heard >= moment:
                return  # leased or renewed after this poll was sent
            if now.state == "leased" and now.boot_id == runner.boot_id and not now.cancel_requested:
                await self._states.requeue(transaction, now, delivered=False)
            else:
                what = "no longer runs it" if now.boot_id == runner.boot_id else "was restarted"
                await self._states.lose(transaction, now, f"the runner `{runner.id}` {what}")

    async def _answer(self, runner: Runner, slots: int, lost: list[str]) -> PollAnswer:
        leases: list[Lease] = []
        async with self._database.transaction() as connection:
            commands = await store.commands(connection, runner)
            has_job = slots > 0 and await store.has_job_for(connection, runner, self._freezes.live())
        while has_job and len(leases) < slots:
            lease = await self._lease(runner)
            if lease is None:
                break
            leases.append(lease)
        return PollAnswer(jobs=leases, commands=commands, lost=lost)

    async def _lease(self, runner: Runner) -> Lease | None:
        token = secrets.token_hex(32)
        agent_token = agent_tokens.made()
        agent_digest = digest_of(agent_token)
        async with self._states.transaction() as transaction:
            connection, now = transaction.connection, transaction.now
            job = await store.lease_job(
                connection,
                runner,
                self._freezes.live(),
                digest=digest_of(token),
                agent_digest=agent_digest,
                now=now,
                lease=LEASE,
            )
            if job is None:
                return None
            transaction.agents_changed = True
            in_place = job.isolation == "in_place"
            folder = folder_of(runner, job.workspace) if in_place else ""
            begun = attempts.begun(job, now)
            job = transaction.change(job, folder=folder, waiting_for="", waiting_since=None, **begun)
            agent_session = job.agent_session
            if in_place and job.thread == CONTINUE and not agent_session:
                agent_session = await store.agent_session(connection, job)
            recap = await recap_of(connection, job)
            await self._states.announce_lease(transaction, job)
        return Lease(
            job=job,
            token=token,
            agent_session=agent_session,
            agent_token=agent_token,
            recap=recap,
            traceparent=traceparent_for_agent(job, is_traced=self._is_traced),
        )
