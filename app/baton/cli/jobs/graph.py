"""`baton graph`: task graphs made, looked at, started wave by wave, reported on. It judges nothing: the server does."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.jobs.spawn import By, Model, Outcome, Roster, Thinking, Tools, Why, Workspace, fields, show_plan
from baton.cli.output import show_json
from baton.local.server import Api, ApiError

app = group("Run tasks that depend on each other, wave by wave.")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
GraphId = Annotated[str, typer.Argument(help="The graph.")]
TaskName = Annotated[str, typer.Argument(help="The task.")]
Detail = Annotated[str, typer.Option(help="What is kept beside the state.")]


@app.command()
def create(
    file: Annotated[str, typer.Argument(help="A JSON file with the tasks by name; `-` for standard input.")],
    session: Annotated[str, typer.Option(help="The session that it belongs to.")],
    guidance: Annotated[bool, typer.Option("--guidance", help="Count what breaks a wave; refuse nothing.")] = False,
    ready: Annotated[bool, typer.Option("--ready", help="A task waits for its own dependencies, not a wave.")] = False,
    window: Annotated[int, typer.Option(min=1, help="How long a wave stays open, in ms.")] = 500,
    auto_spawn: Annotated[
        bool | None,
        typer.Option("--auto-spawn/--refuse", help="What becomes of the rest of a wave when its window closes."),
    ] = None,
    run: Annotated[bool, typer.Option("--run", help="Have your runners run its tasks.")] = False,
    workspace: Workspace = "",
    roster: Roster = "",
    as_json: AsJson = False,
) -> None:
    """Make a graph of tasks: {"task_a": {"description": …, "agent_type": …, "depends_on": […]}, …}."""
    body = {
        "session_id": session,
        "tasks": _tasks(file),
        "level": "guidance" if guidance else "strict",
        "barrier": "ready" if ready else "wave",
        "window_ms": window,
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
    limit: Annotated[int, typer.Option(help="At most so many.")] = 20,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's, on a server without tokens.")] = False,
    as_json: AsJson = False,
) -> None:
    """List graphs, the newest first."""
    query = {"limit": str(limit)} | ({"session_id": session} if session else {})
    items = Api(administer=everybody).request("GET", "/graphs", query=query)["items"]
    if as_json:
        show_json(items)
        return
    if not items:
        print("No graphs.")
    for one in items:
        print(f"{one['id']}  {one['state']}  {len(one['tasks'])} tasks  {one['user']}  session {one['session_id']}")


@app.command()
def show(graph_id: GraphId, as_json: AsJson = False) -> None:
    """Show a graph's waves and the state of each task."""
    _show(Api().request("GET", _path(graph_id)), as_json=as_json)


@app.command()
def spawn(
    graph_id: GraphId,
    task: Annotated[list[str] | None, typer.Argument(help="The tasks; all that may start now without any.")] = None,
    prompt: Annotated[str, typer.Option(help="In place of what the graph says.")] = "",
    by: By = "",
    reason: Why = "",
    outcome: Outcome = "",
    tools: Tools = "",
    model: Model = "",
    thinking: Thinking = 0,
    as_json: AsJson = False,
) -> None:
    """Start tasks at one moment, all or none."""
    body = fields(prompt=prompt, by=by, reason=reason, outcome=outcome, tools=tools, model=model, thinking=thinking)
    body = {name: value for name, value in body.items() if value}
    if task:
        body["tasks"] = {name: {} for name in task}
    done = Api().request("POST", f"{_path(graph_id)}/spawn:batch", body=body)
    if as_json:
        show_json(done)
        return
    for plan in done["spawned"]:
        show_plan(plan)


@app.command()
def complete(graph_id: GraphId, task: TaskName, detail: Detail = "") -> None:
    """Say that a task is done that no runner runs."""
    _end(graph_id, task, "complete", detail)


@app.command()
def fail(graph_id: GraphId, task: TaskName, detail: Detail = "") -> None:
    """Give up a task that no runner runs; what depends on it is skipped."""
    _end(graph_id, task, "fail", detail)


@app.command()
def reopen(graph_id: GraphId, wave: Annotated[int, typer.Argument(help="The wave, from 1.")]) -> None:
    """Open a wave again whose window closed with tasks left; it is recorded as a violation."""
    _show(Api().request("POST", f"{_path(graph_id)}/waves/{wave}/reopen"), as_json=False)


@app.command()
def report(
    graph_id: Annotated[str, typer.Argument(help="The graph; with --session all of the session's.")] = "",
    session: Annotated[str, typer.Option(help="A session.")] = "",
    as_json: AsJson = False,
) -> None:
    """Report how well waves were started in parallel, and what was broken."""
    if bool(graph_id) == bool(session):
        raise ApiError("name a graph, or a session with --session")
    path = f"/sessions/{quote(session, safe='')}/compliance" if session else f"{_path(graph_id)}/compliance"
    found = Api().request("GET", path)
    if as_json:
        show_json(found)
        return
    for one in found["graphs"] if session else [found]:
        _report(one)


def _tasks(file: str) -> Any:
    try:
        tasks = json.loads(sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ApiError(f"`{file}` cannot be read as JSON: {error}") from None
    inner = tasks.get("tasks") if isinstance(tasks, dict) else None
    return inner if isinstance(inner, dict) and "agent_type" not in inner else tasks


def _end(graph_id: str, task: str, how: str, detail: str) -> None:
    query = {"detail": detail} if detail else {}
    _show(Api().request("POST", f"{_path(graph_id)}/tasks/{quote(task, safe='')}/{how}", query=query), as_json=False)


def _show(graph: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(graph)
        return
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
            print(f"    {name}  {task['agent_type']}{after}  {task['state']}{detail}")


def _report(one: dict[str, Any]) -> None:
    print(f"{one['graph_id']}  {'compliant' if one['compliant'] else 'not compliant'} ({one['level']})")
    for wave in one["waves"]:
        spread = f"spread {wave['spread_ms']:.0f} ms" if "spread_ms" in wave else "not started"
        auto = f", the server started {', '.join(wave['auto_spawned'])}" if wave["auto_spawned"] else ""
        print(f"  wave {wave['wave']}  {wave['spawned']} of {len(wave['tasks'])} started, {spread}{auto}")
    for entry in one["log"]:
        print(f"  {entry['at']}  {entry['kind']}: {entry['detail']}")


def _path(graph_id: str) -> str:
    return f"/graphs/{quote(graph_id, safe='')}"
