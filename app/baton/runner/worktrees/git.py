"""Runs git for the runner, so that nothing that an agent wrote is run by it."""

import asyncio
import os
from pathlib import Path

_SAFE = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.quotePath=false",
    "core.protectHFS=true",
    "core.protectNTFS=true",
    "diff.ignoreSubmodules=all",
    "submodule.recurse=false",
    "gc.auto=0",
    "advice.addEmbeddedRepo=false",
)
_GIT = ("git", "--no-pager", *(word for setting in _SAFE for word in ("-c", setting)))
_NAMED_PLACES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
)
"""Variables that would lead git elsewhere; a hook of git that starts a runner or `baton` sets some of them."""


class GitError(Exception):
    """Git refused; the text is git's, `status` its exit status (-1 if it could not be run)."""

    def __init__(self, text: str, status: int = -1) -> None:
        super().__init__(text)
        self.status = status


async def git(folder: Path, *arguments: str, limit: int | None = None, index: Path | None = None) -> bytes:
    """Run git in a folder, with an index of its own if one is named, and return what it prints, at most `limit` bytes of it.

    Raises:
        GitError: If git cannot be run or fails.
    """
    env = {name: value for name, value in os.environ.items() if name not in _NAMED_PLACES}
    # Nobody is there to answer: a repository that wants a password is an error.
    env |= {"GIT_TERMINAL_PROMPT": "0"} | ({"GIT_INDEX_FILE": str(index)} if index else {})
    try:
        process = await asyncio.create_subprocess_exec(
            *_GIT, *arguments, cwd=folder, env=env,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise GitError(f"git cannot be run in `{folder}`: {error.strerror}") from None
    if limit is None:
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
    else:
        assert process.stdout is not None  # noqa: S101 - it was asked for
        out, err = b"", b""
        while len(out) < limit and (data := await process.stdout.read(limit - len(out))):
            out += data
        if len(out) == limit:  # the rest is not wanted, and may be larger than memory
            process.kill()
            await process.communicate()
            return out
        _, err = await process.communicate()
    if process.returncode:
        command = next((word for word in arguments if not word.startswith("-") and "=" not in word), "")
        text = f"`git {command}` in `{folder}`: {err.decode('utf-8', 'replace').strip()}"
        raise GitError(text, process.returncode)
    return out


async def line(folder: Path, *arguments: str, index: Path | None = None) -> str:
    """Return the one line that git prints; a path in it keeps bytes that are not UTF-8. Raise GitError."""
    return (await git(folder, *arguments, index=index)).decode("utf-8", "surrogateescape").strip("\n")
