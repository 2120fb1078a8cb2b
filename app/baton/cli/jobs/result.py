"""`baton jobs diff|apply|branch|discard`: what a job changed in its worktree, on the machine where it ran (decision 0029)."""

import asyncio
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import typer

from baton.cli.jobs.job_card import summary
from baton.cli.options import AsJson
from baton.cli.output import plain, show_json
from baton.local import config as person
from baton.local.server import Api, ApiError
from baton.runner import results
from baton.runner.git import GitError
from baton.runner.results import ApplyRefused, NoResult, Result, Results

JobId = Annotated[str, typer.Argument(help="The job.")]
Attempt = Annotated[int, typer.Option(min=0, help="An earlier attempt, by its number. Default: the newest.")]
T = TypeVar("T")


def diff(
    job_id: JobId,
    stat: Annotated[bool, typer.Option("--stat", help="List the changed files only.")] = False,
    attempt: Attempt = 0,
    as_json: AsJson = False,
) -> None:
    """Show what a job changed in its worktree."""
    found = _change(job_id, attempt)
    if as_json:
        show_json(found)
        return
    if "attempt" not in found:
        print(
            f"Job {found['job']} is {found['state']} and has no changes to show; only an ended job in a worktree has."
        )
        return
    print("\n".join(summary(found)))
    if stat:
        return
    text = found["diff"]
    if found["truncated"]:
        try:
            text = _git(results.difference(_records().get(job_id, attempt))).decode("utf-8", "replace")
        except NoResult:
            text += "\n… the rest is on the machine of the job's runner"
    print(plain(text))


def apply(job_id: JobId, attempt: Attempt = 0) -> None:
    """Write a job's changes into your working tree, all or nothing; conflicts are shown, and then nothing is written."""
    result = _result(job_id, attempt)
    try:
        files = _git(results.apply(result))
    except ApplyRefused as error:
        print(f"Nothing was written to {result.repository}:", file=sys.stderr)
        for reason in error.reasons:
            print(f"  {plain(reason)}", file=sys.stderr)
        print(f"Look at it with: baton jobs diff {job_id}; or: baton jobs branch {job_id} NAME", file=sys.stderr)
        raise typer.Exit(1) from None
    print(f"Applied {len(files)} changed files to {result.repository}; nothing is staged or committed.")


def branch(job_id: JobId, name: Annotated[str, typer.Argument(help="The new branch.")], attempt: Attempt = 0) -> None:
    """Make a branch of a job's changes; no file of yours is touched."""
    result = _result(job_id, attempt)
    _git(results.branch(result, name))
    print(f"Branch {name} in {result.repository} has the job's changes.")


def discard(job_id: JobId) -> None:
    """Remove a job's changes, of all its attempts, and its worktrees for good."""
    newest = _result(job_id)
    for result in _records().of_job(newest.job):
        _git(results.discard(result))
        _records().remove(result)
    print(f"The changes of {newest.job} are discarded.")


def state_folder() -> Path:
    """Return the folder in which this person's runner keeps its state."""
    return Path(os.environ.get("XDG_STATE_HOME") or person.home() / ".local" / "state") / "baton" / "runner"


def _records() -> Results:
    return Results(state_folder() / "results")


def _change(job_id: str, attempt: int) -> dict[str, Any]:
    """Return what a job changed: of the newest attempt as the server has it, of an earlier one as this machine has it."""
    if not attempt:
        found: dict[str, Any] = Api().request("GET", f"/jobs/{quote(job_id, safe='')}/diff")
        return found
    result = _result(job_id, attempt)
    files = [
        {"path": results.shown(file.path)}
        | {name: getattr(file, name) for name in ("change", "added", "deleted", "mode")}
        for file in _git(results.changed_files(result))
    ]
    diff = _git(results.difference(result)).decode("utf-8", "replace")
    known = {"job": result.job, "attempt": attempt, "changed": len(files), "files": files}
    return known | {"diff": diff, "truncated": False, "notes": []}


def _result(job_id: str, attempt: int = 0) -> Result:
    try:
        return _records().get(job_id, attempt)
    except NoResult as error:
        raise ApiError(str(error)) from None


def _git(work: Coroutine[Any, Any, T]) -> T:
    try:
        return asyncio.run(work)
    except GitError as error:
        raise ApiError(str(error)) from None
