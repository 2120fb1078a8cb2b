"""Prepares a new worktree: copies untracked files into it, and runs its setup."""

import asyncio
import contextlib
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from baton.runner.agents.driving import AgentError
from baton.runner.agents.process import ProcessTree
from baton.runner.config import Workspace
from baton.runner.worktrees.git import GitError, git
from baton.runner.worktrees.worktrees import NoWorktree, Worktree

MOST_COPIED = 2_000  # maximum number of copied files
MOST_COPIED_BYTES = 256 * 1024 * 1024
LONGEST_OUTPUT = 16_000  # maximum kept size of a setup's output, in bytes
_MOST_NAMED = 5
_READ_S = 2.0
_LAST_LINES = 1_500  # maximum length of a failed setup's output in its error, in characters


class SetupOutput(msgspec.Struct, frozen=True, kw_only=True):
    """The end of a setup's output, its exit status (None if it was ended), and its duration in seconds."""

    text: str
    status: int | None
    took_s: float

    def failure(self, command: str, *, timed_out: bool) -> AgentError | None:
        """Return why the setup failed, or None."""
        if self.status == 0:
            return None
        how = f"did not end within {self.took_s:.0f} s" if timed_out else f"ended with {self.status}"
        code, last = "setup_timeout" if timed_out else "setup_failed", self.text[-_LAST_LINES:].strip()
        return AgentError(code, f"`{command}` {how}: {last}", self.text)


async def copy_files(workspace: Workspace, source: Path, tree: Worktree) -> tuple[list[str], list[str]]:
    """Copy the files of a workspace's `copy`. Return their paths, and notes on skipped ones. Raise NoWorktree."""
    if not workspace.copy:
        return [], []
    # Tracked files are already in the worktree, in the state chosen by `worktrees.uncommitted`.
    try:
        printed = await git(tree.top, "ls-files", "-z")
    except GitError as error:
        raise NoWorktree(str(error)) from None
    known = {os.fsdecode(name) for name in printed.split(b"\0")}
    return await asyncio.to_thread(_copy_all, workspace, source, tree, known)


def _copy_all(workspace: Workspace, source: Path, tree: Worktree, known: set[str]) -> tuple[list[str], list[str]]:
    copied: list[str] = []
    notes: list[str] = []
    size = 0
    for pattern in workspace.copy:
        found = False
        for path in _files(source, pattern):
            found = True
            name = path.relative_to(source)
            inside = str((tree.folder / name).relative_to(tree.top))
            if inside in known or inside in copied:
                continue
            real, target = path.resolve(), tree.folder / name
            # Never write through the worktree's links: they are the repository's, not the person's.
            if not (_is_below(real, source) and _makes_folders(target, tree.folder)):
                notes.append(f"`{name}` leads out of the workspace and was not copied")
                continue
            size += real.stat().st_size
            if size > MOST_COPIED_BYTES or len(copied) == MOST_COPIED:
                raise NoWorktree(
                    f"`copy` matches more than {MOST_COPIED} files or {MOST_COPIED_BYTES >> 20} MiB;"
                    " create large files with `setup`"
                )
            try:
                shutil.copy2(real, target, follow_symlinks=False)
            except OSError as error:
                raise NoWorktree(f"`{name}` cannot be copied into the worktree: {error}") from None
            copied.append(inside)
        if not found:
            notes.append(f"`copy` names `{pattern}`, but no file matches")
    return copied, notes


def _files(source: Path, pattern: str) -> list[Path]:
    """List the files of a glob, including those in matching folders, without git's own."""
    files: list[Path] = []
    for path in sorted(source.glob(pattern)):
        below = [path]
        if path.is_dir() and not path.is_symlink():
            below = [Path(top) / name for top, _, names in os.walk(path) for name in sorted(names)]
        files += [one for one in below if one.is_file() and ".git" not in one.relative_to(source).parts]
        if len(files) > 2 * MOST_COPIED:
            break  # too many: the caller refuses them
    return files


def _is_below(real: Path, source: Path) -> bool:
    return real.is_relative_to(source) and ".git" not in real.relative_to(source).parts


def _makes_folders(target: Path, top: Path) -> bool:
    """Create a file's folders in a worktree. Return whether all are inside it and the file is not a link."""
    folder = top.resolve()
    for part in target.parent.relative_to(top).parts:
        folder /= part
        if folder.is_symlink():
            return False
        folder.mkdir(exist_ok=True)
    return not target.is_symlink()


async def run_setup(
    workspace: Workspace, folder: Path, env: Mapping[str, str], limit_s: float, stopping: asyncio.Event
) -> tuple[SetupOutput, bool]:
    """Run a workspace's setup until its end, a stop, or its timeout. Return its output, and whether it timed out."""
    began = time.monotonic()
    tree = await ProcessTree.start(["/bin/sh", "-c", f"exec 2>&1\n{workspace.setup}"], cwd=folder, env=env)
    with contextlib.suppress(OSError):
        tree.stdin.close()
    kept = bytearray()

    async def read() -> None:
        while data := await tree.stdout.read(65_536):
            kept.extend(data)
            del kept[:-LONGEST_OUTPUT]

    reading = asyncio.create_task(read())
    ending, stopped = asyncio.create_task(tree.exited()), asyncio.create_task(stopping.wait())
    try:
        limit = min(limit_s, workspace.setup_timeout_s)
        await asyncio.wait({ending, stopped}, timeout=limit, return_when=asyncio.FIRST_COMPLETED)
        status = ending.result() if ending.done() else None
        timed_out = not ending.done() and not stopped.done()
    finally:
        await tree.end()
        # A process outside the group may hold the pipe, unknown to the supervisor.
        await asyncio.wait({reading}, timeout=_READ_S)
        for task in (reading, ending, stopped):
            task.cancel()
        await asyncio.gather(reading, ending, stopped, return_exceptions=True)
    text = kept.decode("utf-8", "replace")
    return SetupOutput(text=text, status=status, took_s=time.monotonic() - began), timed_out


async def new_files(tree: Worktree) -> list[str]:
    """List a worktree's untracked paths. A new folder is one path."""
    try:
        printed = await git(tree.top, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal")
    except GitError as error:
        raise NoWorktree(str(error)) from None
    return [os.fsdecode(entry[3:]).rstrip("/") for entry in printed.split(b"\0") if entry.startswith(b"??")]


def said_of_copies(copied: list[str], notes: list[str]) -> str:
    """Describe the copied and skipped files in one line, or return ""."""
    named = ", ".join(f"`{name}`" for name in copied[:_MOST_NAMED])
    more = f" and {len(copied) - _MOST_NAMED} more" if len(copied) > _MOST_NAMED else ""
    texts = [f"copied {named}{more}"] if copied else []
    return "; ".join([*texts, *notes[:_MOST_NAMED]])
