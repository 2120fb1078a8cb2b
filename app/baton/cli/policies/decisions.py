"""`baton decisions`: the newest decisions, with the ids that `baton explain` and `baton report` take."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, Limit
from baton.cli.output import show_json, show_table
from baton.local.server import Api

LONGEST = 60
"""Characters of a command or of paths that are shown."""


def decisions(
    session_id: Annotated[str, typer.Option("--session", help="Only of this session.")] = "",
    decision: Annotated[Literal["allow", "ask", "block"] | None, typer.Option(help="Only these.")] = None,
    outcome: Annotated[
        Literal["ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "unknown"] | None,
        typer.Option(help="Only calls that ended so; ran_anyway and rewrite_ignored are disobeyed decisions."),
    ] = None,
    rule: Annotated[str, typer.Option(help="Only those that this rule matched, such as guardrails/force-push.")] = "",
    limit: Limit = 20,
    as_json: AsJson = False,
) -> None:
    """List the newest decisions."""
    query = {"session_id": session_id, "decision": decision, "outcome": outcome, "rule": rule, "limit": str(limit)}
    found = Api().request("GET", "/decisions", query={name: value for name, value in query.items() if value})["items"]
    if as_json:
        show_json(found)
        return
    none = "No decision is recorded that fits; one that was just made may take a second to appear."
    show_table(("id", "at", "user", "decision", "outcome", "call", "rules"), map(_row, found), none=none)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    what = " ".join((one.get("command") or ", ".join(one["paths"])).split())
    shown = what if len(what) <= LONGEST else f"{what[: LONGEST - 1]}…"
    call = f"{one.get('tool', one['event'])} {shown}".rstrip()
    rules = ", ".join(hit["id"] for hit in one["rules"])
    return one["id"], f"{one['at'][:19]}Z", one["user"], one["decision"], one.get("outcome", ""), call, rules
