"""`baton delegate`: delegate a task to another agent, which runs where `baton runner` does."""

import sys
from datetime import datetime, timedelta
from typing import Annotated, Any

import typer

from baton.cli.jobs.follow import follow as follow_job
from baton.cli.options import AsJson, UsageError, span_of
from baton.cli.output import show_json
from baton.local.server import Api

ALIVE = timedelta(minutes=1)
"""A runner that has been silent for longer does not run."""
SECOND = timedelta(seconds=1)


def delegate(
    prompt: Annotated[str, typer.Argument(help="The exact instruction for the agent.")],
    provider: Annotated[str, typer.Option(help="codex, claude_code, opencode or gemini.")] = "codex",
    workspace: Annotated[str, typer.Option(help="An alias of the runner's. Default: its first one.")] = "",
    description: Annotated[str, typer.Option(help="One line for people.")] = "",
    session: Annotated[str, typer.Option(help="The session that delegates.")] = "",
    model: Annotated[str, typer.Option(help="The agent's model.")] = "",
    after: Annotated[list[str] | None, typer.Option(help="A job that must complete first; may be repeated.")] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Wait for `baton jobs approve` before it runs.")] = False,
    worktree: Annotated[bool, typer.Option("--worktree", help="Work on a copy of the workspace.")] = False,
    timeout: Annotated[
        timedelta,
        typer.Option(parser=span_of(SECOND), metavar="SPAN", help="How long the agent may take, such as 90s, 5m."),
    ] = "5m",  # type: ignore[assignment]  # the parser reads it
    key: Annotated[str, typer.Option(help="Idempotency key: with the same key, the same job is returned.")] = "",
    follow: Annotated[bool, typer.Option("--follow", help="Show what the agent does; Ctrl-C cancels it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delegate a task to another agent."""
    if timeout % SECOND:
        raise UsageError("an agent's time is whole seconds; give a span such as `90s`")
    body: dict[str, Any] = {
        "user_prompt": prompt,
        "provider": provider,
        "workspace": workspace,
        "description": description,
        "session_id": session,
        "model": model,
        "depends_on": after or [],
        "approval": "ask" if ask else "none",
        "isolation": "worktree" if worktree else "in_place",
        "timeout_s": timeout // SECOND,
    }
    api = Api()
    answer = api.request("POST", "/delegate", body=body, headers={"Idempotency-Key": key} if key else None)
    if as_json:
        show_json(answer)
        return
    job = answer["job"]
    if job["state"] == "queued" and not _served(api, job):
        print(f"No runner of yours serves `{job['provider']}` now; start one with: baton runner run", file=sys.stderr)
    if follow:
        raise typer.Exit(follow_job(api, job["id"]))
    print(answer["acknowledgement"])
    print(f"Job {job['id']} is {job['state']}. Follow it with: baton jobs show {job['id']} --follow")


def _served(api: Api, job: dict[str, Any]) -> bool:
    """Check whether a runner that would take a job was active in the minute before the job was made."""
    made = datetime.fromisoformat(job["created_at"])
    return any(
        (one["user"] == job["user"] or one["shared"])
        and job["provider"] in one["providers"]
        and job["workspace"] in {"", *one["workspaces"]}
        and made - datetime.fromisoformat(one["last_seen"]) < ALIVE
        for one in api.request("GET", "/runners")["items"]
    )
