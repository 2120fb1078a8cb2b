"""`baton cost`: what agents cost, in tokens and USD."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, Everybody, Since
from baton.cli.output import show_json, show_table
from baton.local.server import Api

_COLUMNS = ("agent calls", "jobs", "input", "cached", "output", "usd", "unpriced tokens")


def cost(
    by: Annotated[
        Literal["user", "team", "project", "agent", "model", "day"], typer.Option(help="What a row is.")
    ] = "day",
    since: Since = "7d",
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    everybody: Everybody = False,
    as_json: AsJson = False,
) -> None:
    """Show what agents cost, by person, team, project, agent, model or day.

    It sums up what clients report of the agents that sessions start, and what delegated tasks cost.
    """
    asked = {"by": by, "since": since, "user": user}
    query = {name: value for name, value in asked.items() if value}
    found = Api(administer=everybody).request("GET", "/analytics/cost", query=query)
    if as_json:
        show_json(found)
        return
    show_table((by, *_COLUMNS), map(_row, found["items"]), none="No agent call reported tokens, and no job ran.")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    names = ("agent_calls", "jobs", "input_tokens", "cached_tokens", "output_tokens")
    return (one["group"], *(str(one[name]) for name in names), f"{one['usd']:.2f}", str(one["unpriced_tokens"]))
