"""`baton override`: lifts a rule for one session for a while, with a reason. A developer's way out is `baton mode`."""

from typing import Annotated
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.output import show_json
from baton.local.server import Api

app = group("Lift a rule for one session, for a while.")
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]


@app.command()
def make(
    session_id: Annotated[str, typer.Argument(help="The session.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the audit log.")],
    rule: Annotated[str, typer.Option(help="A rule's id; `*` is every rule that the mode switches.")] = "*",
    minutes: Annotated[int, typer.Option(min=1, max=480, help="For how long.")] = 60,
    user: Annotated[str, typer.Option(help="Whose session; whoever's calls of it are recorded without it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Lift a rule for a session."""
    body = {"session_id": session_id, "user": user, "rule": rule, "reason": reason, "minutes": minutes}
    made = Api(administer=True).request("POST", "/overrides", body=body)
    if as_json:
        show_json(made)
        return
    what = "Every rule that the mode switches" if made["rule"] == "*" else made["rule"]
    print(f"{what} is lifted for session {made['session_id']} of {made['user']} until {made['expires_at']}.")
    print(f"End it with: baton override end {made['id']}")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the overrides that have not ended."""
    items = Api(administer=True).pages("/overrides", {})
    if as_json:
        show_json(items)
        return
    if not items:
        print("No overrides.")
    for one in items:
        where = f"session {one['session_id']} of {one['user']}"
        print(f"{one['id']}  {one['rule']}  {where}  until {one['expires_at']}  {one['created_by']}: {one['reason']}")


@app.command()
def end(
    override_id: Annotated[str, typer.Argument(help="The override.")],
    reason: Annotated[str, typer.Option(help="Why; it is kept in the audit log.")] = "",
) -> None:
    """End an override before its time."""
    query = {"reason": reason} if reason else {}
    Api(administer=True).request("DELETE", f"/overrides/{quote(override_id, safe='')}", query=query)
    print(f"Override {override_id} has ended.")
