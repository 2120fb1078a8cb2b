"""`baton session`: lists agents' sessions, shows one and its timeline, exports that, resets its look-ups."""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Everybody, Reason, path_of
from baton.cli.output import end_with_json, plain, show_table
from baton.local.server import Api

app = group("List agents' sessions; show, export and reset one.")
SessionId = Annotated[str, typer.Argument(help="The session.")]
LONGEST = 100
"""Characters of what happened that a table shows."""
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        help="Only prompt, route, decision, spawn, job, question, mode or session; may be given several times."
    ),
]
User = Annotated[str, typer.Option(help="Only this user's sessions.")]


@app.command("list")
def list_(user: User = "", everybody: Everybody = True, as_json: AsJson = False) -> None:
    """List the sessions of the last seven days, the last active first."""
    sessions = Api(administer=everybody).pages("/sessions", {"user": user} if user else {})
    end_with_json(sessions, when=as_json)
    columns = ("session_id", "user", "client", "project", "calls", "blocked", "asked", "last_at")
    rows = [[one.get(name) or "-" if name == "project" else one[name] for name in columns] for one in sessions]
    show_table(("session", *columns[1:-1], "last call"), rows, none="No sessions.")


@app.command()
def show(session_id: SessionId, user: User = "", everybody: Everybody = False, as_json: AsJson = False) -> None:
    """Show one session: its mode, look-ups, background tasks and exceptions."""
    one = Api(administer=everybody).request("GET", path_of("sessions", session_id), query={"user": user})
    end_with_json(one, when=as_json)
    calls = f"{one['calls']} calls, {one['blocked']} blocked, {one['asked']} asked, the last at {one['last_at']}"
    print(plain(f"{one['session_id']}  {one['user']}  {one['client']}  {one['project'] or '-'}  {calls}"))
    mode = one["mode"]
    print(f"  mode: {'on, ' + mode['level'] if mode['enabled'] else 'off'} (scope {mode['scope']})")
    past = one.get("past")
    if past is None:
        print("  Redis is unavailable, so its lookups are unknown")
    else:
        where = f"project {past['project'] or '-'} in {past['root'] or '-'}"
        print(plain(f"  {where}; background tasks: {past['background_running']}"))
        for agent, tools in sorted(past["calls"].items()):
            print(plain(f"  {agent}: {', '.join(tools)}"))
    for each in one["exceptions"]:
        until = f"{each['state']} until {each['expires_at']}"
        print(plain(f"  exception {until}: {each['rule']} for `{each['shape']}` ({each['reason']})"))


@app.command()
def timeline(
    session_id: SessionId, kind: Kinds = None, user: User = "", everybody: Everybody = False, as_json: AsJson = False
) -> None:
    """Show a session's timeline, oldest first: prompts, routes, calls, agents, jobs and modes."""
    query: dict[str, str | list[str]] = {"user": user, "kind": kind or []}
    items = Api(administer=everybody).pages(path_of("sessions", session_id, "timeline"), query)
    end_with_json(items, when=as_json)
    show_table(("at", "kind", "agent", "what", "result", "usd"), map(_row, items), none="Nothing of these kinds.")


@app.command()
def export(
    session_id: SessionId,
    file_format: Annotated[
        Literal["html", "ndjson"], typer.Option("--format", help="One page, or one item a line.")
    ] = "html",
    output: Annotated[Path | None, typer.Option(help="The file; by default it is printed.")] = None,
    user: User = "",
    everybody: Everybody = False,
) -> None:
    """Export a session's timeline as a file viewable without a server."""
    query = {"format": file_format, "user": user}
    parts = Api(administer=everybody).content(path_of("sessions", session_id, "timeline", "export"), query)
    if output is None:
        for part in parts:
            sys.stdout.buffer.write(part)
        sys.stdout.buffer.flush()
        return
    # The first part is there before the file is: a refusal leaves no empty file behind.
    first = next(parts, b"")
    with output.open("wb") as file:
        file.write(first)
        file.writelines(parts)
    print(f"The timeline of session {plain(session_id)} is in {output}.")


@app.command()
def reset(
    session_id: SessionId, user: User = "", reason: Reason = "", everybody: Everybody = False, as_json: AsJson = False
) -> None:
    """Reset a session's look-ups, so that its next one counts as the first."""
    Api(administer=everybody).request(
        "POST", path_of("sessions", session_id, "reset"), query={"user": user, "reason": reason}
    )
    end_with_json({"reset": session_id}, when=as_json)
    print(f"The lookups of session {session_id} are reset.")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    call, job, mode = one.get("decision", {}), one.get("job"), one.get("mode")
    usd = f"{one['usd']:.4f}" if "usd" in one else ""
    if job:
        what = f"{job['job']} {job['description']}"[:LONGEST]
        agent, result = job["agent_type"] or job["provider"], f"{job['state'] or job['type']} {job['error']}"
    elif mode:
        agent, what = mode["actor"], f"{mode['action']} {mode['scope']} {mode['reason']}"
        result = f"on, {mode['level']}" if mode["enabled"] else "off"
    elif one["kind"] == "route":
        agent, what = "", f"{call.get('routed_to', 'no agent')} by {call['routed_by']}"
        result = f"{call['confidence']:.0%}"
    else:
        agent = call.get("agent_type") or call.get("agent_id") or "main"
        texts = (call.get(name) for name in ("tool", "started_agent", "command"))
        what = call.get("prompt") or " ".join(filter(None, (*texts, *call["paths"]))) or call["event"]
        result = " ".join(filter(None, (call["decision"], call.get("outcome"))))
    return f"{one['at'][:19]}Z", one["kind"], agent, what[:LONGEST], result.strip(), usd
