"""Runs git for the runner without running an agent's programs.

An agent can write the repository's configuration and `.gitattributes`, and so name programs for git to start: filters,
drivers, helpers, hooks. Each command first reads the configuration, which starts nothing, and overrides such keys.
"""

import asyncio
import contextlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from baton.runner.environment import PASSED

_ALWAYS = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.quotePath", "false"),
    ("core.protectHFS", "true"),
    ("core.protectNTFS", "true"),
    ("diff.ignoreSubmodules", "all"),
    ("submodule.recurse", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("advice.addEmbeddedRepo", "false"),
)
_NAMES_PROGRAM = re.compile(
    r"(?s)filter\..*\.(clean|smudge|process|required)|pager\..*|core\.(sshcommand|gitproxy|editor|pager|askpass|"
    r"alternaterefscommand)|.*\.(command|cmd|textconv|external|driver|helper|program|defaultkeycommand|difffilter|"
    r"packobjectshook)"
)  # keys with programs for git to start, as printed by git
_HARMLESS = {"sshcommand": "ssh", "required": "false"}  # values by the key's last part; default: empty
_LFS = re.compile(r"git-lfs (clean|smudge|filter-process)( --skip)?( --)?( %f)?|true")
"""Git LFS: without its filter, its files would appear changed."""
_OWNERS = ("global", "system")  # configuration scopes outside the repository
_OF_PERSON = re.compile(r"(?s)core\.sshcommand|credential\..*helper")  # a person's own settings, allowed for a push
_TO_PUSH = ("SSH_AUTH_SOCK", "SSH_AGENT_PID", "DBUS_SESSION_BUS_ADDRESS", "GH_*", "GITHUB_TOKEN", "GITLAB_*", "GLAB_*")
"""Variables with a person's credentials."""


class GitError(Exception):
    """Git failed. The message is git's; `status` is its exit status, -1 if it did not start."""

    def __init__(self, text: str, status: int = -1) -> None:
        super().__init__(text)
        self.status = status


async def git(
    folder: Path, *arguments: str, limit: int | None = None, env: Mapping[str, str] | None = None, push: bool = False
) -> bytes:
    """Run git in a folder and return at most `limit` bytes of its output. Raise GitError.

    `env` adds variables, such as `GIT_INDEX_FILE`. `push` permits the person's own SSH command and credential helpers,
    never the repository's.
    """
    made = await guarded(folder, _passed(*(_TO_PUSH if push else ())) | dict(env or {}), push=push)
    out, err, status = await _run(folder, ("--no-pager", *arguments), made, limit)
    if status:
        command = next((word for word in arguments if not word.startswith("-") and "=" not in word), "")
        raise GitError(f"`git {command}` in `{folder}`: {err.decode('utf-8', 'replace').strip()}", status)
    return out


async def line(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> str:
    """Return git's one line of output. Paths keep bytes outside UTF-8. Raise GitError."""
    return (await git(folder, *arguments, env=env)).decode("utf-8", "surrogateescape").strip("\n")


async def push(folder: Path, *arguments: str) -> None:
    """Push with the person's own credentials. Raise GitError."""
    # Git takes the first value of `remote.NAME.receivepack`: only an option overrides it.
    await git(folder, "push", "--quiet", "--receive-pack=git-receive-pack", *arguments, push=True)


async def guarded(folder: Path, env: Mapping[str, str], *, push: bool = False) -> dict[str, str]:
    """Return an environment for git, and programs that run git, without the repository's programs. Raise GitError."""
    # Nobody can answer: a password prompt is an error.
    protocols = "file:git:http:https:ssh" if push else "none"
    made = dict(env) | {"GIT_TERMINAL_PROMPT": "0", "GIT_ALLOW_PROTOCOL": protocols}
    values = [*_overrides(await _configuration(folder, made), push=push), *_ALWAYS]
    made["GIT_CONFIG_COUNT"] = str(len(values))
    for number, (key, value) in enumerate(values):
        made |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return made


async def repository_settings(folder: Path, env: Mapping[str, str] | None = None) -> frozenset[tuple[str, str]]:
    """Return the keys and values of the repository's own configuration. Raise GitError."""
    rows = await _configuration(folder, env or {})
    return frozenset((key, value) for scope, key, value in rows if scope not in _OWNERS)


async def _configuration(folder: Path, env: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Return scope, key and value of the configuration; [] without a readable repository."""
    made = _passed() | {name: env[name] for name in ("GIT_DIR", "GIT_WORK_TREE") if name in env}
    out, _, status = await _run(folder, ("config", "--list", "--show-scope", "-z"), made, None)
    if status:  # the command itself reports the error
        return []
    words = out.decode("utf-8", "surrogateescape").split("\0")
    return [(scope, *entry.partition("\n")[::2]) for scope, entry in zip(words[::2], words[1::2], strict=False)]


def _overrides(rows: Sequence[tuple[str, str, str]], *, push: bool) -> Iterable[tuple[str, str]]:
    """Yield a harmless value for each key with a program, then the person's own values for a push."""
    for key in dict.fromkeys(key for _, key, _ in rows if _NAMES_PROGRAM.fullmatch(key)):
        if key.startswith("filter.lfs.") and all(_LFS.fullmatch(value) for _, one, value in rows if one == key):
            continue
        yield key, _HARMLESS.get(key.rpartition(".")[2], "")
    if push:  # last: an empty helper clears the values read before it
        yield from ((key, value) for scope, key, value in rows if scope in _OWNERS and _OF_PERSON.fullmatch(key))


def _passed(*more: str) -> dict[str, str]:
    names = (*PASSED, *more)
    return {name: value for name, value in os.environ.items() if any(fnmatchcase(name, one) for one in names)}


async def _run(
    folder: Path, arguments: Sequence[str], env: Mapping[str, str], limit: int | None
) -> tuple[bytes, bytes, int]:
    """Return output, error output and status; status 0 if the output was truncated."""
    try:
        process = await asyncio.create_subprocess_exec(
            "git", *arguments, cwd=folder, env=env, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise GitError(f"git cannot be run in `{folder}`: {error.strerror}") from None
    assert process.stdout is not None  # noqa: S101 - it was asked for
    out = b""
    try:
        while limit is not None and len(out) < limit and (data := await process.stdout.read(limit - len(out))):
            out += data
        if limit is not None and len(out) == limit:  # the rest may be larger than memory
            process.kill()
            await process.communicate()
            return out, b"", 0
        rest, err = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
        raise
    return out + rest, err, process.returncode or 0
