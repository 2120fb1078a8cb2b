"""`baton session`: list agents' sessions, show one, reset its look-ups."""

from typing import Annotated
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Everybody, Reason
from baton.cli.output import plain, show_json, show_table
from baton.local.server import Api

app = group("List agents' sessions, show and reset one.")
SessionId = Annotated[str, typer.Argument(help="The session.")]
User = Annotated[str, typer.Option(help="Only this user's sessions.")]


@app.command("list")
def list_(user: User = "", everybody: Everybody = False, as_json: AsJson = False) -> None:
    """List the sessions of the last seven days, the last active first."""
    sessions = Api(administer=everybody).pages("/sessions", {"user": user} if user else {})
    if as_json:
        show_json(sessions)
        return
    columns = ("session_id", "user", "client", "project", "calls", "blocked", "asked", "last_at")
    rows = [[one.get(name) or "-" if name == "project" else one[name] for name in columns] for one in sessions]
    show_table(("session", *columns[1:-1], "last call"), rows, none="No sessions.")


@app.command()
def show(session_id: SessionId, user: User = "", everybody: Everybody = False, as_json: AsJson = False) -> None:
    """Show one session: its mode, look-ups, background tasks and overrides."""
    query = {"user": user} if user else {}
    one = Api(administer=everybody).request("GET", _path(session_id), query=query)
    if as_json:
        show_json(one)
        return
    calls = f"{one['calls']} calls, {one['blocked']} blocked, {one['asked']} asked, the last at {one['last_at']}"
    print(plain(f"{one['session_id']}  {one['user']}  {one['client']}  {one['project'] or '-'}  {calls}"))
    mode = one["mode"]
    print(f"  mode: {'on, ' + mode['level'] if mode['enabled'] else 'off'} (scope {mode['scope']})")
    past = one.get("past")
    if past is None:
        print("  Redis cannot be reached, so its look-ups are unknown")
    else:
        where = f"project {past['project'] or '-'} in {past['root'] or '-'}"
        print(plain(f"  {where}; background tasks: {past['background_running']}"))
        for agent, tools in sorted(past["calls"].items()):
            print(plain(f"  {agent}: {', '.join(tools)}"))
    for override in one["overrides"]:
        print(plain(f"  lifted until {override['expires_at']}: {override['rule']} ({override['reason']})"))


@app.command()
def reset(
    session_id: SessionId,
    user: User = "",
    reason: Reason = "",
    everybody: Everybody = False,
    as_json: AsJson = False,
) -> None:
    """Reset a session's look-ups, so that its next one counts as the first."""
    query = {name: value for name, value in (("user", user), ("reason", reason)) if value}
    Api(administer=everybody).request("POST", f"{_path(session_id)}/reset", query=query)
    if as_json:
        show_json({"reset": session_id})
        return
    print(f"The look-ups of session {session_id} are reset.")


def _path(session_id: str) -> str:
    return f"/sessions/{quote(session_id, safe='')}"
