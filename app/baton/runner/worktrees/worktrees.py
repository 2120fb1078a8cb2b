"""A git worktree for each attempt of a job with `isolation: worktree`: made, compared, kept for a while."""

import asyncio
import contextlib
import os
import tempfile
import time
from pathlib import Path

import msgspec

from baton.runner.config import Uncommitted
from baton.runner.worktrees import results
from baton.runner.worktrees.git import GitError, git, line
from baton.runner.worktrees.results import ChangedFile, NoResult, Result, Results

LARGEST_DIFF = 96 * 1024
"""Longest difference that is sent, in bytes; the whole of it stays in the worktree."""
_AUTHOR = ("-c", "user.name=Baton", "-c", "user.email=baton@localhost", "-c", "commit.gpgSign=false")
_MOST_NOTES = 5
_DAY_S = 86_400
_TRIES, _PAUSE_S = 5, 0.2
"""How often, and with how long a pause in seconds, git is asked for a snapshot while something else has locked the index."""


class NoWorktree(Exception):
    """There is no worktree for the workspace; the text is git's."""


class Worktree(msgspec.Struct, frozen=True):
    """A worktree: its top, the folder in it that stands for the workspace, the last commit, and the commit at which it began.

    `note` says what became of uncommitted changes, "" if there were none. `git_dir` is its git directory as it was before the
    agent started, `repository` the top of the person's own checkout. `left_out` are paths in it that belong to no result. `since`
    is the commit of the job that is continued in it, "" for none; `is_new` is not set if that job's agent left its files in it.
    """

    top: Path
    folder: Path
    head: str
    base: str
    git_dir: Path
    repository: Path
    note: str = ""
    left_out: tuple[str, ...] = ()
    since: str = ""
    is_new: bool = True


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """What a job changed: its result, the files, the difference, whether it was cut short, and what was left out."""

    result: Result
    files: list[ChangedFile]
    diff: str
    truncated: bool
    notes: list[str]


class Worktrees:
    """All worktrees of this runner, in one folder, named by job and attempt."""

    def __init__(self, home: Path, *, keep: int, days: int) -> None:
        self._home = home
        self._results = Results(home.parent / "results")
        self._keep = keep
        self._age_s = days * _DAY_S
        self._busy: set[Path] = set()
        self._one = asyncio.Lock()

    async def make(self, workspace: Path, name: str, uncommitted: Uncommitted = "snapshot") -> Worktree:
        """Make a worktree at the workspace's current commit, or at a snapshot of its uncommitted changes.

        Raises:
            NoWorktree: If the workspace is not in a git repository with a commit, or has changes and may have none.
        """
        top = self._home / name
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            head = await line(workspace, "rev-parse", "--verify", "HEAD^{commit}")
            prefix = await line(workspace, "rev-parse", "--show-prefix")
            repository = Path(await line(workspace, "rev-parse", "--show-toplevel"))
            async with (
                self._one
            ):  # two at a time are in each other's way: git locks the index, and lists worktrees in a file
                base, note = await _start(workspace, head, uncommitted)
                await git(workspace, "worktree", "add", "--detach", "--quiet", str(top), base)
            git_dir = Path(await line(top, "rev-parse", "--absolute-git-dir"))
        except GitError as error:
            raise NoWorktree(str(error)) from None
        self._busy.add(top)
        folder = top / prefix
        folder.mkdir(parents=True, exist_ok=True)
        return Worktree(top, folder, head, base, git_dir, repository, note)

    async def take_up(self, workspace: Path, name: str, thread: str) -> Worktree | None:
        """Return the worktree of an earlier job as its agent left it, made again if it is gone; None if its result is gone.

        It is made in the same folder: some agents know their sessions by it.

        Raises:
            NoWorktree: If git cannot make it.
        """
        try:
            before = self._results.get(thread)
        except NoResult:
            return None
        top = Path(before.worktree) if before.worktree else self._home / name
        git_dir, repository = Path(before.git_dir), Path(before.repository)
        try:
            prefix = await line(workspace, "rev-parse", "--show-prefix")
            async with self._one:
                is_there = before.worktree != "" and await asyncio.to_thread(_are_folders, top, git_dir)
                if top in self._busy:
                    raise NoWorktree(f"another job works in `{top}`")
                if not is_there:
                    await results.remove_worktree(top, repository)
                    await git(repository, "worktree", "add", "--detach", "--quiet", str(top), before.commit)
                    git_dir = Path(await line(top, "rev-parse", "--absolute-git-dir"))
                self._busy.add(top)
                # From now on the worktree goes with the later job: who discards the earlier one must not remove it.
                self._results.save(msgspec.structs.replace(before, worktree=""))
        except GitError as error:
            raise NoWorktree(str(error)) from None
        folder = top / prefix
        folder.mkdir(parents=True, exist_ok=True)
        return Worktree(
            top=top,
            folder=folder,
            head=before.head,
            base=before.base,
            git_dir=git_dir,
            repository=repository,
            note=""
            if is_there
            else "the worktree of the job before was removed, and is made again with what it changed",
            left_out=before.left_out if is_there else (),
            since=before.commit,
            is_new=not is_there,
        )

    async def collect(self, tree: Worktree, job: str, attempt: int) -> Change:
        """Store what changed since the worktree began as the job's result, with new files, and return it.

        Raises:
            NoWorktree: If git cannot; the worktree stays as it is.
        """
        # Named to git: the agent may have replaced the worktree's `.git`, whose configuration can name programs.
        own = (f"--git-dir={tree.git_dir}", f"--work-tree={tree.top}")
        notes = []
        try:
            try:
                await git(tree.top, *own, "add", "--all", "--ignore-errors")
            except GitError as error:
                if error.status != 1:
                    raise
                notes = [text for text in str(error).splitlines() if "error:" in text][:_MOST_NOTES]
            await _leave_out(tree, own)
            content = await line(tree.top, *own, "write-tree")
            message = f"Result of {job}, attempt {attempt}"
            commit = await line(tree.top, *_AUTHOR, *own, "commit-tree", content, "-p", tree.base, "-m", message)
            result = Result(
                job=job,
                attempt=attempt,
                repository=str(tree.repository),
                head=tree.head,
                base=tree.base,
                commit=commit,
                worktree=str(tree.top),
                git_dir=str(tree.git_dir),
                since=tree.since,
                left_out=tree.left_out,
            )
            # The record first: a commit without one would be kept for ever, a record without a commit is removed in time.
            self._results.save(result)
            await git(tree.top, *own, "update-ref", result.ref, commit)
            files = await results.changed_files(result)
            data = await results.difference(result, LARGEST_DIFF + 1)
        except (GitError, OSError) as error:
            raise NoWorktree(str(error)) from None
        cut = len(data) > LARGEST_DIFF
        diff = data[:LARGEST_DIFF].decode("utf-8", "ignore") if cut else data.decode("utf-8", "replace")
        return Change(result=result, files=files, diff=diff, truncated=cut, notes=notes)

    async def done(self, tree: Worktree) -> None:
        """Release a worktree, whose age counts from now, and remove those that are too old or too many."""
        self._busy.discard(tree.top)
        with contextlib.suppress(FileNotFoundError):
            os.utime(tree.top)
        await self.tidy()

    async def tidy(self) -> None:
        """Remove the results that are too old, and the worktrees that are too old or too many; running jobs keep theirs."""
        async with self._one:
            oldest = time.time() - self._age_s
            for result in self._results.older_than(oldest):
                if Path(result.worktree) not in self._busy:
                    await self._expire(result)
            found = [path for path in _folders(self._home) if path not in self._busy]
            found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
            for number, path in enumerate(found):
                if number >= self._keep or path.stat().st_mtime < oldest:
                    await self._remove(path)

    async def _expire(self, result: Result) -> None:
        """Remove a result; its record stays for another time if git cannot remove the commit now."""
        try:
            await results.discard(result)
        except GitError:
            if await asyncio.to_thread(Path(result.repository).is_dir):
                return
        self._results.remove(result)

    async def _remove(self, path: Path) -> None:
        """Remove a worktree and its entry in the repository; a folder that is not a worktree is just deleted."""
        result = self._results.of_worktree(path)
        try:
            # The folder itself is asked only where nothing is known of it: an agent can have it name another repository.
            repository = (
                Path(result.repository)
                if result
                else Path(await line(path, "rev-parse", "--path-format=absolute", "--git-common-dir"))
            )
        except GitError:
            repository = path.parent
        await results.remove_worktree(path, repository)


def _are_folders(*paths: Path) -> bool:
    return all(path.is_dir() for path in paths)


def _folders(home: Path) -> list[Path]:
    return [path for path in home.iterdir() if path.is_dir()] if home.is_dir() else []


async def _leave_out(tree: Worktree, own: tuple[str, ...]) -> None:
    """Take out of the index what is of no result, even where the agent changed what git ignores."""
    if not tree.left_out:
        return
    with tempfile.NamedTemporaryFile(prefix="baton-") as names:
        names.write(b"".join(os.fsencode(path) + b"\0" for path in tree.left_out))
        names.flush()
        paths = ("--pathspec-file-nul", f"--pathspec-from-file={names.name}")
        quietly = ("rm", "-r", "-f", "-q", "--cached", "--ignore-unmatch")
        await git(tree.top, "--literal-pathspecs", *own, *quietly, *paths)


async def _start(workspace: Path, head: str, uncommitted: Uncommitted) -> tuple[str, str]:
    """Return the commit at which a worktree begins, and what is to be said of uncommitted changes; no file is touched."""
    printed = await git(workspace, "--no-optional-locks", "status", "--porcelain=v1", "-z", "--no-renames")
    states = [entry[:2] for entry in printed.split(b"\0") if entry]
    new = states.count(b"??")
    changed = len(states) - new
    if not states:
        return head, ""
    found = f"the workspace has {changed} changed and {new} new files that are not committed"
    if uncommitted == "refuse":
        raise NoWorktree(
            f"{found}; commit or stash them, or set `worktrees: {{uncommitted: snapshot}}` in `runner.yaml`"
        )
    if uncommitted == "leave" or not changed:
        return head, f"{found}; the job starts from the last commit, without them"
    try:
        stash = await _stash(workspace)
    except GitError as error:
        raise NoWorktree(f"{found}, of which git makes no snapshot: {error}") from None
    if not stash:  # the files were only touched
        return head, ""
    message = "Uncommitted changes when the job began"
    snapshot = await line(workspace, *_AUTHOR, "commit-tree", f"{stash}^{{tree}}", "-p", head, "-m", message)
    return snapshot, f"{found}; the job works on a snapshot of the changed ones" + (
        "; new ones are not in it" if new else ""
    )


async def _stash(workspace: Path) -> str:
    """Return the commit of a stash of the workspace's changes, "" if there are none; a person's own git may lock the index meanwhile."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(GitError):
            return await line(workspace, *_AUTHOR, "stash", "create")
        await asyncio.sleep(_PAUSE_S)
    return await line(workspace, *_AUTHOR, "stash", "create")
