"""A git worktree per attempt of a job with `isolation: worktree`: created, compared, kept for a while."""

import asyncio
import contextlib
import os
import tempfile
import time
from pathlib import Path

import msgspec

from baton.runner.config import Uncommitted
from baton.runner.worktrees import results
from baton.runner.worktrees.git import GitError, git, line, repository_settings
from baton.runner.worktrees.results import ChangedFile, NoResult, Result, Results

LARGEST_DIFF = 96 * 1024  # maximum size of a sent diff, in bytes. The worktree has all of it.
_AUTHOR = ("-c", "user.name=Baton", "-c", "user.email=baton@localhost", "-c", "commit.gpgSign=false")
_MOST_NOTES = 5
_DAY_S = 86_400
_TRIES, _PAUSE_S = 5, 0.2  # attempts to create a snapshot with a locked index, and pause in seconds


class NoWorktree(Exception):
    """The workspace has no worktree. The message is git's."""


class Worktree(msgspec.Struct, frozen=True):
    """A worktree: its top, the workspace's folder in it, the last commit, and its start commit.

    `note` describes the handling of uncommitted changes, or is "". `git_dir` is its git directory before the agent's
    start, `repository` the top of the person's checkout. `left_out` are paths outside of any result. `since` is the
    commit of the continued job, or ""; `is_new` is False if that job's files remain.
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
    settings: frozenset[tuple[str, str]] = frozenset()  # the repository's git configuration before the start


class WorktreeChange(msgspec.Struct, frozen=True, kw_only=True):
    """A job's changes: result, files, diff, whether it is truncated, and notes on omissions."""

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
        """Create a worktree at the current commit, or at a snapshot of uncommitted changes. Raise NoWorktree."""
        top = self._home / name
        self._home.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            head = await line(workspace, "rev-parse", "--verify", "HEAD^{commit}")
            prefix = await line(workspace, "rev-parse", "--show-prefix")
            repository = Path(await line(workspace, "rev-parse", "--show-toplevel"))
            async with self._one:  # one at a time: git locks the index, and lists worktrees in a file
                base, note = await _start(workspace, head, uncommitted)
                await git(workspace, "worktree", "add", "--detach", "--quiet", str(top), base)
            git_dir = Path(await line(top, "rev-parse", "--absolute-git-dir"))
            settings = await repository_settings(top)
        except GitError as error:
            raise NoWorktree(str(error)) from None
        self._busy.add(top)
        folder = top / prefix
        folder.mkdir(parents=True, exist_ok=True)
        return Worktree(top, folder, head, base, git_dir, repository, note, settings=settings)

    async def take_up(self, workspace: Path, name: str, thread: str) -> Worktree | None:
        """Return an earlier job's worktree, re-created if it is gone; None without its result. Raise NoWorktree.

        Its folder remains the same: some agents identify their sessions by it.
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
                settings = await repository_settings(repository)
                # From now on the worktree belongs to the later job: discarding the earlier one must not delete it.
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
            settings=settings,
        )

    async def collect(self, tree: Worktree, job: str, attempt: int) -> WorktreeChange:
        """Store and return all changes since the worktree's start as the job's result. Raise NoWorktree."""
        # Explicit paths: the agent may have replaced the worktree's `.git`, and its configuration can name programs.
        own = {"GIT_DIR": str(tree.git_dir), "GIT_WORK_TREE": str(tree.top)}
        notes = []
        try:
            changed = {key for key, _ in tree.settings ^ await repository_settings(tree.top, own)}
            try:
                await git(tree.top, "add", "--all", "--ignore-errors", env=own)
            except GitError as error:
                if error.status != 1:
                    raise
                notes = [text for text in str(error).splitlines() if "error:" in text][:_MOST_NOTES]
            if changed:
                named = ", ".join(f"`{results.shown(key)[:100]}`" for key in sorted(changed)[:_MOST_NOTES])
                notes.append(f"git's configuration of the repository was changed: {named}; read it before you run git")
            await _leave_out(tree, own)
            content = await line(tree.top, "write-tree", env=own)
            message = f"Result of {job}, attempt {attempt}"
            commit = await line(tree.top, *_AUTHOR, "commit-tree", content, "-p", tree.base, "-m", message, env=own)
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
            # The record first: a commit without a record would be kept for ever, a record without a commit expires.
            self._results.save(result)
            await git(tree.top, "update-ref", result.ref, commit, env=own)
            files = await results.changed_files(result)
            data = await results.difference(result, LARGEST_DIFF + 1)
        except (GitError, OSError) as error:
            raise NoWorktree(str(error)) from None
        cut = len(data) > LARGEST_DIFF
        diff = data[:LARGEST_DIFF].decode("utf-8", "ignore") if cut else data.decode("utf-8", "replace")
        return WorktreeChange(result=result, files=files, diff=diff, truncated=cut, notes=notes)

    async def done(self, tree: Worktree) -> None:
        """Release a worktree, with its age starting now. Delete old and surplus ones."""
        self._busy.discard(tree.top)
        with contextlib.suppress(FileNotFoundError):
            os.utime(tree.top)
        await self.tidy()

    async def tidy(self) -> None:
        """Delete old results, and old and surplus worktrees, except those of running jobs."""
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
        """Delete a result. Keep its record for a retry if git fails now."""
        try:
            await results.discard(result)
        except GitError:
            if await asyncio.to_thread(Path(result.repository).is_dir):
                return
        self._results.remove(result)

    async def _remove(self, path: Path) -> None:
        """Delete a worktree and its entry in the repository. Any other folder is just deleted."""
        result = self._results.of_worktree(path)
        try:
            # Use the folder's own data only for unknown ones: an agent can make it point to another repository.
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


async def _leave_out(tree: Worktree, own: dict[str, str]) -> None:
    """Remove paths outside of any result from the index, even if the agent changed what git ignores."""
    if not tree.left_out:
        return
    with tempfile.NamedTemporaryFile(prefix="baton-") as names:
        names.write(b"".join(os.fsencode(path) + b"\0" for path in tree.left_out))
        names.flush()
        paths = ("--pathspec-file-nul", f"--pathspec-from-file={names.name}")
        quietly = ("rm", "-r", "-f", "-q", "--cached", "--ignore-unmatch")
        await git(tree.top, "--literal-pathspecs", *quietly, *paths, env=own)


async def _start(workspace: Path, head: str, uncommitted: Uncommitted) -> tuple[str, str]:
    """Return the start commit of a worktree, and a note on uncommitted changes. No file is touched."""
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
        raise NoWorktree(f"{found}, and git cannot create a snapshot: {error}") from None
    if not stash:  # the files were only touched
        return head, ""
    message = "Uncommitted changes when the job began"
    snapshot = await line(workspace, *_AUTHOR, "commit-tree", f"{stash}^{{tree}}", "-p", head, "-m", message)
    return snapshot, f"{found}; the job works on a snapshot of the changed ones" + (
        "; new ones are not in it" if new else ""
    )


async def _stash(workspace: Path) -> str:
    """Return the stash commit of the workspace's changes, or "". Retry while a person's git locks the index."""
    for _ in range(_TRIES - 1):
        with contextlib.suppress(GitError):
            return await line(workspace, *_AUTHOR, "stash", "create")
        await asyncio.sleep(_PAUSE_S)
    return await line(workspace, *_AUTHOR, "stash", "create")
