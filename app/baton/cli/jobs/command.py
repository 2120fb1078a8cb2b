"""`baton jobs`: list, follow, cancel, approve and retry delegated jobs. `baton delegate` makes them."""

from typing import Annotated, Any

import typer

from baton.cli.groups import group
from baton.cli.jobs import arguments, graph
from baton.cli.jobs.follow import follow as follow_job
from baton.cli.jobs.job_card import waiting_line
from baton.cli.jobs.reply import comment, reply
from baton.cli.jobs.result import apply, branch, diff, discard, pr
from baton.cli.options import AsJson, Everybody, Limit, path_of
from baton.cli.output import end_with_json, plain, show_table
from baton.local.server import Api

app = group("List, follow, approve, cancel and retry delegated jobs; use their changes.")
app.add_typer(graph.app, name="graph")
JobId = Annotated[str, typer.Argument(help="The job.")]


@app.command("list")
def list_(
    session: Annotated[str, typer.Option(help="Only of this session.")] = "",
    state: Annotated[str, typer.Option(help="Only in this state.")] = "",
    provider: Annotated[str, typer.Option(help="Only of this agent.")] = "",
    user: Annotated[str, typer.Option(help="Only of this user.")] = "",
    limit: Limit = 20,
    everybody: Everybody = True,
    as_json: AsJson = False,
) -> None:
    """List jobs, the newest first."""
    query = {"session_id": session, "state": state, "provider": provider, "user": user, "limit": str(limit)}
    items = Api(administer=everybody).request("GET", "/jobs", query=query)["items"]
    end_with_json(items, when=as_json)
    show_table(("id", "state", "agent", "user", "title", "progress"), map(_row, items), none="No jobs.")


@app.command()
def show(
    job_id: JobId,
    follow: Annotated[bool, typer.Option("--follow", help="Follow the agent; Ctrl-C cancels it.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show one job.

    With --follow the exit status is 0 if the job completed, 1 if it failed or was skipped, 130 if it was cancelled, and
    75 if no server answered for ten minutes; the job continues then.
    """
    api = Api()
    one = api.request("GET", path_of("jobs", job_id))
    if follow:
        raise typer.Exit(follow_job(api, one["id"]))
    end_with_json(one, when=as_json)
    print(plain("  ".join(filter(None, _row(one)))))
    print(f"  session {one['session_id']}, workspace {one['workspace'] or '-'}, attempt {one['attempt']}")
    print(*(f"  {plain(line)}\n" for line in arguments.lines(one)), sep="", end="")
    if one.get("waiting"):
        print(f"  {waiting_line(one['waiting'])}")
    if one.get("error"):
        print(f"  {plain(one['error']['detail'])} ({one['error']['code']})")
    if late := one.get("late_result"):
        print(f"  late result of attempt {late['attempt']}, after its end: {late['state']} at {late['at']}")
        for text in filter(None, (late["output"], late["error_detail"])):
            print("".join(f"    {line}\n" for line in plain(text).splitlines()), end="")
    for name in one["depends_on"]:
        print(f"  after {name}")
    print(plain(one["prompt"]))


@app.command()
def output(job_id: JobId, as_json: AsJson = False) -> None:
    """Print the agent's answer so far."""
    answer = Api().request("GET", path_of("jobs", job_id, "output"))
    end_with_json(answer, when=as_json)
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
    one = Api().request("POST", path_of("jobs", job_id, "cancel"))
    end_with_json(one, when=as_json)
    print(f"Job {one['id']} is {one['state']}" + ("." if one["state"] == "cancelled" else ", to be cancelled."))


@app.command()
def approve(job_id: JobId, as_json: AsJson = False) -> None:
    """Approve a waiting job, so that it runs."""
    _change(job_id, "approve", as_json=as_json)


@app.command()
def retry(job_id: JobId, as_json: AsJson = False) -> None:
    """Retry an unsuccessful job."""
    _change(job_id, "retry", as_json=as_json)


def _change(job_id: str, how: str, *, as_json: bool) -> None:
    one = Api().request("POST", path_of("jobs", job_id, how))
    end_with_json(one, when=as_json)
    why = f": {plain(one['waiting']['detail'])}" if one.get("waiting") else ""
    print(f"Job {one['id']} is {one['state']}{why}.")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    progress = arguments.standing(one) or (one["progress"] if one["state"] == "running" else "")
    return one["id"], one["state"], one["provider"], one["user"], one["title"], progress
