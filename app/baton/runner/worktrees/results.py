"""The results of jobs that ran in a worktree: each is a commit in the person's repository (decision 0029)."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from baton.runner.worktrees.git import GitError, git, line
from baton.runner.worktrees.hook_settings import is_hook_setting

_DIFF = (
    "diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none",
    "--submodule=short",
)  # fmt: skip
_PATCH = ("-p", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")
APPLY = ("-c", "apply.ignoreWhitespace=no", "apply", "--whitespace=nowarn")
LARGEST_PAGE = 98_304
"""Most bytes of one page of a difference."""
_CONTINUES = 0b10
"""The first two bits of a byte of UTF-8 that begins no character."""
_LINK, _SUBMODULE = "120000", "160000"
_CHANGES = {"A": "added", "D": "deleted"}


class NoResult(Exception):
    """There is no such result here, or it cannot be used; the text says why."""


class ApplyRefused(Exception):
    """The result was not applied, and nothing was written.

    `reasons` has one line for each cause, `code` is `conflict`, `applied_already`, or `unsafe` for what leads out of the
    repository or into git's own files.
    """

    def __init__(self, code: str, reasons: Sequence[str]) -> None:
        super().__init__("\n".join(reasons))
        self.code = code
        self.reasons = tuple(reasons)


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A file that a job changed; `added` and `deleted` are lines, None for a binary file. Modes are git's."""

    path: str
    change: str
    added: int | None
    deleted: int | None
    old_mode: str
    mode: str
    blob: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Where the result of one attempt is: the repository's top folder, the commit before, the commit after, and the worktree.

    `head` is the repository's last commit when the worktree began; `base` differs from it if it is a snapshot. `since` is the
    commit of the job that this one continued, "" for none. `worktree` is "" once a later job of the thread has it; `git_dir` is its
    git directory. `left_out` are paths in it that belong to no result: what was copied into it, and what its setup made.
    """

    job: str
    attempt: int
    repository: str
    head: str
    base: str
    commit: str
    worktree: str
    git_dir: str = ""
    since: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """Return the name that keeps the commit."""
        return f"refs/baton/jobs/{self.job}.{self.attempt}"


class Results:
    """The records of this machine's results, one file for each attempt: an earlier one may hold work that a later one lacks."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, result: Result) -> None:
        """Keep a result's record."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(result)
        new = path.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(result))
        new.replace(path)

    def get(self, job: str, attempt: int = 0) -> Result:
        """Return the result of an attempt, 0 for the newest one that has a result.

        Raises:
            NoResult: If this machine has none.
        """
        found = {result.attempt: result for result in self.of_job(job)}
        if found and not attempt:
            return found[max(found)]
        if attempt in found:
            return found[attempt]
        which = f"attempt {attempt} of `{job[:100]}`" if attempt else f"`{job[:100]}`"
        raise NoResult(
            f"this machine has no result of {which}: only an ended job that was delegated with `--worktree` leaves one,"
            " on the machine of its runner"
        )

    def of_job(self, job: str) -> list[Result]:
        """List the results of a job's attempts."""
        return [result for _, result in self._read() if result.job == job]

    def of_worktree(self, worktree: Path) -> Result | None:
        """Return a result of a worktree, None if it has none."""
        return next((result for _, result in self._read() if result.worktree == str(worktree)), None)

    def remove(self, result: Result) -> None:
        """Forget a result."""
        self._path(result).unlink(missing_ok=True)

    def older_than(self, moment: float) -> list[Result]:
        """List the results that were stored before a moment, in seconds since 1970."""
        return [result for stored_at, result in self._read() if stored_at < moment]

    def _read(self) -> Iterator[tuple[float, Result]]:
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                yield path.stat().st_mtime, msgspec.json.decode(path.read_bytes(), type=Result)

    def _path(self, result: Result) -> Path:
        return self._folder / f"{result.job}.{result.attempt}.json"


async def changed_files(result: Result) -> list[ChangedFile]:
    """List what a job changed, in the order of paths. Raise GitError."""
    printed = await git(Path(result.repository), *_DIFF, "-z", "--raw", "--numstat", result.base, result.commit)
    fields = printed.decode("utf-8", "surrogateescape").split("\0")
    raw, counts, place = [], {}, 0
    while place < len(fields) and fields[place]:
        if fields[place].startswith(":"):
            raw.append((fields[place][1:].split(" "), fields[place + 1]))
            place += 2
        else:
            added, deleted, path = fields[place].split("\t", 2)
            counts[path] = tuple(None if count == "-" else int(count) for count in (added, deleted))
            place += 1
    return [
        ChangedFile(
            path=path,
            change=_CHANGES.get(kind, "modified"),
            added=counts.get(path, (None, None))[0],
            deleted=counts.get(path, (None, None))[1],
            old_mode=old_mode,
            mode=mode,
            blob=blob,
        )
        for (old_mode, mode, _, blob, kind), path in raw
    ]


async def difference(result: Result, limit: int | None = None) -> bytes:
    """Return the difference as git's patch, at most `limit` bytes of it. Raise GitError."""
    return await git(Path(result.repository), *_DIFF, *_PATCH, result.base, result.commit, limit=limit)


async def difference_page(result: Result, path: str, offset: int) -> tuple[str, int | None]:
    """Return the part of a difference, or of one file's, that begins at a byte; and where the next one begins, None for the last.

    Raises:
        GitError: If git fails.
        NoResult: If the job did not change such a file.
    """
    with tempfile.TemporaryDirectory(prefix="baton-") as folder:
        patch = Path(folder) / "result.patch"
        await write_patch(result, patch, path)
        size = patch.stat().st_size
        if path and not size:
            raise NoResult(f"`{shown(path)[:200]}` is no file that `{result.job}` changed")
        with patch.open("rb") as file:
            file.seek(offset)
            data = file.read(LARGEST_PAGE)
    if offset + len(data) < size:
        data = data[: _end_of_page(data)]
        return data.decode("utf-8", "replace"), offset + len(data)
    return data.decode("utf-8", "replace"), None


def _end_of_page(data: bytes) -> int:
    """Return where a page ends that is followed by another: before a file, a hunk, a line, or at least a character."""
    half = len(data) // 2  # a page that ends at the first hunk's header would show nothing of the file
    for begins, least in ((b"\ndiff --git ", half), (b"\n@@ ", half), (b"\n", 0)):
        place = data.rfind(begins, least)
        if place >= 0:
            return place + 1
    end = len(data)
    while end > 1 and data[end - 1] >> 6 == _CONTINUES:
        end -= 1
    return end - 1 or len(data)


async def apply(result: Result, *, by_agent: bool = False) -> list[ChangedFile]:
    """Write a job's changes into the repository's working tree, all or nothing; return the changed files.

    If an agent asks for it, changes to what makes agents' clients ask Baton are refused.

    Raises:
        ApplyRefused: If a change conflicts with the working tree, or leads out of it; nothing was written.
        GitError: If git fails.
    """
    files = await changed_files(result)
    if not files:
        return []
    reasons = await _dangers(result, files)
    if by_agent:
        reasons += [
            f"{shown(file.path)}: makes a client ask Baton; only a person applies it, with `baton jobs apply`"
            for file in files
            if is_hook_setting(file.path, is_link=file.mode == _LINK)
        ]
    if reasons:
        raise ApplyRefused("unsafe", reasons)
    with tempfile.TemporaryDirectory(prefix="baton-") as folder:
        patch = Path(folder) / "result.patch"
        try:
            await _apply_patch(result, patch)
        except GitError as error:
            if result.since and await _is_applied(msgspec.structs.replace(result, commit=result.since), patch):
                # The person has the job before it in their files already: only what came after is new to them.
                return await apply(msgspec.structs.replace(result, base=result.since, since=""), by_agent=by_agent)
            if await _is_applied(result, patch):
                raise ApplyRefused("applied_already", ["the result is applied already"]) from None
            raise ApplyRefused("conflict", reasons_of(error)) from None
    return files


async def _apply_patch(result: Result, patch: Path) -> None:
    await write_patch(result, patch)
    # Git checks every file before it writes the first one; a path in `.git`, outside, or below a link is an error.
    await git(Path(result.repository), *APPLY, str(patch))


async def _is_applied(result: Result, patch: Path) -> bool:
    """Return whether the working tree has a result's changes already."""
    await write_patch(result, patch)
    try:
        await git(Path(result.repository), *APPLY, "--check", "--reverse", str(patch))
    except GitError:
        return False
    return True


async def write_patch(result: Result, patch: Path, path: str = "") -> None:
    """Write a result's difference, or that of one file, into a file; it may be larger than memory. Raise GitError."""
    only = ("--", path) if path else ()
    words = (*_DIFF, *_PATCH, f"--output={patch}", result.base, result.commit, *only)
    await git(Path(result.repository), "--literal-pathspecs", *words)


def reasons_of(error: GitError) -> list[str]:
    """Return why `git apply` refused a patch, a line for each cause."""
    lines = [text.partition("error: ")[2] for text in str(error).splitlines() if "error: " in text]
    return lines or [str(error)]


async def branch(result: Result, name: str) -> None:
    """Make a branch of a result; no file is touched. Raises GitError, also if there is such a branch."""
    await git(Path(result.repository), "branch", "--no-track", "--", name, result.commit)


async def discard(result: Result) -> None:
    """Remove a result's commit, and its worktree if it is still there. Raise GitError."""
    repository = Path(result.repository)
    if result.worktree:
        await remove_worktree(Path(result.worktree), repository)
    await git(repository, "update-ref", "-d", result.ref)


async def remove_worktree(worktree: Path, repository: Path) -> None:
    """Remove a worktree and its entry in the repository, whatever the agent made of it."""
    remove = ("worktree", "remove", "--force", "--force", str(worktree))
    try:
        await git(repository, *remove)
    except GitError:
        # Git takes no folder for a worktree whose `.git` was replaced. Without the folder it removes the entry.
        await asyncio.to_thread(shutil.rmtree, worktree, ignore_errors=True)
        with contextlib.suppress(GitError):
            await git(repository, *remove)


async def _dangers(result: Result, files: list[ChangedFile]) -> list[str]:
    repository = Path(result.repository)
    hooks = await _hooks_folder(repository)
    found: list[str] = []
    for file in files:
        name = shown(file.path)
        if _SUBMODULE in (file.mode, file.old_mode):
            found.append(f"{name}: is a nested repository")
        if file.mode == _LINK:
            target = os.fsdecode(await git(repository, "cat-file", "blob", file.blob, limit=4_096))
            if leads_out(file.path, target):
                found.append(f"{name}: is a symbolic link that leads out of the repository, to {shown(target)}")
        # Or above it: a link in the place of a folder above moves the hooks.
        path = f"{file.path}/".lower()
        if hooks and (path.startswith(hooks) or hooks.startswith(path)):
            found.append(f"{name}: is a hook that git would run")
    return found


async def _hooks_folder(repository: Path) -> str:
    """Return the folder in the working tree whose files git runs as hooks, in lower case with `/`, "" for none."""
    try:
        # The last value is our own `-c`.
        values = (await line(repository, "config", "--type=path", "--get-all", "core.hooksPath")).split("\n")[:-1]
    except GitError:
        return ""
    if not values:
        return ""
    return _folder_in(repository, values[-1])


def _folder_in(repository: Path, folder: str) -> str:
    path = os.path.relpath(repository / folder, repository)
    return "" if path.startswith("..") else f"{path}/".lower()


def leads_out(path: str, target: str) -> bool:
    """Return whether a symbolic link may lead out of the repository, or into its git directory.

    `..` is accepted at the start only: after a name it goes up from wherever that name, if it is a link, leads.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    ups = next((place for place, part in enumerate(parts) if part != ".."), len(parts))
    rest = parts[ups:]
    return (
        target.startswith("/") or ups > path.count("/") or ".." in rest or any(part.lower() == ".git" for part in rest)
    )


def shown(name: str) -> str:
    """Return a file's name in one line, without bytes that a terminal obeys."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text if text.isprintable() else text.encode("unicode_escape").decode()
