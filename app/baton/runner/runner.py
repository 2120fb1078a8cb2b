"""The runner: leases jobs by one long poll, runs them, obeys commands, and drains. How one job runs is in `job`."""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any

import msgspec

from baton.runner import config as configuration
from baton.runner import folders
from baton.runner.config import RunnerConfig
from baton.runner.home import Home
from baton.runner.job import Job
from baton.runner.notices import Notices
from baton.runner.outbox import replay, waits
from baton.runner.progress import Progress
from baton.runner.spool import read_spools
from baton.runner.wire import (
    WAIT_S,
    Command,
    Lease,
    LeaseLost,
    Link,
    PollAnswer,
    Refused,
    Server,
    ServerAway,
    TokenRefused,
)
from baton.runner.worktrees.result_actions import Outcome, action_of, perform
from baton.runner.worktrees.results import Results
from baton.runner.worktrees.worktrees import Worktrees

VERSION = version("baton")
FULL_WAIT_S = 1
"""Longest poll while no slot is free, in seconds; a slot that becomes free may stay empty for so long."""
_LAST_S = 3.0
"""How long the ends of jobs may take to reach the server when the runner stops, in seconds; on the disk they wait longer."""
_GOODBYE_S = 1.0


class Runner:
    """One runner of one person. `drain` lets running jobs end; a second call cancels them."""

    def __init__(
        self, config: RunnerConfig, link: Link, home: Home, env: Mapping[str, str], progress: Progress
    ) -> None:
        self._config = config
        self._home = home
        self._env = env
        self._progress = progress
        self._notices = Notices(env, progress.out, on=config.notices)
        self._server = Server(link, home.runner_id)
        self._worktrees = Worktrees(home.worktrees, keep=config.worktrees.keep, days=config.worktrees.days)
        self._boot = secrets.token_hex(8)
        self._jobs: dict[tuple[str, int], Job] = {}
        self._running: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._acked: list[str] = []
        self._using: set[asyncio.Task[None]] = set()
        self._result = asyncio.Lock()
        self._draining, self._hurrying = asyncio.Event(), asyncio.Event()
        self._heard = False

    def drain(self) -> None:
        """Lease no more jobs; at the second call cancel those that run."""
        (self._hurrying if self._draining.is_set() else self._draining).set()

    async def run(self) -> None:
        """Run until drained.

        Raises:
            Refused: If the server refuses the first poll: a wrong token, or a server without runners.
        """
        helpers = [asyncio.create_task(self._tick())]
        serving = asyncio.create_task(self._serve())
        asked = asyncio.create_task(self._draining.wait())
        try:
            await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            await self._let_end()
        finally:
            unsent = [job.lease for job in self._jobs.values() if job.is_stored and not job.is_lost]
            tasks = (*helpers, serving, asked, *self._running.values(), *self._using)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await self._goodbye(unsent)
            await self._server.close()

    async def _serve(self) -> None:
        await self._worktrees.tidy()
        for path, spool in read_spools(self._home.spools):
            if spool is not None:
                self._progress.say(f"{spool.job[:12]} of an earlier run: sending its events")
                try:
                    became = await replay(self._server, spool)
                finally:
                    spool.close()
                self._progress.say(f"{spool.job[:12]} of an earlier run {became}")
            path.unlink(missing_ok=True)
        pauses, trouble = waits(), ""
        while True:
            try:
                polled = await self._poll()
            except (ServerAway, Refused) as error:
                if isinstance(error, Refused) and not self._heard:
                    raise
                if str(error) != trouble:
                    trouble = str(error)
                    self._progress.say(f"{trouble}; retrying")
                await anext(pauses)
                continue
            pauses, trouble = waits(), ""
            if polled:
                self._take(polled)

    async def _poll(self) -> PollAnswer | None:
        """Poll once; return None if a drain began meanwhile.

        Only then is a poll given up: a poll that still waits at the server would have its list of jobs taken for the newest,
        and jobs that were leased since would be queued again.
        """
        slots, acked = self._slots(), list(self._acked)
        polling = asyncio.create_task(self._server.poll(self._body(slots, self._wait_s(slots))))
        waiting = {polling} if self._draining.is_set() else {polling, asyncio.create_task(self._draining.wait())}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            if not polling.done():
                return None
            polled = polling.result()
        finally:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
        self._acked = [one for one in self._acked if one not in acked]
        if not self._heard:
            self._heard = True
            self._progress.say(f"runner {self._home.runner_id} serves {self._server.url}: {self._summary()}")
        return polled

    def _wait_s(self, slots: int) -> int:
        """Return how long to wait for an answer; the first poll does not wait, so that the person sees it answered."""
        return 0 if not self._heard else WAIT_S if slots else FULL_WAIT_S

    def _slots(self) -> int:
        if self._draining.is_set() or any(job.waits_for_disk for job in self._jobs.values()):
            return 0  # what is leased while the disk is full could only wait
        return max(self._config.slots - len(self._running), 0)

    def _providers(self) -> list[str]:
        return [name for name, one in self._config.providers.items() if configuration.program(one, self._env)]

    def _summary(self) -> str:
        return (
            f"{', '.join(self._providers()) or 'no provider'} in {', '.join(self._config.workspaces) or 'no workspace'}"
        )

    def _body(self, slots: int, wait_s: int, unsent: Sequence[Lease] = ()) -> dict[str, Any]:
        held = [*unsent, *(job.lease for job in self._jobs.values() if not job.is_lost)]
        return {
            "boot_id": self._boot,
            "name": self._config.name or self._home.host,
            "version": VERSION,
            "slots": slots,
            "wait_s": wait_s,
            "shared": self._config.share,
            "providers": self._providers(),
            "workspaces": list(self._config.workspaces),
            "folders": folders.names((alias, self._config.folder(alias)) for alias in self._config.workspaces),
            "active": [{"job": one.job, "attempt": one.attempt, "token": one.token} for one in held],
            "acked_commands": list(self._acked),
        }

    def _take(self, polled: PollAnswer) -> None:
        for lease in polled.jobs:
            self._begin(lease)
        for command in polled.commands:
            if command.id in self._acked:  # done, but the poll that said so is still on its way
                continue
            self._obey(command)
            self._acked.append(command.id)
        for (name, _), job in self._jobs.items():
            if name in polled.lost:
                job.stop("lost", "the server ended the lease")

    def _begin(self, lease: Lease) -> None:
        if not lease.workspace:
            lease = msgspec.structs.replace(lease, workspace=next(iter(self._config.workspaces), ""))
        key = (lease.job, lease.attempt)
        if key in self._jobs:
            return
        job = Job(
            lease,
            self._config,
            self._server,
            self._worktrees,
            self._home.spools,
            self._env,
            lambda text: self._progress.say(f"{lease.job[:12]} {text}"),
            lambda text: self._tell(lease, text),
        )
        self._jobs[key] = job
        self._running[key] = asyncio.create_task(self._run(key, job))

    async def _run(self, key: tuple[str, int], job: Job) -> None:
        lease = job.lease
        self._progress.say(f"{lease.job[:12]} started: {lease.provider} in {lease.workspace}")
        try:
            await job.run()
            self._tell(lease, f"{_outcome(job)} after {int(time.monotonic() - job.started)} s")
        finally:
            del self._jobs[key], self._running[key]

    def _tell(self, lease: Lease, text: str) -> None:
        """Print a line in the terminal, and show it as a notice to a person who is not at the terminal."""
        self._progress.say(f"{lease.job[:12]} {text}")
        self._notices.show(f"{lease.provider} in {lease.workspace}", f"{lease.job[:12]} {text}")

    def _obey(self, command: Command) -> None:
        if command.kind == "result":
            task = asyncio.create_task(self._use_result(command))
            self._using.add(task)
            task.add_done_callback(self._using.discard)
            return
        for (name, attempt), job in self._jobs.items():
            if name != command.job or (command.attempt and command.attempt != attempt):
                continue
            if command.kind == "permission":
                allow = command.body.get("answer") == "allow"
                if command.body.get("by") == "timeout" and command.id not in self._acked:
                    self._tell(job.lease, "nobody answered the question in time; it is denied")
                job.answer(str(command.body.get("permission", "")), allow=allow, by=str(command.body.get("by", "")))
            elif command.kind == "cancel":
                job.stop("cancel", "the server cancelled it")

    async def _use_result(self, command: Command) -> None:
        """Do something with a job's result, one at a time, and tell the server until it has heard it."""
        action = action_of(command.body)
        if action is None:
            outcome = Outcome(
                state="failed", code="unknown_action", detail=f"runner {VERSION} does not know this; update it"
            )
        else:
            async with self._result:
                outcome = await perform(Results(self._home.results), command.job, action, self._env)
            self._progress.say(f"{command.job[:12]} {action.verb}: {outcome.detail}")
        pauses = waits()
        while True:
            try:
                await self._server.report(command.job, command.id, msgspec.to_builtins(outcome))
            except (ServerAway, TokenRefused):
                await anext(pauses)
            except (LeaseLost, Refused) as error:
                self._progress.say(f"{command.job[:12]} the server refuses to hear of it: {error}")
                return
            else:
                return

    async def _let_end(self) -> None:
        """Wait for the running jobs, then cancel them, then give their ends time to arrive.

        Jobs that wait for the disk are not waited for.
        """
        if self._running:
            self._progress.say(
                f"stopping: {len(self._running)} running jobs have {self._config.drain_s:g} s to end; Ctrl-C again cancels them"
            )
        hurrying = asyncio.create_task(self._hurrying.wait())
        end = time.monotonic() + self._config.drain_s
        while self._running and not hurrying.done() and (rest := end - time.monotonic()) > 0:
            waiting = [job for job in self._jobs.values() if job.waits_for_disk]
            for job in waiting:
                job.stop("stopped", "the disk is full")
            if len(waiting) == len(self._running):
                break
            await asyncio.wait(
                {*self._running.values(), hurrying}, timeout=min(rest, 1), return_when=asyncio.FIRST_COMPLETED
            )
        hurrying.cancel()
        hears = any(not job.waits_for_disk for job in self._jobs.values())
        for job in self._jobs.values():
            job.stop("stopped")
        if self._running:
            limit_s = (self._config.cancel_grace_s if hears else 0) + _LAST_S
            await asyncio.wait(set(self._running.values()), timeout=limit_s)

    async def _goodbye(self, unsent: list[Lease]) -> None:
        """Report to the server what runs here no more, so that it need not wait for leases to expire.

        What is on the disk with its end is still this runner's: its next run sends it.
        """
        if self._heard:
            with contextlib.suppress(ServerAway, Refused, TimeoutError):
                await asyncio.wait_for(self._server.poll(self._body(0, 0, unsent)), _GOODBYE_S)

    async def _tick(self) -> None:
        while True:
            self._progress.show(self._jobs.values())
            await asyncio.sleep(1)


def _outcome(job: Job) -> str:
    if job.is_lost:
        return f"is no longer this runner's: {job.why}"
    if job.ended is None:
        return "ended"
    error = job.ended.error
    return f"{job.ended.state} ({error['code']}: {error['detail']})" if error else job.ended.state
