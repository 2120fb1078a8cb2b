"""`baton jobs`: delegated tasks listed, watched, cancelled, approved, tried again. It starts none: `baton delegate` does."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.jobs.follow import follow as follow_job
from baton.cli.jobs.job_card import plain
from baton.cli.output import show_json
from baton.local.server import Api

app = group("List, follow, approve, cancel and retry delegated jobs.")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Everybody = Annotated[bool, typer.Option("--all", help="Everybody's, on a server without tokens.")]
JobId = Annotated[str, typer.Argument(help="The job.")]


@app.command("list")
def list_(
    session: Annotated[str, typer.Option(help="Only of this session.")] = "",
    state: Annotated[str, typer.Option(help="Only in this state.")] = "",
    provider: Annotated[str, typer.Option(help="Only of this agent.")] = "",
    user: Annotated[str, typer.Option(help="Only of this user.")] = "",
    limit: Annotated[int, typer.Option(help="At most so many.")] = 20,
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
    if not items:
        print("No jobs.")
    for one in items:
        print(_line(one))


@app.command()
def show(
    job_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", help="Show what the agent does; Ctrl-C cancels it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one job."""
    api = Api()
    one = api.request("GET", _path(job_id))
    if follow:
        raise typer.Exit(follow_job(api, one["id"]))
    if as_json:
        show_json(one)
        return
    print(_line(one))
    print(f"  session {one['session_id']}, workspace {one['workspace'] or '-'}, attempt {one['attempt']}")
    usage = one["usage"]
    print(f"  {usage['input_tokens']} tokens in, {usage['output_tokens']} out, {one['events']} events")
    if one.get("error"):
        print(f"  {plain(one['error']['detail'])} ({one['error']['code']})")
    for name in one["depends_on"]:
        print(f"  after {name}")
    print(one["prompt"])


@app.command()
def output(job_id: JobId) -> None:
    """Print what the agent answered, so far where it is still at work."""
    print(Api().request("GET", f"{_path(job_id)}/output")["output"])


@app.command()
def cancel(job_id: JobId) -> None:
    """Cancel a job."""
    one = Api().request("POST", f"{_path(job_id)}/cancel")
    print(f"Job {one['id']} is {one['state']}" + ("." if one["state"] == "cancelled" else ", to be cancelled."))


@app.command()
def approve(job_id: JobId) -> None:
    """Let a job run that waits for approval."""
    one = Api().request("POST", f"{_path(job_id)}/approve")
    print(f"Job {one['id']} is {one['state']}.")


@app.command()
def retry(job_id: JobId) -> None:
    """Try a job once more that did not complete."""
    one = Api().request("POST", f"{_path(job_id)}/retry")
    print(f"Job {one['id']} is {one['state']}.")


@app.command()
def permissions(
    job_id: JobId,
    allow: Annotated[str, typer.Option(help="Allow this one.")] = "",
    deny: Annotated[str, typer.Option(help="Deny this one.")] = "",
    reason: Annotated[str, typer.Option(help="Why.")] = "",
    as_json: AsJson = False,
) -> None:
    """List what a job's agent asked leave for, or answer."""
    api, path = Api(), f"{_path(job_id)}/permissions"
    for name, answer in ((allow, "allow"), (deny, "deny")):
        if name:
            one = api.request("POST", f"{path}/{quote(name, safe='')}", body={"answer": answer, "reason": reason})
            print(f"{one['id']} is {one['state']}.")
    if allow or deny:
        return
    items = api.request("GET", path)["items"]
    if as_json:
        show_json(items)
        return
    if not items:
        print("It asked for nothing.")
    for one in items:
        request = one["request"]
        by = f" by {one['decided_user'] or one['decided_by']}" if one["decided_by"] else f" until {one['deadline']}"
        print(f"{one['id']}  {one['state']}{by}  {plain(request['title'] or request['tool_name'])}")


def _path(job_id: str) -> str:
    return f"/jobs/{quote(job_id, safe='')}"


def _line(one: dict[str, Any]) -> str:
    progress = f"  ({plain(one['progress'])})" if one["progress"] and one["state"] == "running" else ""
    return f"{one['id']}  {one['state']:<19} {one['provider']:<11} {one['user']}  {one['title']}{progress}"
