"""`baton audit`: who changed what, when and why. It changes nothing."""

from typing import Annotated, Any

import typer

from baton.cli.output import show_json
from baton.local.server import Api


def audit(
    kind: Annotated[str, typer.Option(help="Only changes of this kind: mode, token, policies, override …")] = "",
    actor: Annotated[str, typer.Option(help="Only this person's.")] = "",
    about: Annotated[str, typer.Option("--object", help="Only of this object.")] = "",
    since: Annotated[str, typer.Option(help="From this moment on: 2026-01-31T08:00:00Z.")] = "",
    most: Annotated[int, typer.Option("--limit", min=1, max=200, help="How many.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for a script.")] = False,
) -> None:
    """List who changed what, and why.

    The newest change comes first.
    """
    asked = {"kind": kind, "actor": actor, "object": about, "since": since, "limit": str(most)}
    query = {name: value for name, value in asked.items() if value}
    items = Api(administer=True).request("GET", "/audit", query=query)["items"]
    if as_json:
        show_json(items)
        return
    for entry in items:
        why = f"  ({entry['reason']})" if entry["reason"] else ""
        print(f"{entry['at']}  {entry['actor']} ({entry['role']})  {entry['action']}  {entry['object']}{why}")
        for line in _changes(entry["before"], entry["after"]):
            print(f"    {line}")


def _changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    names = sorted(before.keys() | after.keys())
    return [
        f"{name}: {before.get(name, '-')} → {after.get(name, '-')}"
        for name in names
        if before.get(name) != after.get(name)
    ]
