"""The runner: leases jobs by long poll, runs them, obeys commands, and drains. See `job` for one job."""

import asyncio
import contextlib
import json
import secrets
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any, TextIO

import msgspec

from baton.runner import config as configuration
from baton.runner import template, wire
from baton.runner.config import RunnerConfig
from baton.runner.home import Home
from baton.runner.job import RunningJob
from baton.runner.outbox import replay, waits
from baton.runner.spool import read_spools
from baton.runner.worktrees.result_actions import ActionOutcome, action_of, perform
from baton.runner.worktrees.results import Results
from baton.runner.worktrees.worktrees import Worktrees

# Terminal output: one updated line per job, and one line per event.

_WIDTH = 110


class TerminalProgress:
    """Writes to a terminal, with the jobs' lines at the bottom. Writes only events to a file."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self._live = out.isatty()
        self._shown = 0

    def say(self, text: str) -> None:
        """Write a permanent line."""
        with contextlib.suppress(OSError):  # a log on a full disk
            self._erase()
            self.out.write(f"{time.strftime('%H:%M:%S')}  {plain(text)}\n")
            self.out.flush()

    def show(self, jobs: Iterable[RunningJob]) -> None:
        """Update the lines of the running jobs."""
        if not self._live:
            return
        with contextlib.suppress(OSError):
            self._erase()
            lines = [line(job)[:_WIDTH] for job in jobs]
            self.out.write("".join(f"{one}\n" for one in lines))
            self.out.flush()
            self._shown = len(lines)

    def _erase(self) -> None:
        if self._shown:
            self.out.write(f"\x1b[{self._shown}F\x1b[J")
            self._shown = 0


def line(job: RunningJob) -> str:
    """Return a job's line: id, provider, workspace, age in seconds, number of events, activity."""
    lease = job.lease
    age = int(time.monotonic() - job.started)
    note = "waiting for disk" if job.waits_for_disk else plain(job.note)
    return f"  {lease.job[:12]}  {lease.provider} in {lease.workspace}  {age} s  {job.events} events  {note}"


def plain(text: str) -> str:
    """Replace control characters: an agent's text must not control the terminal."""
    return "".join(c if c.isprintable() else " " for c in text)


# Notifications of permission requests and ended jobs: on the desktop, or by the terminal's bell.

_LIMIT_S = 5.0
_LONGEST = 200


def desktop_notification(env: Mapping[str, str], title: str, text: str) -> list[str] | None:
    """Return the command that shows a notification on the desktop, None without one."""
    title, text, path = plain(title), plain(text)[:_LONGEST], env.get("PATH")
    if sys.platform == "darwin":
        script = f"display notification {json.dumps(text)} with title {json.dumps(title)}"
        return ["osascript", "-e", script] if shutil.which("osascript", path=path) else None
    has_desktop = any(env.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"))
    program = shutil.which("notify-send", path=path) if has_desktop else None
    return [program, "--app-name=Baton", "--", title, text] if program else None


class Notices:
    """Shows notifications in the background. Failures are ignored."""

    def __init__(self, env: Mapping[str, str], out: TextIO, *, on: bool) -> None:
        self._env = env
        self._out = out
        self._on = on
        self._showing: set[asyncio.Task[None]] = set()

    def show(self, title: str, text: str) -> None:
        """Show a notification, unless disabled."""
        if not self._on:
            return
        command = desktop_notification(self._env, title, text)
        if command is None:
            if self._out.isatty():
                self._out.write("\a")
                self._out.flush()
            return
        task = asyncio.create_task(self._run(command))
        self._showing.add(task)
        task.add_done_callback(self._showing.discard)

    async def _run(self, command: list[str]) -> None:
        quiet = asyncio.subprocess.DEVNULL
        try:
            process = await asyncio.create_subprocess_exec(
                *command, env=dict(self._env), stdin=quiet, stdout=quiet, stderr=quiet
            )
        except OSError:
            return
        try:
            await asyncio.wait_for(process.wait(), _LIMIT_S)
        except TimeoutError:
            process.kill()
            await process.wait()


VERSION = version("baton")
FULL_WAIT_S = 1  # timeout of polls without a free slot, in seconds. A slot may stay unused for this long.
_LAST_S = 3.0  # time for jobs' ends to reach the server on shutdown, in seconds. The disk keeps them longer.
_GOODBYE_S = 1.0


class JobRunner:
    """One runner of one person. `drain` lets running jobs end; a second call cancels them."""

    def __init__(
        self, config: RunnerConfig, link: wire.Link, home: Home, env: Mapping[str, str], progress: TerminalProgress
    ) -> None:
        self._config = config
        self._home = home
        self._env = env
        self._progress = progress
        self._notices = Notices(env, progress.out, on=config.notices)
        self._server = wire.ServerConnection(link, home.runner_id)
        self._worktrees = Worktrees(home.worktrees, keep=config.worktrees.keep, days=config.worktrees.days)
        self._boot = secrets.token_hex(8)
        self._jobs: dict[tuple[str, int], RunningJob] = {}
        self._running: dict[tuple[str, int], asyncio.Task[None]] = {}
        self._acked: list[str] = []
        self._using: set[asyncio.Task[None]] = set()
        self._result = asyncio.Lock()
        self._draining, self._hurrying = asyncio.Event(), asyncio.Event()
        self._heard = False

    def drain(self) -> None:
        """Lease no more jobs. The second call cancels running ones."""
        (self._hurrying if self._draining.is_set() else self._draining).set()

    async def run(self) -> None:
        """Run until drained. Raise Refused if the server refuses the first poll (token, server without runners)."""
        helpers = [asyncio.create_task(self._tick())]
        serving = asyncio.create_task(self._serve())
        asked = asyncio.create_task(self._draining.wait())
        try:
            await asyncio.wait({serving, asked}, return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                serving.result()
            await self._let_end()
        finally:
            unsent = [job.lease for job in self._jobs.values() if job.outbox.ended_stored and not job.is_lost]
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
            except (wire.ServerAway, wire.RequestRefused) as error:
                if isinstance(error, wire.RequestRefused) and not self._heard:
                    raise
                if str(error) != trouble:
                    trouble = str(error)
                    self._progress.say(f"{trouble}; retrying")
                await anext(pauses)
                continue
            pauses, trouble = waits(), ""
            if polled:
                self._take(polled)

    async def _poll(self) -> wire.PollReply | None:
        """Poll once. Return None if a drain started meanwhile.

        Polls are only abandoned for a drain: the server would treat an abandoned poll's list of jobs as the latest, and
        requeue jobs leased since.
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
        """Return the poll's timeout in seconds. The first poll returns at once, as feedback for the person."""
        return 0 if not self._heard else wire.WAIT_S if slots else FULL_WAIT_S

    def _slots(self) -> int:
        if self._draining.is_set() or any(job.waits_for_disk for job in self._jobs.values()):
            return 0  # new leases could only wait while the disk is full
        return max(self._config.slots - len(self._running), 0)

    def _providers(self) -> list[str]:
        return [name for name, one in self._config.providers.items() if configuration.program(one, self._env)]

    def _summary(self) -> str:
        return (
            f"{', '.join(self._providers()) or 'no provider'} in {', '.join(self._config.workspaces) or 'no workspace'}"
        )

    def _body(self, slots: int, wait_s: int, unsent: Sequence[wire.LeasedTask] = ()) -> dict[str, Any]:
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
            "folders": template.names((alias, self._config.folder(alias)) for alias in self._config.workspaces),
            "active": [{"job": one.job, "attempt": one.attempt, "token": one.token} for one in held],
            "acked_commands": list(self._acked),
        }

    def _take(self, polled: wire.PollReply) -> None:
        for lease in polled.jobs:
            self._begin(lease)
        for command in polled.commands:
            if command.id in self._acked:  # done, but its acknowledgement is in transit
                continue
            self._obey(command)
            self._acked.append(command.id)
        for (name, _), job in self._jobs.items():
            if name in polled.lost:
                job.stop("lost", "the server ended the lease")

    def _begin(self, lease: wire.LeasedTask) -> None:
        if not lease.workspace:
            lease = msgspec.structs.replace(lease, workspace=next(iter(self._config.workspaces), ""))
        key = (lease.job, lease.attempt)
        if key in self._jobs:
            return
        job = RunningJob(
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

    async def _run(self, key: tuple[str, int], job: RunningJob) -> None:
        lease = job.lease
        self._progress.say(f"{lease.job[:12]} started: {lease.provider} in {lease.workspace}")
        try:
            await job.run()
            self._tell(lease, f"{_outcome(job)} after {int(time.monotonic() - job.started)} s")
        finally:
            del self._jobs[key], self._running[key]

    def _tell(self, lease: wire.LeasedTask, text: str) -> None:
        self._progress.say(f"{lease.job[:12]} {text}")
        self._notices.show(f"{lease.provider} in {lease.workspace}", f"{lease.job[:12]} {text}")

    def _obey(self, command: wire.JobCommand) -> None:
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

    async def _use_result(self, command: wire.JobCommand) -> None:
        """Perform an action on a job's result, one at a time, and report it to the server with retries."""
        action = action_of(command.body)
        if action is None:
            outcome = ActionOutcome(
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
            except (wire.ServerAway, wire.RunnerTokenRefused):
                await anext(pauses)
            except (wire.LeaseRevoked, wire.RequestRefused) as error:
                self._progress.say(f"{command.job[:12]} the server rejects its outcome: {error}")
                return
            else:
                return

    async def _let_end(self) -> None:
        """Wait for running jobs, cancel them, and wait for their ends to be sent. Skip jobs waiting for the disk."""
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

    async def _goodbye(self, unsent: list[wire.LeasedTask]) -> None:
        """Report ended jobs to the server, except those with their end on disk: the next run sends it."""
        if self._heard:
            with contextlib.suppress(wire.ServerAway, wire.RequestRefused, TimeoutError):
                await asyncio.wait_for(self._server.poll(self._body(0, 0, unsent)), _GOODBYE_S)

    async def _tick(self) -> None:
        while True:
            self._progress.show(self._jobs.values())
            await asyncio.sleep(1)


def _outcome(job: RunningJob) -> str:
    if job.is_lost:
        return f"is no longer this runner's: {job.why}"
    if job.ended is None:
        return "ended"
    error = job.ended.error
    return f"{job.ended.state} ({error['code']}: {error['detail']})" if error else job.ended.state
