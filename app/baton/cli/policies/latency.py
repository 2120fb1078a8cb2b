"""`baton latency`: how long decisions take, and how many could not be made."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, Everybody, Since
from baton.cli.output import show_json, show_table
from baton.local.server import Api

_COLUMNS = ("event", "decisions", "half in", "90 % in", "99 % in", "degraded")


def latency(
    by: Annotated[Literal["hour", "day"], typer.Option(help="What a row is.")] = "hour",
    since: Since = "1d",
    user: Annotated[str, typer.Option(help="Only this user's.")] = "",
    everybody: Everybody = False,
    as_json: AsJson = False,
) -> None:
    """Show how long decisions take, and which calls ran or were blocked without one."""
    asked = {"by": by, "since": since, "user": user}
    query = {name: value for name, value in asked.items() if value}
    found = Api(administer=everybody).request("GET", "/analytics/latency", query=query)
    if as_json:
        show_json(found)
        return
    whole = [{"at": "all", **one} for one in found["events"]]
    show_table((by, *_COLUMNS), map(_row, [*found["items"], *whole]), none="No decisions.")
    for one in found["failures"]:
        became = "let run" if one["answer"] == "allow" else "blocked"
        print(f"{one['at']}  {one['client']}: {one['calls']} calls {became} undecided ({one['code']})")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    times = (f"{one[name]:.1f} ms" for name in ("p50_ms", "p90_ms", "p99_ms"))
    return (one["at"], one["event"], str(one["decisions"]), *times, str(one["degraded"]))
