"""`baton routing`: how well prompts are routed."""

from typing import Annotated, Any

import typer

from baton.cli.options import AsJson, Everybody, Since
from baton.cli.output import show_json, show_table
from baton.local.server import Api

_COUNTS = ("prompts", "confident", "shortlist", "none", "judged", "right", "false_routes", "missed")


def routing(
    since: Since = "7d",
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    everybody: Everybody = False,
    as_json: AsJson = False,
) -> None:
    """Show how well prompts are routed, by day."""
    asked = {"since": since, "user": user}
    query = {name: value for name, value in asked.items() if value}
    found = Api(administer=everybody).request("GET", "/analytics/routing", query=query)
    if as_json:
        show_json(found)
        return
    rows = [_row(one["at"][:10], one) for one in found["items"]]
    if rows:
        rows.append(_row("all", found["total"]))
    names = (name.replace("_", " ") for name in _COUNTS)
    show_table(("day", *names, "accuracy"), rows, none="No prompt was routed.")


def _row(day: str, one: dict[str, Any]) -> tuple[str, ...]:
    accuracy = f"{one['accuracy']:.0%}" if one["judged"] else "-"
    return (day, *(str(one[name]) for name in _COUNTS), accuracy)
