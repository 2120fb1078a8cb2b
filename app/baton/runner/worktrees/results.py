"""The results of jobs with a worktree: each is a commit in the person's repository (decision 0029)."""

import asyncio
import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path, PurePosixPath

import msgspec
import yaml

from baton.runner.worktrees.git import GitError, git, line
from baton.shared import policy_folders

# Files that configure clients' hooks: an agent's changes to them are not applied, a person's are.


def is_hook_setting(path: str, *, is_link: bool) -> bool:
    """Return whether a path is a hook setting, or a link in the place of a folder above one."""
    name = f"/{path.lower()}"
    if any(fnmatchcase(name, pattern) for pattern in _patterns()):
        return True
    return is_link and PurePosixPath(name).name in _folders()


@cache
def _patterns() -> tuple[str, ...]:
    """Return the shipped policies' globs for files in a repository, in lower case."""
    config = yaml.safe_load((policy_folders.shipped() / "config.yaml").read_text())
    return tuple(one.lower().replace("**", "*") for one in config["hook_settings"] if one.startswith("**/"))


@cache
def _folders() -> frozenset[str]:
    return frozenset(part for pattern in _patterns() for part in pattern.split("/")[:-1] if part not in ("", "*"))


_DIFF = (
    "diff-tree", "-r", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=none",
    "--submodule=short",
)  # fmt: skip
_PATCH = ("-p", "--binary", "--full-index", "--src-prefix=a/", "--dst-prefix=b/")
APPLY = ("-c", "apply.ignoreWhitespace=no", "apply", "--whitespace=nowarn")
LARGEST_PAGE = 98_304  # maximum size of one page of a diff, in bytes
_CONTINUES = 0b10  # the first two bits of a UTF-8 continuation byte
_LINK, _SUBMODULE = "120000", "160000"
_CHANGES = {"A": "added", "D": "deleted"}


class NoResult(Exception):
    """The result does not exist here or is unusable. The message says why."""


class ApplyRefused(Exception):
    """The result was not applied, and nothing was written.

    `reasons` has one line per cause. `code` is `conflict`, `applied_already`, or `unsafe` for paths outside the
    repository or in git's own files.
    """

    def __init__(self, code: str, reasons: Sequence[str]) -> None:
        super().__init__("\n".join(reasons))
        self.code = code
        self.reasons = tuple(reasons)


class ChangedFile(msgspec.Struct, frozen=True, kw_only=True):
    """A changed file. `added` and `deleted` are lines, None for a binary file. Modes are git's."""

    path: str
    change: str
    added: int | None
    deleted: int | None
    old_mode: str
    mode: str
    blob: str


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one attempt: repository, commits before and after, and worktree.

    `head` is the repository's last commit at the start; `base` differs from it if it is a snapshot. `since` is the
    commit of the continued job, or "". `worktree` is "" once a later job of the thread has it; `git_dir` is its git
    directory. `left_out` are paths outside of any result: copied files, and the setup's files.
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
        """The ref that keeps the commit."""
        return f"refs/baton/jobs/{self.job}.{self.attempt}"


class Results:
    """The records of this machine's results, one file per attempt: earlier ones may have work that later ones lack."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def save(self, result: Result) -> None:
        """Store a result."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(result)
        new = path.with_suffix(".new")
        new.write_bytes(msgspec.json.encode(result))
        new.replace(path)

    def get(self, job: str, attempt: int = 0) -> Result:
        """Return the result of an attempt, 0 for the newest. Raise NoResult."""
        found = {result.attempt: result for result in self.of_job(job)}
        if found and not attempt:
            return found[max(found)]
        if attempt in found:
            return found[attempt]
        which = f"attempt {attempt} of `{job[:100]}`" if attempt else f"`{job[:100]}`"
        raise NoResult(
            f"this machine has no result of {which}: only ended jobs with `--worktree` have one,"
            " on the machine of its runner"
        )

    def of_job(self, job: str) -> list[Result]:
        """List the results of a job's attempts."""
        return [result for _, result in self._read() if result.job == job]

    def of_worktree(self, worktree: Path) -> Result | None:
        """Return a result of a worktree, or None."""
        return next((result for _, result in self._read() if result.worktree == str(worktree)), None)

    def remove(self, result: Result) -> None:
        """Delete a result's record."""
        self._path(result).unlink(missing_ok=True)

    def older_than(self, moment: float) -> list[Result]:
        """List the results stored before a time, in seconds since 1970."""
        return [result for stored_at, result in self._read() if stored_at < moment]

    def _read(self) -> Iterator[tuple[float, Result]]:
        for path in self._folder.glob("*.json"):
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                yield path.stat().st_mtime, msgspec.json.decode(path.read_bytes(), type=Result)

    def _path(self, result: Result) -> Path:
        return self._folder / f"{result.job}.{result.attempt}.json"


async def changed_files(result: Result) -> list[ChangedFile]:
    """List a job's changed files, by path. Raise GitError."""
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
    """Return at most `limit` bytes of the diff as git's patch. Raise GitError."""
    return await git(Path(result.repository), *_DIFF, *_PATCH, result.base, result.commit, limit=limit)


async def difference_page(result: Result, path: str, offset: int) -> tuple[str, int | None]:
    """Return a page of a diff, and the next byte offset or None. Raise GitError, or NoResult for an unknown path."""
    with tempfile.TemporaryDirectory(prefix="baton-") as folder:
        patch = Path(folder) / "result.patch"
        await write_patch(result, patch, path)
        size = patch.stat().st_size
        if path and not size:
            raise NoResult(f"`{shown(path)[:200]}` was not changed by `{result.job}`")
        with patch.open("rb") as file:
            file.seek(offset)
            data = file.read(LARGEST_PAGE)
    if offset + len(data) < size:
        data = data[: _end_of_page(data)]
        return data.decode("utf-8", "replace"), offset + len(data)
    return data.decode("utf-8", "replace"), None


def _end_of_page(data: bytes) -> int:
    """Return the end of a page: before a file, a hunk, a line, or at least a character."""
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
    """Apply a job's changes to the repository's working tree, all or nothing. Return the changed files.

    An agent's request to change hook settings is refused. Raise ApplyRefused if a change conflicts with the working
    tree or leaves it, or GitError.
    """
    files = await changed_files(result)
    if not files:
        return []
    reasons = await _dangers(result, files)
    if by_agent:
        reasons += [
            f"{shown(file.path)}: configures a client's hooks; only a person may apply it, with `baton jobs apply`"
            for file in files
            if is_hook_setting(file.path, is_link=file.mode == _LINK)
        ]
    if reasons:
        raise ApplyRefused("unsafe", reasons)
    with tempfile.TemporaryDirectory(prefix="baton-") as folder:
        patch = Path(folder) / "result.patch"
        try:
            await write_patch(result, patch)
            # Git checks every file before writing. A path in `.git`, outside, or below a link is an error.
            await git(Path(result.repository), *APPLY, str(patch))
        except GitError as error:
            if result.since and await _is_applied(msgspec.structs.replace(result, commit=result.since), patch):
                # The person has already applied the previous job: only the changes since then are new.
                return await apply(msgspec.structs.replace(result, base=result.since, since=""), by_agent=by_agent)
            if await _is_applied(result, patch):
                raise ApplyRefused("applied_already", ["the result is already applied"]) from None
            raise ApplyRefused("conflict", reasons_of(error)) from None
    return files


async def _is_applied(result: Result, patch: Path) -> bool:
    await write_patch(result, patch)
    try:
        await git(Path(result.repository), *APPLY, "--check", "--reverse", str(patch))
    except GitError:
        return False
    return True


async def write_patch(result: Result, patch: Path, path: str = "") -> None:
    """Write a result's diff, or one file's, to a file: it may exceed memory. Raise GitError."""
    only = ("--", path) if path else ()
    words = (*_DIFF, *_PATCH, f"--output={patch}", result.base, result.commit, *only)
    await git(Path(result.repository), "--literal-pathspecs", *words)


def reasons_of(error: GitError) -> list[str]:
    """Return the reasons of a failed `git apply`, one line per cause."""
    lines = [text.partition("error: ")[2] for text in str(error).splitlines() if "error: " in text]
    return lines or [str(error)]


async def branch(result: Result, name: str) -> None:
    """Create a branch of a result. No file is touched. Raise GitError, also if the branch exists."""
    await git(Path(result.repository), "branch", "--no-track", "--", name, result.commit)


async def discard(result: Result) -> None:
    """Delete a result's commit, and its worktree if it exists. Raise GitError."""
    repository = Path(result.repository)
    if result.worktree:
        await remove_worktree(Path(result.worktree), repository)
    await git(repository, "update-ref", "-d", result.ref)


async def remove_worktree(worktree: Path, repository: Path) -> None:
    """Delete a worktree and its entry in the repository, in whatever state."""
    remove = ("worktree", "remove", "--force", "--force", str(worktree))
    try:
        await git(repository, *remove)
    except GitError:
        # Git does not recognize a worktree with a replaced `.git`. Without the folder it removes the entry.
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
        # Or above it: a link in the place of a parent folder moves the hooks.
        path = f"{file.path}/".lower()
        if hooks and (path.startswith(hooks) or hooks.startswith(path)):
            found.append(f"{name}: is a hook that git would run")
    return found


async def _hooks_folder(repository: Path) -> str:
    """Return git's hooks folder within the working tree, in lower case with a final `/`, or ""."""
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
    """Return whether a link may leave the repository or enter its git directory. `..` is accepted only at the start."""
    parts = [part for part in target.split("/") if part not in ("", ".")]
    ups = next((place for place, part in enumerate(parts) if part != ".."), len(parts))
    rest = parts[ups:]
    return (
        target.startswith("/") or ups > path.count("/") or ".." in rest or any(part.lower() == ".git" for part in rest)
    )


def shown(name: str) -> str:
    """Return a file's name in one line, without terminal control characters."""
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text if text.isprintable() else text.encode("unicode_escape").decode()
