"""Runs one attempt of one job, from its lease until the server has its end."""

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import msgspec

from baton.runner import wire
from baton.runner.agents.acp_driver import AcpDriver
from baton.runner.agents.claude_print import ClaudePrint
from baton.runner.agents.codex_server import CodexServer
from baton.runner.agents.driving import NO_THREAD, AgentDriver, AgentError, AgentRun, ThreadLost, with_recap
from baton.runner.agents.process import ProcessTree
from baton.runner.agents.updates import AgentAnswer, text_of, tool_server, words
from baton.runner.config import Provider, RunnerConfig
from baton.runner.environment import environment
from baton.runner.outbox import JobOutbox, waits
from baton.runner.permissions import Permissions
from baton.runner.spool import AttemptSpool
from baton.runner.worktrees.job_worktree import JobWorktree
from baton.runner.worktrees.worktrees import NoWorktree, Worktrees

DRIVERS: dict[str, type[AgentDriver]] = {"acp": AcpDriver, "claude-print": ClaudePrint, "codex-server": CodexServer}
LOOK_S = 1.0  # maximum interval of time limit checks, in seconds. A longer one would hide sleep.
SLEPT_S = 5.0  # minimum excess of a wait that indicates sleep of the machine, in seconds
Stop = Literal["cancel", "lost", "stopped", "refused"]


class RunningJob:
    """A running job. `note` is its activity, `ended` its end, `why` the reason of its stop."""

    def __init__(
        self,
        lease: wire.LeasedTask,
        config: RunnerConfig,
        server: wire.ServerConnection,
        worktrees: Worktrees,
        spools: Path,
        env: Mapping[str, str],
        say: Callable[[str], None] = lambda _text: None,
        ask: Callable[[str], None] = lambda _text: None,
    ) -> None:
        self.lease = lease
        self.events = 0
        self.note = "starting"
        self.started = time.monotonic()
        self.ended: wire.JobEnd | None = None
        self._config = config
        self._server = server
        self._worktrees = worktrees
        self._env = env
        self._say, self._on_ask = say, ask
        self.outbox = JobOutbox(
            server,
            AttemptSpool(spools, lease.job, lease.attempt, lease.token),
            lambda: self.stop("cancel", "the server cancelled it"),
            self._on_disk,
        )
        self._permissions: Permissions | None = None
        self._early: list[tuple[str, bool]] = []
        self._answer = AgentAnswer()
        self._usage: dict[str, float] = {}
        self._stop: Stop | None = None
        self._stopping = asyncio.Event()
        self._setup_s = 0.0
        self._last_sign = time.monotonic()
        self.why = ""

    @property
    def is_lost(self) -> bool:
        """Whether the job's lease is lost."""
        return self._stop == "lost"

    @property
    def waits_for_disk(self) -> bool:
        """Whether the disk currently refuses the job's events."""
        return self.outbox.trouble != ""

    def stop(self, how: Stop, why: str = "") -> None:
        """Stop the job: cancel the agent, or end it at once for a lost lease. The first cause or a lost lease wins."""
        if self._stop is None or how == "lost":
            self._stop, self.why = how, why
            self._stopping.set()

    def answer(self, permission: str, *, allow: bool, by: str) -> None:
        """Pass an answer to a permission request to the agent. `by` is `user` for a person's."""
        allow = allow and (by == "user" or self._config.confirm == "by-rules")
        if self._permissions:
            self._permissions.answer(permission, allow=allow)
        else:
            self._early.append((permission, allow))

    async def run(self) -> None:
        """Run the agent and send everything to the server. Afterwards no process of the agent remains."""
        outbox = self.outbox
        sending = asyncio.create_task(outbox.run())
        sending.add_done_callback(self._sent)
        try:
            self.ended = await self._ended(outbox)
            outbox.end(self.ended)
            self.note = "sending the end"
            await sending
        except (wire.LeaseRevoked, wire.RequestRefused):
            await self._offer(self.ended)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)

    def _sent(self, sending: "asyncio.Task[None]") -> None:
        if not sending.cancelled() and isinstance(
            error := sending.exception(), wire.LeaseRevoked | wire.RequestRefused
        ):
            self.stop("lost" if isinstance(error, wire.LeaseRevoked) else "refused", str(error))

    async def _offer(self, ended: wire.JobEnd | None) -> None:
        """Send only the end, after the events were refused: the server stores late results, too."""
        if ended:
            with contextlib.suppress(wire.LeaseRevoked, wire.RequestRefused, wire.ServerAway):
                lease = {"attempt": self.lease.attempt, "token": self.lease.token}
                await self._server.post(self.lease.job, {**lease, "events": [], "finish": ended})

    async def _ended(self, outbox: JobOutbox) -> wire.JobEnd:
        tree = JobWorktree(self.lease, self._config, self._worktrees, outbox.put)
        has_worked = False
        try:
            provider, folder = self._checked()
            if not await self._until_stored():
                return self._told("cancelled")
            if self.lease.isolation == "worktree":
                self.note = "making a worktree"
                env = environment(self._env, self.lease.provider, provider, self._config.env_pass)
                limit = min(self.lease.timeout_s, provider.max_timeout_s)
                folder = await tree.begin(folder, env, limit, self._stopping)
                self._setup_s = tree.setup_s
            has_worked = not self._stop
            ended = self._told(await self._work(provider, folder, outbox) if has_worked else "cancelled")
        except AgentError as error:
            self._answer.add(error.output)
            ended = self._failed(error.code, str(error))
        except NoWorktree as error:
            ended = self._failed("no_worktree", str(error))
        except OSError as error:
            ended = self._failed("cannot_start", str(error))
        except Exception as error:  # noqa: BLE001 - a bug of ours must not leave a job without an end
            ended = self._failed("runner_fault", f"{type(error).__name__}: {error}")
        lost = await tree.end(has_worked=has_worked)
        return self._failed("worktree_removed", lost) if lost and ended.state == "completed" else ended

    async def _until_stored(self) -> bool:
        """Wait until the attempt is on disk. Return False if it was stopped before."""
        waiting = {asyncio.create_task(self.outbox.stored.wait()), asyncio.create_task(self._stopping.wait())}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in waiting:
                task.cancel()
        return not self._stopping.is_set()

    def _on_disk(self, trouble: str) -> None:
        self._say(f"waits for disk: {trouble}" if trouble else "continues: the disk has space again")

    def _checked(self) -> tuple[Provider, Path]:
        lease, config = self.lease, self._config
        provider, folder = config.providers.get(lease.provider), config.folder(lease.workspace)
        if provider is None:
            raise AgentError("unknown_provider", f"this runner has no provider `{lease.provider}`")
        if folder is None:
            raise AgentError("unknown_workspace", f"this runner has no workspace `{lease.workspace}`")
        if lease.model and provider.models and lease.model not in provider.models:
            allowed = ", ".join(f"`{model}`" for model in provider.models)
            raise AgentError(
                "model_not_allowed", f"`{lease.provider}` may not use `{lease.model}` here; allowed: {allowed}"
            )
        return provider, folder

    async def _work(self, provider: Provider, folder: Path, outbox: JobOutbox) -> str:
        lease = self.lease
        self._permissions = Permissions(folder, self._ask, confirm=self._config.confirm)
        for permission, allow in self._early:
            self._permissions.answer(permission, allow=allow)
        given = {name: getattr(lease, name) for name in wire.AgentTask.__struct_fields__}
        env = environment(
            self._env,
            lease.provider,
            provider,
            self._config.env_pass,
            thinking_tokens=lease.thinking_budget or 0,
            agent_token=lease.agent_token,
            traceparent=lease.traceparent,
        )
        task = AgentRun(**given, folder=folder, tools=tool_server(lease, env) if lease.agent_type else None)
        env |= {"BATON_JOB": lease.job}
        try:
            return await self._drive(provider, task, env, outbox)
        except ThreadLost:
            if task.recap:
                outbox.put("session.update", {"update": words(NO_THREAD)})
            again = msgspec.structs.replace(task, agent_session="", prompt=with_recap(task))
            return await self._drive(provider, again, env, outbox)

    async def _drive(self, provider: Provider, task: AgentRun, env: Mapping[str, str], outbox: JobOutbox) -> str:
        lease = self.lease

        def tell(kind: str, body: dict[str, object]) -> None:
            self.events += 1
            self._last_sign = time.monotonic()
            update = body.get("update")
            if isinstance(update, dict):
                self._answer.add(text_of(update))
                self.note = str(update.get("title") or "") or ("answering" if text_of(update) else self.note)
            outbox.put(kind, body)

        assert self._permissions is not None  # noqa: S101 - set by the caller
        driver = DRIVERS[provider.driver](provider, task, self._permissions, tell)
        self.note = f"starting {provider.command[0]}"
        tree = await ProcessTree.start(driver.command(), cwd=task.folder, env=env)
        outbox.listen_by(tree.listen)
        working = asyncio.create_task(driver.work(tree))
        try:
            limit = min(lease.timeout_s, provider.max_timeout_s)
            await self._until_end(working, driver, limit, self._setup_s)
        finally:
            with contextlib.suppress(OSError):
                await driver.close()
            await tree.end()
            self._usage = driver.usage
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)
        if self._stop and (working.cancelled() or working.exception() or working.result() != "end_turn"):
            return "cancelled"
        if working.cancelled():
            raise AgentError("timeout", f"it did not end within {limit:g} s")
        if isinstance(working.exception(), ConnectionError):
            code = tree.process.returncode
            raise AgentError("agent_died", f"the agent ended with {code}: {tree.last_words or working.exception()}")
        return working.result()

    async def _until_end(self, working: "asyncio.Task[str]", driver: AgentDriver, limit: float, spent: float) -> None:
        """Wait for the agent's end, a stop or a time limit (partly spent). Then give it time to obey the cancel."""
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            late = await self._until_late({working, stopping}, limit, spent)
            if working.done() or self._stop == "lost":
                return
            self.note = "cancelling"
            if not self.waits_for_disk:  # nobody would receive the agent's answer
                await driver.cancel()
                await asyncio.wait({working}, timeout=self._config.cancel_grace_s)
            if late and not self._stop:
                raise late
        finally:
            stopping.cancel()

    async def _until_late(self, waited: "set[asyncio.Task[Any]]", limit: float, spent: float) -> AgentError | None:
        """Wait for the first of these tasks. Return the error of a time limit that passed before, or None."""
        silence, end = self.lease.inactivity_timeout_s or math.inf, time.monotonic() + limit - spent
        self._last_sign, held_s = time.monotonic(), self.outbox.waited_s
        while True:
            now = time.monotonic()
            if (paused := self.outbox.waited_s - held_s) > 0:  # the disk was full, so the agent was blocked
                end, self._last_sign, held_s = end + paused, self._last_sign + paused, held_s + paused
            if now >= end:
                return AgentError("timeout", f"it did not end within {limit:g} s")
            if self._permissions is not None:  # an agent that waits for an answer has no output
                self._last_sign = max(self._last_sign, self._permissions.last_wait())
            left = min(end, self._last_sign + silence) - now
            if left <= 0:
                return AgentError("inactive", f"it had no output for {silence:g} s (`inactivity_timeout_s`)")
            step = min(left, LOOK_S)
            done, _ = await asyncio.wait(waited, timeout=step, return_when=asyncio.FIRST_COMPLETED)
            if done:
                return None
            slept = time.monotonic() - now - step
            if slept > SLEPT_S and not self.waits_for_disk:  # this process was suspended, and so was the agent
                end, self._last_sign = end + slept, self._last_sign + slept

    async def _ask(self, request: dict[str, object]) -> wire.PermissionReply:
        lease = self.lease
        asked = request | {"confirm": self._config.confirm}
        body = {"attempt": lease.attempt, "token": lease.token, "request": asked}
        pauses, self.note = waits(), f"asking: {request['title']}"
        while True:
            try:
                answer = await self._server.ask(lease.job, body)
            except (wire.ServerAway, wire.RunnerTokenRefused):
                await anext(pauses)
            except wire.LeaseRevoked as error:
                self.stop("lost", str(error))
                return wire.PermissionReply(answer="deny", reason=str(error))
            except wire.RequestRefused as error:
                return wire.PermissionReply(answer="deny", reason=str(error))
            else:
                if answer.answer == "pending":
                    self._on_ask(f"asks for permission: {request['title']}")
                return answer

    def _told(self, stopped: str) -> wire.JobEnd:
        output = self._answer.text()
        if self._stop == "refused":
            return self._failed("events_refused", self.why)
        if self._stop and stopped != "end_turn":  # otherwise it completed before it could obey the stop
            error = {"code": "runner_stopped", "detail": "the runner was stopped"} if self._stop == "stopped" else None
            return wire.JobEnd(state="cancelled", output=output, usage=self._usage, error=error)
        if stopped == "end_turn":
            return wire.JobEnd(state="completed", output=output, usage=self._usage)
        if stopped == "cancelled":
            return wire.JobEnd(state="cancelled", output=output, usage=self._usage)
        return self._failed(stopped, f"the agent stopped early: {stopped}")

    def _failed(self, code: str, detail: str) -> wire.JobEnd:
        output = self._answer.text()
        if self._stop and self._stop != "refused":
            return wire.JobEnd(state="cancelled", output=output, usage=self._usage)
        error = {"code": code, "detail": detail[:4_000]}
        return wire.JobEnd(state="failed", output=output, usage=self._usage, error=error)
