"""The worktree of one job: made or taken up, prepared for the agent, and its changes reported when the agent has ended."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from baton.runner.agents.updates import words
from baton.runner.config import RunnerConfig, Workspace
from baton.runner.wire import Lease
from baton.runner.worktrees.job_updates import ended_setup, summary
from baton.runner.worktrees.preparation import copy_files, new_files, run_setup, said_of_copies
from baton.runner.worktrees.worktrees import NoWorktree, Worktree, Worktrees

Put = Callable[[str, dict[str, Any]], None]
"""Adds an event to the job."""


class JobWorktree:
    """The worktree of an attempt; `setup_s` is how long its setup took, in seconds."""

    def __init__(self, lease: Lease, config: RunnerConfig, worktrees: Worktrees, put: Put) -> None:
        self._lease = lease
        self._config = config
        self._worktrees = worktrees
        self._put = put
        self._tree: Worktree | None = None
        self.setup_s = 0.0

    async def begin(self, source: Path, env: Mapping[str, str], limit_s: float, stopping: asyncio.Event) -> Path:
        """Make the worktree and prepare it; return the folder in which the agent starts.

        Args:
            source: The workspace's own folder.
            env: The environment of the workspace's setup.
            limit_s: Longest time of the setup, in seconds.
            stopping: Set when the job is to stop.

        Raises:
            AgentError: If the setup fails, or takes too long.
            NoWorktree: If git cannot make the worktree, or the files cannot be copied.
        """
        self._tree = tree = await self._made(source)
        if tree.note:
            self._say(tree.note)
        workspace = self._config.workspace(self._lease.workspace)
        if tree.is_new and workspace is not None:
            copied, notes = await copy_files(workspace, source, tree)
            if said := said_of_copies(copied, notes):
                self._say(said)
            made = await self._set_up(workspace, tree, env, limit_s, stopping)
            left_out = tuple(dict.fromkeys((*tree.left_out, *copied, *made)))
            self._tree = msgspec.structs.replace(tree, left_out=left_out)
        return tree.folder

    async def end(self, *, has_worked: bool) -> None:
        """Report what the agent changed, if it was started, and release the worktree."""
        tree = self._tree
        if tree is None:
            return
        if has_worked:
            try:
                change = await self._worktrees.collect(tree, self._lease.job, self._lease.attempt)
            except NoWorktree as error:
                self._say(f"what the job changed could not be kept as a commit, and is in `{tree.top}` only: {error}")
            else:
                self._put("workspace.diff", summary(change))
        await self._worktrees.done(tree)

    async def _made(self, workspace: Path) -> Worktree:
        """Return the worktree of the job whose thread this one continues, else a new one."""
        lease = self._lease
        name, why = f"{lease.job}.{lease.attempt}", ""
        if lease.thread not in {"continue", "fresh"}:
            tree = await self._worktrees.take_up(workspace, name, lease.thread)
            if tree is not None:
                return tree
            why = (
                "the changes of the job before are discarded, too old, or were made in place: this one begins"
                " at the last commit"
            )
        tree = await self._worktrees.make(workspace, name, self._config.worktrees.uncommitted)
        return msgspec.structs.replace(tree, note="; ".join(filter(None, (why, tree.note))))

    async def _set_up(
        self, workspace: Workspace, tree: Worktree, env: Mapping[str, str], limit_s: float, stopping: asyncio.Event
    ) -> list[str]:
        """Run the workspace's setup, if it has one, and return the new files that it made."""
        if not workspace.setup or stopping.is_set():
            return []
        command = workspace.setup.strip()
        call = {"sessionUpdate": "tool_call", "toolCallId": "setup", "title": f"setup: {command}", "kind": "execute"}
        self._put("session.update", {"update": call | {"status": "in_progress"}})
        output, timed_out = await run_setup(workspace, tree.folder, env, limit_s, stopping)
        self.setup_s = output.took_s
        failure = None if stopping.is_set() else output.failure(command, timed_out=timed_out)
        self._put("session.update", {"update": ended_setup(output.text, failed=output.status != 0)})
        if failure:
            raise failure
        return await new_files(tree)

    def _say(self, text: str) -> None:
        self._put("session.update", {"update": words(text)})
