"""A git worktree for each attempt of a job with `isolation: worktree`: made, compared, kept for a while."""

import asyncio
import contextlib
import os
import shutil
import time
from pathlib import Path

import msgspec

LARGEST_DIFF = 96 * 1024
"""Longest difference that is sent, in bytes; the whole of it stays in the worktree."""
_GIT = ("git", "-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false", "-c", "gc.auto=0")
_DAY_S = 86_400


class NoWorktree(Exception):
    """There is no worktree for the workspace; the text is git's."""


class Worktree(msgspec.Struct, frozen=True):
    """A worktree: its top, the folder in it that stands for the workspace, and the commit at which it began."""

    top: Path
    folder: Path
    base: str


class Worktrees:
    """All worktrees of this runner, in one folder, named by job and attempt."""

    def __init__(self, home: Path, *, keep: int, days: int) -> None:
        self._home = home
        self._keep = keep
        self._age_s = days * _DAY_S
        self._busy: set[Path] = set()
        self._one = asyncio.Lock()

    async def make(self, workspace: Path, name: str) -> Worktree:
        """Make a worktree at the workspace's current commit; what is not committed there is not in it.

        Raises:
            NoWorktree: If the workspace is not in a git repository with a commit.
        """
        top = self._home / name
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        base = (await _git(workspace, "rev-parse", "--verify", "HEAD^{commit}")).strip()
        prefix = (await _git(workspace, "rev-parse", "--show-prefix")).strip()
        async with self._one:
            await _git(workspace, "worktree", "add", "--detach", "--quiet", str(top), base)
        self._busy.add(top)
        folder = top / prefix
        folder.mkdir(parents=True, exist_ok=True)
        return Worktree(top, folder, base)

    async def difference(self, tree: Worktree) -> tuple[str, bool]:
        """Return what changed since the worktree began, with new files, and whether it was cut short."""
        await _git(tree.top, "add", "--all")
        data = (await _git(tree.top, "diff", "--cached", "--binary", tree.base)).encode()
        if len(data) <= LARGEST_DIFF:
            return data.decode(), False
        return data[:LARGEST_DIFF].decode("utf-8", "ignore"), True

    async def done(self, tree: Worktree) -> None:
        """Release a worktree, whose age counts from now, and remove those that are too old or too many."""
        self._busy.discard(tree.top)
        with contextlib.suppress(FileNotFoundError):
            os.utime(tree.top)
        await self.tidy()

    async def tidy(self) -> None:
        """Remove the worktrees that are too old or too many; those of running jobs stay."""
        async with self._one:
            if not self._home.is_dir():
                return
            found = [path for path in self._home.iterdir() if path.is_dir() and path not in self._busy]
            found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
            oldest = time.time() - self._age_s
            for number, path in enumerate(found):
                if number >= self._keep or path.stat().st_mtime < oldest:
                    await _remove(path)


async def _remove(path: Path) -> None:
    """Remove a worktree and its entry in the repository; a folder that is not a worktree is just deleted."""
    try:
        common = Path((await _git(path, "rev-parse", "--path-format=absolute", "--git-common-dir")).strip())
        await _git(common, "worktree", "remove", "--force", "--force", str(path))
    except NoWorktree:
        await asyncio.to_thread(shutil.rmtree, path, ignore_errors=True)


async def _git(folder: Path, *arguments: str) -> str:
    try:
        process = await asyncio.create_subprocess_exec(
            *_GIT, *arguments, cwd=folder,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise NoWorktree(f"git cannot be run in `{folder}`: {error.strerror}") from None
    out, err = await process.communicate()
    if process.returncode:
        raise NoWorktree(f"`git {arguments[0]}` in `{folder}`: {err.decode('utf-8', 'replace').strip()}")
    return out.decode("utf-8", "surrogateescape" if arguments[0] == "rev-parse" else "replace")
