"""`baton session`: sessions listed, looked into, their look-ups reset. It decides no call."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.output import show_json
from baton.local.server import Api

app = group("List agents' sessions, show and reset one.")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Everybody = Annotated[bool, typer.Option("--all", help="Everybody's, on a server without tokens.")]
SessionId = Annotated[str, typer.Argument(help="The session.")]
User = Annotated[str, typer.Option(help="Whose.")]


@app.command("list")
def list_(user: User = "", everybody: Everybody = False, as_json: AsJson = False) -> None:
    """List the sessions of the last seven days, that of the newest call first."""
    query = {"user": user} if user else {}
    items = Api(administer=everybody).pages("/sessions", query)
    if as_json:
        show_json(items)
        return
    if not items:
        print("No sessions.")
    for one in items:
        print(_line(one))


@app.command()
def show(session_id: SessionId, user: User = "", everybody: Everybody = False, as_json: AsJson = False) -> None:
    """Show one session: its mode, look-ups, background tasks and overrides."""
    query = {"user": user} if user else {}
    one = Api(administer=everybody).request("GET", f"/sessions/{quote(session_id, safe='')}", query=query)
    if as_json:
        show_json(one)
        return
    mode = one["mode"]
    print(_line(one))
    print(f"  mode: {'on, ' + mode['level'] if mode['enabled'] else 'off'} (scope {mode['scope']})")
    past = one.get("past")
    if past is None:
        print("  Redis is away; its look-ups are not known")
    else:
        print(f"  project {past['project'] or '-'} in {past['root'] or '-'}; background {past['background_running']}")
        for agent, tools in sorted(past["calls"].items()):
            print(f"  {agent}: {', '.join(tools)}")
    for override in one["overrides"]:
        print(f"  lifted until {override['expires_at']}: {override['rule']} ({override['reason']})")


@app.command()
def reset(
    session_id: SessionId,
    user: User = "",
    reason: Annotated[str, typer.Option(help="Why; it is kept in the audit log.")] = "",
    everybody: Everybody = False,
) -> None:
    """Forget a session's look-ups, so that its next one counts as the first."""
    query = {name: value for name, value in (("user", user), ("reason", reason)) if value}
    Api(administer=everybody).request("POST", f"/sessions/{quote(session_id, safe='')}/reset", query=query)
    print(f"Session {session_id} starts its look-ups anew.")


def _line(one: dict[str, Any]) -> str:
    calls = f"{one['calls']} call{'' if one['calls'] == 1 else 's'}, {one['blocked']} blocked, {one['asked']} asked"
    return (
        f"{one['session_id']}  {one['user']}  {one['client']}  {one['project'] or '-'}  {calls}, last {one['last_at']}"
    )
