"""The worktree of one job: created or resumed, prepared, and its changes reported at the end."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from baton.runner.agents.updates import words
from baton.runner.config import RunnerConfig, Workspace
from baton.runner.wire import LeasedTask
from baton.runner.worktrees.preparation import copy_files, new_files, run_setup, said_of_copies
from baton.runner.worktrees.results import shown
from baton.runner.worktrees.worktrees import NoWorktree, Worktree, WorktreeChange, Worktrees

# The runner's own entries in a job's stream.

MOST_FILES = 100  # maximum number of files in a job's summary. All are counted.
_LONGEST_NAME = 200


def ended_setup(output: str, *, failed: bool) -> dict[str, object]:
    """Return the update that ends the setup of a worktree, with its output."""
    return {
        "sessionUpdate": "tool_call_update",
        "toolCallId": "setup",
        "status": "failed" if failed else "completed",
        "content": [{"type": "content", "content": {"type": "text", "text": output}}],
    }


def summary(change: WorktreeChange) -> dict[str, object]:
    """Return the summary of a change in the server's format."""
    files = [
        {
            "path": shown(file.path)[:_LONGEST_NAME],
            "change": file.change,
            "added": file.added,
            "deleted": file.deleted,
            "mode": file.mode,
        }
        for file in change.files[:MOST_FILES]
    ]
    return {
        "diff": change.diff,
        "truncated": change.truncated,
        "changed": len(change.files),
        "files": files,
        "notes": change.notes,
    }


Put = Callable[[str, dict[str, Any]], None]  # adds an event to the job


class JobWorktree:
    """The worktree of an attempt. `setup_s` is the duration of its setup, in seconds."""

    def __init__(self, lease: LeasedTask, config: RunnerConfig, worktrees: Worktrees, put: Put) -> None:
        self._lease = lease
        self._config = config
        self._worktrees = worktrees
        self._put = put
        self._tree: Worktree | None = None
        self.setup_s = 0.0

    async def begin(self, source: Path, env: Mapping[str, str], limit_s: float, stopping: asyncio.Event) -> Path:
        """Create and prepare the worktree. Return the agent's folder. Raise AgentError or NoWorktree.

        `env` and `limit_s` (seconds) are the setup's. `stopping` is set when the job is to stop.
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

    async def end(self, *, has_worked: bool) -> str:
        """Report the agent's changes, and release the worktree. Return why the changes are lost, or ""."""
        tree, lost = self._tree, ""
        if tree is None:
            return lost
        if has_worked:
            try:
                change = await self._worktrees.collect(tree, self._lease.job, self._lease.attempt)
            except NoWorktree as error:
                if not (tree.top.exists() and tree.git_dir.exists()):
                    lost = f"its worktree `{tree.top}` was removed while it ran; its changes are lost"
                self._say(lost or f"the job's changes could not be committed, and are only in `{tree.top}`: {error}")
            else:
                self._put("workspace.diff", summary(change))
        await self._worktrees.done(tree)
        return lost

    async def _made(self, workspace: Path) -> Worktree:
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
