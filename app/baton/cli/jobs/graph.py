"""`baton jobs graph`: create task graphs, show them, start their tasks wave by wave, and report on them."""

import json
import sys
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from baton.cli.groups import group
from baton.cli.jobs.arguments import (
    Concurrent,
    Inactivity,
    Isolation,
    QueueExpiry,
    Thread,
    Timeout,
    Workspace,
    arguments,
)
from baton.cli.jobs.spawn import By, Model, Outcome, Roster, Thinking, Tools, Why, fields, show_plan
from baton.cli.options import AsJson, Everybody, Limit, UsageError, path_of, span_of
from baton.cli.output import end_with_json, plain, show_table
from baton.local.server import Api, ApiError

app = group("Run dependent tasks in waves.")
GraphId = Annotated[str, typer.Argument(help="The graph.")]
MILLISECOND = timedelta(milliseconds=1)
TaskName = Annotated[str, typer.Argument(help="The task.")]
Detail = Annotated[str, typer.Option(help="A note, shown with the state.")]


@app.command()
def create(
    file: Annotated[str, typer.Argument(help="A JSON file with the tasks by name; `-` for standard input.")],
    session: Annotated[str, typer.Option(help="Its session.")],
    guidance: Annotated[bool, typer.Option("--guidance", help="Count violations of waves; refuse nothing.")] = False,
    ready: Annotated[
        bool, typer.Option("--ready", help="A task waits for its own dependencies, not for its wave.")
    ] = False,
    window: Annotated[
        timedelta,
        typer.Option(
            parser=span_of(MILLISECOND), metavar="SPAN", help="How long a wave stays open, such as 500ms, 2s."
        ),
    ] = "500ms",  # type: ignore[assignment]  # the parser reads it
    auto_spawn: Annotated[
        bool | None,
        typer.Option("--auto-spawn/--refuse", help="Start or refuse the rest of a wave when its window closes."),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Run its tasks on your runners.")] = False,
    workspace: Workspace = "",
    roster: Roster = "",
    as_json: AsJson = False,
) -> None:
    """Create a graph of tasks: {"task_a": {"description": …, "agent_type": …, "depends_on": […]}, …}."""
    body = {
        "session_id": session,
        "tasks": _tasks(file),
        "level": "guidance" if guidance else "strict",
        "barrier": "ready" if ready else "wave",
        "window_ms": window // MILLISECOND,
        "execute": "run" if run else "plan",
        "workspace": workspace,
        "roster": roster,
    }
    if auto_spawn is not None:
        body["on_window_close"] = "auto_spawn" if auto_spawn else "refuse"
    _show(Api().request("POST", "/graphs", body=body), as_json=as_json)


@app.command("list")
def list_(
    session: Annotated[str, typer.Option(help="Only of this session.")] = "",
    limit: Limit = 20,
    everybody: Everybody = True,
    as_json: AsJson = False,
) -> None:
    """List graphs, the newest first."""
    query = {"limit": str(limit)} | ({"session_id": session} if session else {})
    items = Api(administer=everybody).request("GET", "/graphs", query=query)["items"]
    end_with_json(items, when=as_json)
    rows = [(one["id"], one["state"], len(one["tasks"]), one["user"], one["session_id"]) for one in items]
    show_table(("id", "state", "tasks", "user", "session"), rows, none="No graphs.")


@app.command()
def show(graph_id: GraphId, as_json: AsJson = False) -> None:
    """Show a graph's waves and the state of each task."""
    _show(Api().request("GET", path_of("graphs", graph_id)), as_json=as_json)


@app.command()
def spawn(
    graph_id: GraphId,
    task: Annotated[list[str] | None, typer.Argument(help="The tasks. Default: all tasks ready to start.")] = None,
    prompt: Annotated[str, typer.Option(help="The task, instead of the graph's description.")] = "",
    by: By = "",
    reason: Why = "",
    outcome: Outcome = "",
    tools: Tools = "",
    model: Model = "",
    thinking: Thinking = 0,
    workspace: Workspace = "",
    isolation: Isolation = "",
    timeout: Timeout = None,
    inactivity_timeout: Inactivity = None,
    thread: Thread = "",
    concurrent: Concurrent = False,
    queue_expiry: QueueExpiry = None,
    as_json: AsJson = False,
) -> None:
    """Start tasks at the same moment, all or none."""
    body = fields(prompt=prompt, by=by, reason=reason, outcome=outcome, tools=tools, model=model, thinking=thinking)
    body = {name: value for name, value in body.items() if value} | arguments(
        workspace=workspace,
        isolation=isolation,
        timeout=timeout,
        inactivity_timeout=inactivity_timeout,
        thread=thread,
        concurrent=concurrent,
        queue_expiry=queue_expiry,
    )
    if task:
        body["tasks"] = {name: {} for name in task}
    done = Api().request("POST", f"{path_of('graphs', graph_id)}/spawn:batch", body=body)
    end_with_json(done, when=as_json)
    for plan in done["spawned"]:
        show_plan(plan)


@app.command()
def complete(graph_id: GraphId, task: TaskName, detail: Detail = "", as_json: AsJson = False) -> None:
    """Mark a task without a runner as completed."""
    _end(graph_id, task, "complete", detail, as_json=as_json)


@app.command()
def fail(graph_id: GraphId, task: TaskName, detail: Detail = "", as_json: AsJson = False) -> None:
    """Mark a task without a runner as failed; the tasks depending on it are skipped."""
    _end(graph_id, task, "fail", detail, as_json=as_json)


@app.command()
def reopen(
    graph_id: GraphId, wave: Annotated[int, typer.Argument(help="The wave, from 1.")], as_json: AsJson = False
) -> None:
    """Reopen a wave closed with tasks left; it is recorded as a violation."""
    _show(Api().request("POST", path_of("graphs", graph_id, "waves", wave, "reopen")), as_json=as_json)


@app.command()
def report(
    graph_id: Annotated[str, typer.Argument(help="The graph.")] = "",
    session: Annotated[str, typer.Option(help="All graphs of this session.")] = "",
    as_json: AsJson = False,
) -> None:
    """Report how well waves were started in parallel, and the violations."""
    if bool(graph_id) == bool(session):
        raise UsageError("name a graph, or a session with --session")
    path = path_of("sessions", session, "compliance") if session else path_of("graphs", graph_id, "compliance")
    found = Api().request("GET", path)
    end_with_json(found, when=as_json)
    for one in found["graphs"] if session else [found]:
        _report(one)


def _tasks(file: str) -> Any:
    try:
        tasks = json.loads(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ApiError(f"`{file}` cannot be read as JSON: {error}") from None
    inner = tasks.get("tasks") if isinstance(tasks, dict) else None
    return inner if isinstance(inner, dict) and "agent_type" not in inner else tasks


def _end(graph_id: str, task: str, how: str, detail: str, *, as_json: bool) -> None:
    path = path_of("graphs", graph_id, "tasks", task, how)
    _show(Api().request("POST", path, query={"detail": detail} if detail else {}), as_json=as_json)


def _show(graph: dict[str, Any], *, as_json: bool) -> None:
    end_with_json(graph, when=as_json)
    rules = (
        f"{graph['level']}, barrier {graph['barrier']}, window {graph['window_ms']} ms, then {graph['on_window_close']}"
    )
    print(f"{graph['id']}  {graph['state']}  {rules}, {graph['execute']}")
    for number, wave in enumerate(graph["waves"], 1):
        print(f"  wave {number}")
        for name in wave:
            task = graph["tasks"][name]
            after = f" after {', '.join(task['depends_on'])}" if task["depends_on"] else ""
            detail = f": {task['detail']}" if "detail" in task else ""
            print(plain(f"    {name}  {task['agent_type']}{after}  {task['state']}{detail}"))


def _report(one: dict[str, Any]) -> None:
    print(f"{one['graph_id']}  {'compliant' if one['compliant'] else 'not compliant'} ({one['level']})")
    for wave in one["waves"]:
        spread = f"spread {wave['spread_ms']:.0f} ms" if "spread_ms" in wave else "not started"
        auto = f", the server started {', '.join(wave['auto_spawned'])}" if wave["auto_spawned"] else ""
        left = f"; never started: {', '.join(wave['never_started'])}" if wave["never_started"] else ""
        print(plain(f"  wave {wave['wave']}  {wave['spawned']} of {len(wave['tasks'])} started, {spread}{auto}{left}"))
    for entry in one["log"]:
        refused = ", refused" if entry["refused"] else ""
        print(plain(f"  {entry['at']}  {entry['kind']}{refused}: {entry['detail']}"))
