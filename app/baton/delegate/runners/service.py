"""The long poll of runners: heartbeat, lease and commands in one. It does not read what jobs tell: `job_reports` does."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from datetime import timedelta
from hashlib import sha256

import msgspec

from baton.delegate.core import runners_store as store
from baton.delegate.core import store as jobs
from baton.delegate.core.bell import POLL_S, Bell, wait
from baton.delegate.core.protocol import HELD
from baton.delegate.core.runners_store import Command, Runner
from baton.delegate.core.states import JobMachine
from baton.delegate.core.store import Job
from baton.engine.call.principal import Principal
from baton.kernel.base import clock
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.permissions import require
from baton.people.row_scope import row_scope

LEASE = timedelta(seconds=60)
ALIVE = timedelta(seconds=LEASE.total_seconds())
"""A runner that was not heard of for so long counts as gone."""
LOOK_S = 2.0
"""How often a poll that waits looks whether its runner is still there, in seconds."""
_AWAY = "the database is away; poll again"


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A job that a runner says it has, by the token of its lease."""

    job: str
    attempt: int
    token: str


class Poll(msgspec.Struct, frozen=True, kw_only=True):
    """What a runner says of itself. `slots` are free now; `wait_s` is how long it waits for news, in seconds."""

    boot_id: str
    name: str = ""
    version: str = ""
    slots: int
    wait_s: float = 20
    shared: bool = False
    providers: tuple[str, ...] = ()
    workspaces: tuple[str, ...] = ()
    active: tuple[Held, ...] = ()
    acked_commands: tuple[str, ...] = ()


class Lease(msgspec.Struct, frozen=True, kw_only=True):
    """A job in a runner's hands, with the token that proves it."""

    job: Job
    token: str
    agent_session: str


class News(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a poll."""

    jobs: list[Lease] = []
    commands: list[Command] = []
    lost: list[str] = []


class Runners:
    """The runners of an organisation."""

    def __init__(self, database: Database, machine: JobMachine, bell: Bell, *, longest_wait_s: float = 20) -> None:
        self._database = database
        self._machine = machine
        self._bell = bell
        self._longest_wait_s = longest_wait_s

    async def find(self, principal: Principal) -> list[Runner]:
        """List the runners that a principal may see, the one heard of last first.

        Raises:
            StoreUnavailable: the database is away.
        """
        theirs = row_scope(principal, "runners.read")
        try:
            async with self._database.transaction() as connection:
                return await store.find(connection, principal.organisation, theirs)
        except DatabaseUnavailable:
            raise StoreUnavailable("runners cannot be read now; try again") from None

    async def poll(
        self,
        principal: Principal,
        runner_id: str,
        poll: Poll,
        gone: Callable[[], Awaitable[bool]],
        *,
        arrived: float | None = None,
    ) -> News:
        """Renew a runner's leases, and give it jobs and commands as soon as there are some; `gone` tells that it left.

        `arrived` is when the poll came, by the loop's clock; now if it is not given.

        Raises:
            Forbidden: the role runs no jobs.
            StoreUnavailable: the database is away.
        """
        require(principal, "jobs.run")
        began = asyncio.get_running_loop().time()
        ends = began + min(poll.wait_s, self._longest_wait_s)
        topics = [f"runner {principal.user}", *([f"team {principal.team}"] if poll.shared else [])]
        try:
            with self._bell.heard(*topics) as rang:
                runner, lost, missing = await self._beat(principal, runner_id, poll)
                if await gone():
                    return News()  # it has asked anew since: what this poll lists is no longer all that it has
                for job in missing:
                    await self._left(job, runner, began if arrived is None else arrived)
                while True:
                    news = await self._news(runner, poll.slots, lost)
                    left = ends - asyncio.get_running_loop().time()
                    if news.jobs or news.commands or news.lost or left <= 0:
                        return news
                    if await self._left_waiting(rang, left if self._bell.listening else min(left, POLL_S), gone):
                        return News()
        except DatabaseUnavailable:
            raise StoreUnavailable(_AWAY) from None

    @staticmethod
    async def _left_waiting(rang: asyncio.Event, seconds: float, gone: Callable[[], Awaitable[bool]]) -> bool:
        """Wait for news, at most so long; tell whether the runner left meanwhile."""
        while not await wait(rang, min(LOOK_S, seconds)) and seconds > LOOK_S:
            if await gone():
                return True
            seconds -= LOOK_S
        return await gone()

    async def _beat(self, principal: Principal, runner_id: str, poll: Poll) -> tuple[Runner, list[str], list[Job]]:
        """Note the runner and renew what it holds; give what it has lost, and what it should hold and does not list."""
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
                slots=poll.slots,
                active=len(poll.active),
                shared=poll.shared,
                last_seen=now,
            )
            await store.put(connection, runner)
            await store.acknowledge(connection, runner, list(poll.acked_commands))
            held = await jobs.held_by(connection, runner.organisation, runner.user, runner.id)
            current = {(job.id, job.attempt, job.digest) for job in held}
            shown = [(one.job, one.attempt, digest_of(one.token)) for one in poll.active]
            kept = [one for one in shown if one in current]
            await jobs.renew(connection, kept, runner.boot_id, now + LEASE)
        listed = {one[0] for one in kept}
        lost = [one.job for one in poll.active if one.job not in listed]
        return runner, lost, [job for job in held if job.id not in listed]

    async def _left(self, job: Job, runner: Runner, asked: float) -> None:
        """Take a job back that its runner did not have when it `asked`: the lease never came, or its process is gone."""
        if job.state != "leased" and job.boot_id == runner.boot_id:
            return  # its last events are on their way, or its lease runs out
        async with self._machine.work() as work:
            now = await self._machine.lock(work, job.id)
            if now is None or now.state not in HELD or (now.attempt, now.digest) != (job.attempt, job.digest):
                return
            moment = work.now - timedelta(seconds=asyncio.get_running_loop().time() - asked)
            if now.lease_until is not None and now.lease_until - LEASE >= moment:
                return  # whoever has it was given it, or heard of, after this runner asked
            if now.state == "leased" and now.boot_id == runner.boot_id and not now.cancel_requested:
                await self._machine.requeue(work, now, delivered=False)
            else:
                await self._machine.lose(work, now, f"the runner `{runner.id}` was started anew")

    async def _news(self, runner: Runner, slots: int, lost: list[str]) -> News:
        taken: list[Lease] = []
        async with self._database.transaction() as connection:
            commands = await store.commands(connection, runner)
            waits = slots > 0 and await store.something_waits(connection, runner)
        while waits and len(taken) < slots:
            lease = await self._take(runner)
            if lease is None:
                break
            taken.append(lease)
        return News(jobs=taken, commands=commands, lost=lost)

    async def _take(self, runner: Runner) -> Lease | None:
        token = secrets.token_hex(32)
        async with self._machine.work() as work:
            job = await store.take(work.connection, runner, digest=digest_of(token), now=work.now, lease=LEASE)
            if job is None:
                return None
            agent_session = job.agent_session
            if job.isolation == "in_place" and not agent_session:
                agent_session = await store.agent_session(work.connection, job)
            self._machine.leased(work, job)
        return Lease(job=job, token=token, agent_session=agent_session)


def digest_of(token: str) -> str:
    """Give what is kept of a lease's token."""
    return sha256(token.encode()).hexdigest()
