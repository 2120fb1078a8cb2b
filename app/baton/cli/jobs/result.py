"""`baton jobs diff|apply|branch|discard|pr`: a job's changes in its worktree, on its machine (decision 0029)."""

import asyncio
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from baton.cli.jobs.job_card import summary
from baton.cli.options import AsJson, UsageError, path_of
from baton.cli.output import end_with_json, plain, show_json
from baton.local import config as person
from baton.local.server import Api, ApiError, Refused
from baton.runner.worktrees import results
from baton.runner.worktrees.git import GitError
from baton.runner.worktrees.result_actions import RequestedAction, perform
from baton.runner.worktrees.results import NoResult, Result, Results

JobId = Annotated[str, typer.Argument(help="The job.")]
Attempt = Annotated[int, typer.Option(min=0, help="An earlier attempt, by its number. Default: the newest.")]
There = Annotated[
    bool, typer.Option("--there", help="Have the job's runner do it on its machine, in your checkout there.")
]
_WAIT_S = 8
"""How long one request waits for a runner, in seconds; less than the way to the server takes for an answer."""
T = TypeVar("T")


def diff(
    job_id: JobId,
    stat: Annotated[bool, typer.Option("--stat", help="List the changed files only.")] = False,
    attempt: Attempt = 0,
    as_json: AsJson = False,
) -> None:
    """Show a job's changes in its worktree."""
    found = _change(job_id, attempt)
    end_with_json(found, when=as_json)
    if "attempt" not in found:
        why = ": ".join(["", *found["notes"]]) or "; only an ended job in a worktree has."
        print(plain(f"Job {found['job']} is {found['state']} and has no changes to show{why}"))
        return
    print("\n".join(summary(found)))
    if stat:
        return
    text = found["diff"]
    if found["truncated"]:
        try:
            text = _git(results.difference(_records().get(job_id, attempt))).decode("utf-8", "replace")
        except NoResult:
            try:
                text = _from_runner(job_id)
            except Refused as error:
                text += f"\n… the rest is on the machine of the job's runner: {error}"
    print(plain(text))


def apply(job_id: JobId, attempt: Attempt = 0, there: There = False, as_json: AsJson = False) -> None:
    """Write a job's changes into your working tree, all or nothing; conflicts are shown, and then nothing is written."""
    _do(job_id, RequestedAction(verb="apply", attempt=attempt), there=there, as_json=as_json)


def branch(
    job_id: JobId,
    name: Annotated[str, typer.Argument(help="The new branch.")],
    attempt: Attempt = 0,
    there: There = False,
    as_json: AsJson = False,
) -> None:
    """Make a branch of a job's changes; no file of yours is touched."""
    _do(job_id, RequestedAction(verb="branch", attempt=attempt, branch=name), there=there, as_json=as_json)


def discard(job_id: JobId, there: There = False, as_json: AsJson = False) -> None:
    """Remove a job's changes, of all its attempts, and its worktrees for good."""
    _do(job_id, RequestedAction(verb="discard"), there=there, as_json=as_json)


def pr(
    job_id: JobId,
    branch_name: Annotated[str, typer.Option("--branch", help="The new branch. Default: named like the job.")] = "",
    title: Annotated[str, typer.Option(help="Its title. Default: the job's.")] = "",
    body: Annotated[str, typer.Option(help="Its text.")] = "",
    target: Annotated[str, typer.Option("--into", help="The branch to merge into. Default: the usual one.")] = "",
    draft: Annotated[bool, typer.Option("--draft", help="Open it as a draft.")] = False,
    there: There = False,
    as_json: AsJson = False,
) -> None:
    """Push a branch of a job's changes, and open a pull or merge request with your `gh` or `glab`."""
    if not there:
        title = title or str(Api().request("GET", path_of("jobs", job_id))["title"])
    action = RequestedAction(verb="pr", branch=branch_name, title=title, body=body, target=target, draft=draft)
    _do(job_id, action, there=there, as_json=as_json)


def _from_runner(job_id: str) -> str:
    """Return the whole difference, sent page by page by the job's runner."""
    parts, offset = [], 0
    while True:
        query = {"offset": str(offset)}
        page = Api().request("GET", path_of("jobs", job_id, "diff", "pages"), query=query)
        parts.append(page["text"])
        if "next_offset" not in page:
            return "".join(parts)
        offset = page["next_offset"]


def _do(job_id: str, action: RequestedAction, *, there: bool, as_json: bool) -> None:
    found = _asked(job_id, action) if there else _done(job_id, action)
    if as_json:
        show_json(found)
    elif found["state"] == "done":
        print(plain(f"{found['detail'][:1].upper()}{found['detail'][1:]}."))
    else:
        print(f"baton: {plain(found['detail'])} ({found['code']})", file=sys.stderr)
        for reason in found["reasons"]:
            print(f"  {plain(reason)}", file=sys.stderr)
        if found["state"] == "refused":
            print(f"Look at it with: baton jobs diff {job_id}; or: baton jobs branch {job_id} NAME", file=sys.stderr)
    if found["state"] != "done":
        raise typer.Exit(1)


def _done(job_id: str, action: RequestedAction) -> dict[str, Any]:
    outcome = asyncio.run(perform(_records(), job_id, action, os.environ))
    if outcome.code == "no_result":
        raise ApiError(f"{outcome.detail}; with `--there` its runner does this in its own checkout")
    return {name: getattr(outcome, name) for name in outcome.__struct_fields__} | {"job": job_id, "verb": action.verb}


def _asked(job_id: str, action: RequestedAction) -> dict[str, Any]:
    if action.attempt:
        raise UsageError("`--attempt` is for this machine; a runner takes the newest attempt")
    fields = {"branch": action.branch, "title": action.title, "body": action.body, "target": action.target}
    body = {name: value for name, value in fields.items() if value} | ({"draft": True} if action.draft else {})
    api, path = Api(), path_of("jobs", job_id)
    found: dict[str, Any] = api.request("POST", f"{path}/{action.verb}", body=body | {"wait_s": _WAIT_S})
    while found["state"] in {"asked", "taken"}:
        found = api.request("GET", f"{path}/actions/{found['id']}", query={"wait_s": str(_WAIT_S)})
    return found


def state_folder() -> Path:
    """Return the state folder of this person's runner."""
    return Path(os.environ.get("XDG_STATE_HOME") or person.home() / ".local" / "state") / "baton" / "runner"


def _records() -> Results:
    return Results(state_folder() / "results")


def _change(job_id: str, attempt: int) -> dict[str, Any]:
    """Return a job's changes: of the newest attempt from the server, of an earlier one from this machine."""
    if not attempt:
        found: dict[str, Any] = Api().request("GET", path_of("jobs", job_id, "diff"))
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
