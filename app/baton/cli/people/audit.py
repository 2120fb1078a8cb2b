"""`baton audit`: who changed what, when and why."""

from typing import Annotated, Any

import typer

from baton.cli.options import AsJson, Limit, Since
from baton.cli.output import plain, show_json
from baton.local.server import Api


def audit(
    kind: Annotated[str, typer.Option(help="Only changes of this kind: mode, token, policies, override …")] = "",
    actor: Annotated[str, typer.Option(help="Only changes by this person.")] = "",
    about: Annotated[str, typer.Option("--object", help="Only changes of this object.")] = "",
    since: Since = "",
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List who changed what, and why.

    The newest change comes first.
    """
    asked = {"kind": kind, "actor": actor, "object": about, "since": since, "limit": str(limit)}
    query = {name: value for name, value in asked.items() if value}
    entries = Api(administer=True).request("GET", "/audit", query=query)["items"]
    if as_json:
        show_json(entries)
        return
    if not entries:
        print("No changes.")
    for entry in entries:
        why = f"  ({entry['reason']})" if entry["reason"] else ""
        print(plain(f"{entry['at']}  {entry['actor']} ({entry['role']})  {entry['action']}  {entry['object']}{why}"))
        for line in _differences(entry["before"], entry["after"]):
            print(plain(f"    {line}"))


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {before.get(name, '-')} → {after.get(name, '-')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
