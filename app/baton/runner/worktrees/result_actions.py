"""Actions on a job's result, on its machine: for the command line and the server."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from baton.runner.worktrees import pull_request, results
from baton.runner.worktrees.git import GitError
from baton.runner.worktrees.pull_request import PullRequest, PullRequestRefused
from baton.runner.worktrees.results import ApplyRefused, NoResult, Result, Results

Verb = Literal["apply", "branch", "discard", "pr", "diff"]
MOST_REASONS = 100
_LONGEST = 1_500  # maximum length of a sent reason or detail, in characters


class RequestedAction(msgspec.Struct, frozen=True, kw_only=True):
    """An action on a job's result: `attempt` 0 is the newest, `by_agent` means requested by an agent."""

    verb: Verb
    attempt: int = 0
    by_agent: bool = False
    branch: str = ""
    title: str = ""
    body: str = ""
    target: str = ""
    draft: bool = False
    path: str = ""
    offset: int = 0


class DiffPart(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a diff, or the reason why it is unavailable."""

    path: str = ""
    offset: int = 0
    text: str = ""
    next_offset: int | None = None
    error: str = ""


class ActionOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome: `done`, `refused` (with reasons, nothing changed), or `failed`. `changed` counts files."""

    state: Literal["done", "refused", "failed"]
    code: str = ""
    detail: str = ""
    reasons: list[str] = []
    changed: int = 0
    branch: str = ""
    url: str = ""
    page: DiffPart | None = None


async def perform(records: Results, job: str, action: RequestedAction, env: Mapping[str, str]) -> ActionOutcome:
    """Perform an action on a job's result. Every failure is in the outcome."""
    if action.verb == "diff":
        return await _page(records, job, action)
    try:
        result = records.get(job, action.attempt)
        match action.verb:
            case "apply":
                return await _apply(result, by_agent=action.by_agent)
            case "branch":
                await results.branch(result, action.branch)
                detail = (
                    f"branch `{action.branch}` in `{result.repository}` has the job's changes{_on_snapshot(result)}"
                )
                return ActionOutcome(state="done", detail=detail, branch=action.branch)
            case "discard":
                for one in records.of_job(result.job):
                    await results.discard(one)
                    records.remove(one)
                return ActionOutcome(state="done", detail=f"the changes of `{result.job}` are discarded")
            case "pr":
                wanted = _request(result, action)
                url = await pull_request.open_request(result, wanted, env)
                return ActionOutcome(state="done", detail=f"opened {url}", branch=wanted.branch, url=url[:2_000])
    except NoResult as error:
        return ActionOutcome(state="failed", code="no_result", detail=str(error)[:_LONGEST])
    except PullRequestRefused as error:
        return ActionOutcome(state="failed", code=error.code, detail=str(error)[:_LONGEST])
    except (GitError, OSError) as error:
        return ActionOutcome(state="failed", code="git_failed", detail=str(error)[:_LONGEST])


def action_of(body: dict[str, Any]) -> RequestedAction | None:
    """Parse the server's action, or return None if this runner is too old."""
    try:
        return msgspec.convert(body, RequestedAction)
    except msgspec.ValidationError:
        return None


async def _page(records: Results, job: str, action: RequestedAction) -> ActionOutcome:
    place = DiffPart(path=action.path, offset=action.offset)
    try:
        result = records.get(job, action.attempt)
        text, after = await results.difference_page(result, action.path, action.offset)
    except (NoResult, GitError, OSError) as error:
        page = msgspec.structs.replace(place, error=str(error)[:_LONGEST] or "git failed")
        return ActionOutcome(state="failed", code="no_result", detail=page.error, page=page)
    page = msgspec.structs.replace(place, text=text, next_offset=after)
    return ActionOutcome(state="done", detail=f"sent {len(text)} characters of the diff", page=page)


async def _apply(result: Result, *, by_agent: bool) -> ActionOutcome:
    try:
        files = await results.apply(result, by_agent=by_agent)
    except ApplyRefused as error:
        reasons = [reason[:_LONGEST] for reason in error.reasons[:MOST_REASONS]]
        detail = f"nothing was written to `{result.repository}`"
        return ActionOutcome(state="refused", code=error.code, detail=detail, reasons=reasons)
    count = f"{len(files)} changed file{'' if len(files) == 1 else 's'}"
    detail = f"applied {count} to `{result.repository}`; nothing is staged or committed"
    return ActionOutcome(state="done", detail=detail, changed=len(files))


def _on_snapshot(result: Result) -> str:
    return "" if result.base == result.head else ", on top of a snapshot of the uncommitted changes at its start"


def _request(result: Result, action: RequestedAction) -> PullRequest:
    return PullRequest(
        branch=action.branch or f"baton/{result.job[:16]}",
        title=action.title or f"Changes of {result.job}",
        body=action.body or f"Made by a coding agent, delegated with Baton as `{result.job}`.",
        target=action.target,
        draft=action.draft,
    )
