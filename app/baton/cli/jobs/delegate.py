"""`baton delegate`: delegates a task to another agent, on the machine of `baton runner`."""

import sys
from typing import Annotated, Any

import typer

from baton.cli.jobs.arguments import (
    Concurrent,
    Inactivity,
    Isolation,
    QueueExpiry,
    Thread,
    Timeout,
    Workspace,
    Worktree,
    arguments,
)
from baton.cli.jobs.follow import follow as follow_job
from baton.cli.jobs.job_card import waiting_line
from baton.cli.options import AsJson
from baton.cli.output import end_with_json, plain
from baton.local.server import Api


def delegate(
    prompt: Annotated[str, typer.Argument(help="The exact instruction for the agent.")],
    provider: Annotated[str, typer.Option(help="An agent served by your runners. Default: codex.")] = "",
    workspace: Workspace = "",
    description: Annotated[str, typer.Option(help="One line for people.")] = "",
    session: Annotated[str, typer.Option(help="The delegating session.")] = "",
    model: Annotated[str, typer.Option(help="The agent's model.")] = "",
    after: Annotated[list[str] | None, typer.Option(help="A job to wait for; may be repeated.")] = None,
    ask: Annotated[bool, typer.Option("--ask", help="Wait for `baton jobs approve` before it runs.")] = False,
    isolation: Isolation = "",
    worktree: Worktree = False,
    timeout: Timeout = None,
    inactivity_timeout: Inactivity = None,
    thread: Thread = "",
    concurrent: Concurrent = False,
    queue_expiry: QueueExpiry = None,
    key: Annotated[str, typer.Option(help="Idempotency key: with the same key, the same job is returned.")] = "",
    follow: Annotated[bool, typer.Option("--follow", help="Follow the agent; Ctrl-C cancels it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Delegate a task to another agent.

    With --follow the exit status is 0 if the job completed, 1 if it failed or was skipped, 130 if it was cancelled, and
    75 if no server answered for ten minutes; the job continues then.
    """
    body: dict[str, Any] = {
        "user_prompt": prompt,
        "provider": provider or None,
        "description": description,
        "session_id": session,
        "model": model,
        "depends_on": after or [],
        "approval": "ask" if ask else "none",
        **arguments(
            workspace=workspace,
            isolation=isolation,
            worktree=worktree,
            timeout=timeout,
            inactivity_timeout=inactivity_timeout,
            thread=thread,
            concurrent=concurrent,
            queue_expiry=queue_expiry,
        ),
    }
    api = Api()
    answer = api.request("POST", "/delegate", body=body, headers={"Idempotency-Key": key} if key else None)
    end_with_json(answer, when=as_json)
    job = answer["job"]
    if job.get("waiting"):
        from baton.cli.jobs import services  # it takes longer to import than most tasks take to submit

        services.offer_start(job["waiting"])
    if follow:
        raise typer.Exit(follow_job(api, job["id"]))
    print(plain(answer["acknowledgement"]))
    print(f"Job {job['id']} is {job['state']}. Follow it with: baton jobs show {job['id']} --follow")
    if job.get("waiting"):
        print(f"It is {waiting_line(job['waiting'])}", file=sys.stderr)
