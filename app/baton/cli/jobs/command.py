"""`baton jobs`: list, follow, cancel, approve and retry delegated jobs. `baton delegate` makes them."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.jobs import account
from baton.cli.jobs.follow import follow as follow_job
from baton.cli.jobs.job_card import waiting_line
from baton.cli.jobs.reply import comment, reply
from baton.cli.jobs.result import apply, branch, diff, discard, pr
from baton.cli.options import AsJson, Everybody, Limit
from baton.cli.output import plain, show_json, show_table
from baton.local.server import Api

app = group("List, follow, approve, cancel and retry delegated jobs; use what they changed.")
JobId = Annotated[str, typer.Argument(help="The job.")]


@app.command("list")
def list_(
    session: Annotated[str, typer.Option(help="Only of this session.")] = "",
    state: Annotated[str, typer.Option(help="Only in this state.")] = "",
    provider: Annotated[str, typer.Option(help="Only of this agent.")] = "",
    user: Annotated[str, typer.Option(help="Only of this user.")] = "",
    limit: Limit = 20,
    everybody: Everybody = False,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first."""
    asked = {"session_id": session, "state": state, "provider": provider, "user": user, "limit": str(limit)}
    query = {name: value for name, value in asked.items() if value}
    items = Api(administer=everybody).request("GET", "/jobs", query=query)["items"]
    if as_json:
        show_json(items)
        return
    show_table(("id", "state", "agent", "user", "title", "progress"), map(_row, items), none="No jobs.")


@app.command()
def show(
    job_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", help="Show what the agent does; Ctrl-C cancels it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one job.

    With --follow the exit status is 0 if the job completed, 1 if it failed or was skipped, 130 if it was cancelled, and 75 if
    no server answered for ten minutes; the job goes on then.
    """
    api = Api()
    one = api.request("GET", _path(job_id))
    if follow:
        raise typer.Exit(follow_job(api, one["id"]))
    if as_json:
        show_json(one)
        return
    print(plain("  ".join(filter(None, _row(one)))))
    print(f"  session {one['session_id']}, workspace {one['workspace'] or '-'}, attempt {one['attempt']}")
    print(*(f"  {plain(line)}\n" for line in account.lines(one)), sep="", end="")
    if one.get("waiting"):
        print(f"  {waiting_line(one['waiting'])}")
    if one.get("error"):
        print(f"  {plain(one['error']['detail'])} ({one['error']['code']})")
    if late := one.get("late_result"):
        print(f"  late result of attempt {late['attempt']}, which was over by then: {late['state']} at {late['at']}")
        for text in filter(None, (late["output"], late["error_detail"])):
            print("".join(f"    {line}\n" for line in plain(text).splitlines()), end="")
    for name in one["depends_on"]:
        print(f"  after {name}")
    print(plain(one["prompt"]))


@app.command()
def output(job_id: JobId, as_json: AsJson = False) -> None:
    """Print what the agent has answered so far."""
    answer = Api().request("GET", f"{_path(job_id)}/output")
    if as_json:
        show_json(answer)
        return
    print(plain(answer["output"]))


app.command()(diff)
app.command()(apply)
app.command()(branch)
app.command()(discard)
app.command()(pr)
app.command()(reply)
app.command()(comment)


@app.command()
def cancel(job_id: JobId, as_json: AsJson = False) -> None:
    """Cancel a job."""
    one = Api().request("POST", f"{_path(job_id)}/cancel")
    if as_json:
        show_json(one)
        return
    print(f"Job {one['id']} is {one['state']}" + ("." if one["state"] == "cancelled" else ", to be cancelled."))


@app.command()
def approve(job_id: JobId, as_json: AsJson = False) -> None:
    """Approve a job that waits for it, so that it runs."""
    _change(job_id, "approve", as_json=as_json)


@app.command()
def retry(job_id: JobId, as_json: AsJson = False) -> None:
    """Retry a job that did not complete."""
    _change(job_id, "retry", as_json=as_json)


@app.command()
def permissions(
    job_id: JobId,
    allow: Annotated[str, typer.Option(help="Allow this permission.")] = "",
    deny: Annotated[str, typer.Option(help="Deny this permission.")] = "",
    reason: Annotated[str, typer.Option(help="The reason.")] = "",
    as_json: AsJson = False,
) -> None:
    """List the permissions that a job's agent asked for, or answer them."""
    api, path = Api(), f"{_path(job_id)}/permissions"
    answers = [(name, answer) for name, answer in ((allow, "allow"), (deny, "deny")) if name]
    answered = [
        api.request("POST", f"{path}/{quote(name, safe='')}", body={"answer": answer, "reason": reason})
        for name, answer in answers
    ]
    if answered:
        if as_json:
            show_json(answered)
            return
        for one in answered:
            print(f"{one['id']} is {one['state']}.")
        return
    items = api.request("GET", path)["items"]
    if as_json:
        show_json(items)
        return
    rows = [
        (
            one["id"],
            one["state"],
            one["decided_user"] or one["decided_by"] or f"until {one['deadline']}",
            one["request"]["title"] or one["request"]["tool_name"],
        )
        for one in items
    ]
    show_table(("id", "state", "by", "for"), rows, none="The agent asked for no permission.")


def _change(job_id: str, how: str, *, as_json: bool) -> None:
    one = Api().request("POST", f"{_path(job_id)}/{how}")
    if as_json:
        show_json(one)
        return
    print(f"Job {one['id']} is {one['state']}.")


def _path(job_id: str) -> str:
    return f"/jobs/{quote(job_id, safe='')}"


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    progress = account.standing(one) or (one["progress"] if one["state"] == "running" else "")
    return one["id"], one["state"], one["provider"], one["user"], one["title"], progress
