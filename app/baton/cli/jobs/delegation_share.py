"""`baton delegation`: the delegation share, how many calls agents delegated, made themselves, and were refused."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, Everybody, Since
from baton.cli.output import show_json, show_table
from baton.local.server import Api

_COUNTS = ("calls", "delegated", "direct", "share", "blocked", "asked", "guided", "overridden", "cheaper model")


def delegation(
    by: Annotated[Literal["session", "user", "team", "day"], typer.Option(help="What a row is.")] = "day",
    since: Since = "7d",
    user: Annotated[str, typer.Option(help="Only this user's calls.")] = "",
    parent: Annotated[
        Literal["haiku", "sonnet", "opus", "fable"], typer.Option(help="The model that callers run on.")
    ] = "opus",
    everybody: Everybody = False,
    as_json: AsJson = False,
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
    show_table((by, *_COUNTS), [_row(by, one) for one in answer["items"]], none="No calls.")


def _row(by: str, one: dict[str, Any]) -> tuple[str, ...]:
    name = f"{one['session_id']} ({one['user']})" if by == "session" else one.get(by, "-")
    share = f"{one['share_delegated']:.0%}"
    before = (str(one[key]) for key in ("calls", "delegated", "direct"))
    after = (str(one[key]) for key in ("blocked", "asked", "guided", "overridden", "cheaper"))
    return (name, *before, share, *after)
