"""`baton decisions`: what was decided lately, with the ids that `baton explain` and `baton report` take. It judges nothing."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.output import show_json
from baton.local.server import Api

LONGEST = 60
"""Characters of a command or of paths that are shown."""


def decisions(
    session_id: Annotated[str, typer.Option("--session", help="Only of this session.")] = "",
    decision: Annotated[Literal["allow", "ask", "block"] | None, typer.Option(help="Only these.")] = None,
    rule: Annotated[str, typer.Option(help="Only those that this rule matched, such as guardrails/force-push.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many at most.")] = 20,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a script.")] = False,
) -> None:
    """List the newest decisions."""
    query = {"session_id": session_id, "decision": decision, "rule": rule, "limit": str(limit)}
    found = Api().request("GET", "/decisions", query={name: value for name, value in query.items() if value})["items"]
    if as_json:
        show_json(found)
        return
    for one in found:
        print(_line(one))
    if not found:
        print("No decision is recorded that fits; one that was just made may take a second to appear.")


def _line(one: dict[str, Any]) -> str:
    what = " ".join((one.get("command") or ", ".join(one["paths"])).split())
    shown = what if len(what) <= LONGEST else f"{what[: LONGEST - 1]}…"
    rules = ", ".join(hit["id"] for hit in one["rules"])
    call = f"{one.get('tool', one['event'])} {shown}".rstrip()
    return f"{one['id']}  {one['at'][:19]}Z  {one['user']}  {one['decision']:<6}{call}{f'  ({rules})' if rules else ''}"
