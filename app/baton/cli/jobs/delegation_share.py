"""`baton delegation`: what agents delegated, did themselves, and were refused. It counts calls, not money."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.output import show_json
from baton.local.server import Api

_HEAD = ("", "calls", "delegated", "direct", "share", "blocked", "asked", "guided", "overridden", "cheaper model")


def delegation(
    by: Annotated[Literal["session", "user", "team", "day"], typer.Option(help="What a line stands for.")] = "day",
    since: Annotated[str, typer.Option(help="From this moment on; the last seven days without it.")] = "",
    user: Annotated[str, typer.Option(help="Only this user's calls.")] = "",
    parent: Annotated[
        Literal["haiku", "sonnet", "opus", "fable"], typer.Option(help="The model that callers run on.")
    ] = "opus",
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's, on a server without tokens.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a script.")] = False,
) -> None:
    """Show how much work agents delegate.

    It also counts the agent calls that were moved to a cheaper model.
    """
    asked = {"by": by, "parent": parent, "since": since, "user": user, "limit": "200"}
    query = {name: value for name, value in asked.items() if value}
    answer = Api(administer=everybody).request("GET", "/analytics/delegation", query=query)
    if as_json:
        show_json(answer)
        return
    rows = [_HEAD, *(_row(by, one) for one in answer["items"])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for name, *counts in rows:
        cells = (text.rjust(width) for text, width in zip(counts, widths[1:], strict=True))
        print("  ".join((name.ljust(widths[0]), *cells)))


def _row(by: str, one: dict[str, Any]) -> tuple[str, ...]:
    name = f"{one['session_id']} ({one['user']})" if by == "session" else one.get(by, "-")
    share = f"{one['share_delegated']:.0%}"
    before = (str(one[key]) for key in ("calls", "delegated", "direct"))
    after = (str(one[key]) for key in ("blocked", "asked", "guided", "overridden", "cheaper"))
    return (name, *before, share, *after)
