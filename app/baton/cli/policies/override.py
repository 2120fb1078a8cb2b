"""`baton override`: lift a rule for one session for a while. A developer's own way out is `baton mode`."""

from datetime import timedelta
from typing import Annotated
from urllib.parse import quote

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Reason, UsageError, span_of
from baton.cli.output import show_json, show_table
from baton.local.server import Api

MINUTE = timedelta(minutes=1)

app = group("Lift a rule for one session, for a while.")


@app.command()
def make(
    session_id: Annotated[str, typer.Argument(help="The session.")],
    reason: Annotated[str, typer.Option(help="The reason, for the audit log.")],
    rule: Annotated[str, typer.Option(help="A rule's id; `*` is every rule that the mode switches on.")] = "*",
    span: Annotated[
        timedelta,
        typer.Option("--for", "--minutes", parser=span_of(MINUTE), metavar="SPAN", help="How long: 30m, 8h at most."),
    ] = "60m",  # type: ignore[assignment]  # the parser reads it
    user: Annotated[
        str, typer.Option(help="The user of the session. Default: the user whose calls of it are recorded.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Lift a rule for a session. Who may write a rule may lift it; nobody lifts a locked rule."""
    minutes, rest = divmod(span, MINUTE)
    if rest:
        raise UsageError("an override lasts whole minutes; give a span such as `30m`")
    body = {"session_id": session_id, "user": user, "rule": rule, "reason": reason, "minutes": minutes}
    made = Api(administer=True).request("POST", "/overrides", body=body)
    if as_json:
        show_json(made)
        return
    what = "Every rule that the mode switches on" if made["rule"] == "*" else made["rule"]
    print(f"{what} is lifted for session {made['session_id']} of {made['user']} until {made['expires_at']}.")
    print(f"End it with: baton override end {made['id']}")


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the overrides that have not ended."""
    overrides = Api(administer=True).pages("/overrides", {})
    if as_json:
        show_json(overrides)
        return
    columns = ("id", "rule", "session_id", "user", "expires_at", "created_by", "reason")
    rows = [[one[name] for name in columns] for one in overrides]
    show_table(("id", "rule", "session", "user", "until", "made by", "reason"), rows, none="No overrides.")


@app.command()
def end(
    override_id: Annotated[str, typer.Argument(help="The override.")], reason: Reason = "", as_json: AsJson = False
) -> None:
    """End an override before its time."""
    query = {"reason": reason} if reason else {}
    Api(administer=True).request("DELETE", f"/overrides/{quote(override_id, safe='')}", query=query)
    if as_json:
        show_json({"ended": override_id})
        return
    print(f"Override {override_id} has ended.")
