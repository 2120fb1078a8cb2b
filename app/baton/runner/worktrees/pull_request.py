"""Opens a pull or merge request for a job's result with the person's `gh` or `glab`."""

import asyncio
import contextlib
import os
import re
import shutil
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from baton.runner.worktrees import results
from baton.runner.worktrees.git import GitError, git, guarded, line, push
from baton.runner.worktrees.results import Result

LIMIT_S = 120.0  # timeout of the push, and of the program that opens the request, in seconds
MANUAL = "make a branch with `baton jobs branch`, push it, and open the request by hand"
_URL = re.compile(r"https?://\S+")
_LONGEST_ERROR = 2_000


class PullRequestRefused(Exception):
    """No request was opened. `code` is stable, the message is for people."""

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code


class PullRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The branch, texts, target branch ("" for the default) and draft state of a request."""

    branch: str
    title: str
    body: str
    target: str = ""
    draft: bool = False


async def open_request(result: Result, wanted: PullRequest, env: Mapping[str, str]) -> str:
    """Push a branch with only the job's changes, and open a request. Return its URL.

    The branch starts at the last commit, without the person's uncommitted changes: those must not be published. Raise
    GitError if git cannot create the branch, or PullRequestRefused if no program is installed, or the push or the
    program fails; the branch remains.
    """
    repository = Path(result.repository)
    remote, address = await _remote(repository)
    program = _program(address, env)
    await _make_branch(result, wanted)
    try:
        async with asyncio.timeout(LIMIT_S):
            await push(repository, "--set-upstream", remote, f"refs/heads/{wanted.branch}")
    except GitError as error:
        raise PullRequestRefused("push_refused", str(error)) from None
    except TimeoutError:
        raise PullRequestRefused("push_refused", f"the push did not end within {LIMIT_S:g} s") from None
    return await _opened(program, wanted, repository, env)


async def _remote(repository: Path) -> tuple[str, str]:
    names = (await line(repository, "remote")).split()
    if not names:
        raise PullRequestRefused("no_remote", f"`{repository}` has no remote to push to; add one with `git remote add`")
    wanted = ""
    with contextlib.suppress(GitError):
        wanted = await line(repository, "config", "remote.pushDefault")
    name = next((one for one in (wanted, "origin") if one in names), names[0])
    return name, await line(repository, "remote", "get-url", name)


def _program(address: str, env: Mapping[str, str]) -> str:
    """Return the program's path by the remote's host name, or any installed one."""
    there = {name: shutil.which(name, path=env.get("PATH")) for name in ("gh", "glab")}
    host = (urlsplit(address).hostname or address.partition("@")[2].partition(":")[0] or "").lower()
    named = {"gh": "github" in host, "glab": "gitlab" in host}
    for name, is_named in named.items():
        if is_named and not there[name]:
            raise PullRequestRefused(
                "no_forge_tool", f"`{host}` needs `{name}`, but it is not installed; install it, or {MANUAL}"
            )
        if is_named:
            return str(there[name])
    found = there["gh"] or there["glab"]
    if not found:
        raise PullRequestRefused(
            "no_forge_tool", f"neither `gh` nor `glab` is installed; install the one of your forge, or {MANUAL}"
        )
    return found


async def _make_branch(result: Result, wanted: PullRequest) -> None:
    """Create the branch, or reuse that of an earlier attempt."""
    repository, branch = Path(result.repository), f"refs/heads/{wanted.branch}"
    await git(repository, "check-ref-format", "--branch", wanted.branch)
    tree = await _tree(result)
    there = ""
    with contextlib.suppress(GitError):
        there = await line(repository, "show", "--no-patch", "--format=%T %P", branch, "--")
    if there == f"{tree} {result.head}":
        return
    if there:
        raise GitError(f"a branch named `{wanted.branch}` already exists; name another one with `--branch`")
    message = f"{wanted.title}\n\n{wanted.body}".strip()
    commit = await line(repository, "commit-tree", tree, "-p", result.head, "-m", message)
    await git(repository, "update-ref", branch, commit, "0" * 40)


async def _tree(result: Result) -> str:
    """Return the last commit's tree with the job's changes, without the snapshot."""
    repository = Path(result.repository)
    if result.base == result.head:
        return await line(repository, "rev-parse", f"{result.commit}^{{tree}}")
    with tempfile.TemporaryDirectory(prefix="baton-") as folder:
        patch, index = Path(folder) / "result.patch", {"GIT_INDEX_FILE": str(Path(folder) / "index")}
        await results.write_patch(result, patch)
        await git(repository, "read-tree", result.head, env=index)
        try:
            await git(repository, *results.APPLY, "--cached", str(patch), env=index)
        except GitError as error:
            reasons = "; ".join(results.reasons_of(error))
            raise PullRequestRefused(
                "needs_uncommitted",
                f"the job's changes depend on your uncommitted changes ({reasons}); commit yours, apply these with `baton jobs apply`,"
                " and open the request by hand",
            ) from None
        return await line(repository, "write-tree", env=index)


async def _opened(program: str, wanted: PullRequest, repository: Path, env: Mapping[str, str]) -> str:
    name = Path(program).name
    if name == "gh":
        command = ["pr", "create", "--head", wanted.branch, "--title", wanted.title, "--body", wanted.body]
        command += ["--base", wanted.target] if wanted.target else []
    else:
        command = ["mr", "create", "--source-branch", wanted.branch, "--title", wanted.title]
        command += ["--description", wanted.body, "--yes"]
        command += ["--target-branch", wanted.target] if wanted.target else []
    command += ["--draft"] if wanted.draft else []
    quiet = {"GH_PROMPT_DISABLED": "1", "GLAB_NO_PROMPT": "1", "NO_COLOR": "1"}
    made = await guarded(repository, {**env, **quiet}, push=True)  # it runs git
    process = await asyncio.create_subprocess_exec(
        program, *command, cwd=repository, env=made, stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        async with asyncio.timeout(LIMIT_S):
            out, err = await process.communicate()
    except TimeoutError:
        raise PullRequestRefused("forge_refused", f"`{name}` did not end within {LIMIT_S:g} s") from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    said, wrong = out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
    if process.returncode:
        detail = (wrong.strip() or said.strip())[-_LONGEST_ERROR:]
        raise PullRequestRefused(
            "forge_refused", f"`{name}` refused it: {detail}; the branch `{wanted.branch}` is pushed"
        )
    found = _URL.findall(said) or _URL.findall(wrong)
    return found[-1] if found else said.strip()
