"""`baton policy push`, `activate`, `rollback`, `remove`, `history`, `compare`: a team's policies on the server.

It checks none itself.
"""

import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from baton.cli.output import show_json
from baton.local.server import Api, ApiError
from baton.shared import policy_folders

TierOption = Annotated[
    Literal["organisation", "team", "project", "user"], typer.Option("--tier", help="Whom the layer is for.")
]
NameOption = Annotated[str, typer.Option("--name", help="The team, project or user; your own without it.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why; it is kept in the audit log.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]


def push(
    folder: Annotated[Path, typer.Argument(help="A folder of policies: rules, config.yaml, agents.")],
    tier: TierOption,
    reason: ReasonOption,
    name: NameOption = "",
    activate: Annotated[bool, typer.Option("--activate", help="Put it in force at once.")] = False,
    as_json: AsJson = False,
) -> None:
    """Upload a folder as a new version of a layer; the server checks it as a whole."""
    if not folder.is_dir():
        print(f"baton policy: `{folder}` is no folder", file=sys.stderr)
        raise typer.Exit(2)
    api = Api(administer=True)
    query = _query(name) | {"activate": "true" if activate else "false"}
    body = {"files": policy_folders.read(folder), "reason": reason}
    stored = api.request(
        "PUT", f"/policies/layers/{tier}", query=query, body=body, headers=_match(api, tier, name) if activate else None
    )
    _tell(stored, as_json=as_json)


def activate(
    version: Annotated[int, typer.Argument(min=1, help="A version that `history` lists.")],
    tier: TierOption,
    name: NameOption = "",
    reason: ReasonOption = "",
    as_json: AsJson = False,
) -> None:
    """Put a stored version of a layer in force."""
    api = Api(administer=True)
    path = f"/policies/layers/{tier}/versions/{version}/activate"
    query = _query(name) | {"reason": reason}
    _tell(api.request("POST", path, query=query, headers=_match(api, tier, name)), as_json=as_json)


def rollback(tier: TierOption, name: NameOption = "", reason: ReasonOption = "", as_json: AsJson = False) -> None:
    """Put the version in force that was so before."""
    api = Api(administer=True)
    query = _query(name) | {"reason": reason}
    path = f"/policies/layers/{tier}/rollback"
    _tell(api.request("POST", path, query=query, headers=_match(api, tier, name)), as_json=as_json)


def remove(tier: TierOption, name: NameOption = "", reason: ReasonOption = "", as_json: AsJson = False) -> None:
    """Take a layer out of force; its versions stay and can be activated again."""
    api = Api(administer=True)
    query = _query(name) | {"reason": reason}
    api.request("DELETE", f"/policies/layers/{tier}", query=query, headers=_match(api, tier, name))
    if as_json:
        show_json({"removed": tier, "name": name})
        return
    print(f"The layer of {tier}{' ' + name if name else ''} is not in force any more.")


def compare(
    tier: TierOption,
    name: NameOption = "",
    before: Annotated[
        int | None, typer.Option("--from", min=0, help="A version; 0 is none. The active one without it.")
    ] = None,
    after: Annotated[int | None, typer.Option("--to", min=0, help="A version; the newest without it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what changes from one version of a layer to another, by rule and line by line."""
    query = _query(name) | {key: str(one) for key, one in (("from", before), ("to", after)) if one is not None}
    found = Api(administer=True).request("GET", f"/policies/layers/{tier}/diff", query=query)
    if as_json:
        show_json(found)
        return
    print(f"version {found['before']} → {found['after']}")
    for change in found["rules"]:
        print(f"  {change['kind']} {change['id']}{': ' + change['what'] if change['what'] else ''}")
    for problem in found["problems"]:
        print(f"  not comparable: {problem['file']}:{problem['line']}: {problem['text']}")
    for path, text in found["text"].items():
        print(f"\n{path}\n{text}")


def history(
    tier: TierOption,
    name: NameOption = "",
    limit: Annotated[int, typer.Option(min=1, max=200, help="How many versions.")] = 20,
    as_json: AsJson = False,
) -> None:
    """List the versions of a layer, newest first."""
    query = _query(name) | {"limit": str(limit)}
    items = Api(administer=True).request("GET", f"/policies/layers/{tier}/versions", query=query)["items"]
    if as_json:
        show_json(items)
        return
    for one in items:
        print(
            f"{one['version']:>5}  {one['state']:<8} {one['created_at'][:16]}  {one['created_by']}  {one['reason']}".rstrip()
        )
    if not items:
        print("nothing was uploaded for this layer")


def add_to(app: typer.Typer) -> None:
    """Add these commands to `baton policy`."""
    for command in (push, activate, rollback, remove, history, compare):
        app.command()(command)


def _match(api: Api, tier: str, name: str) -> dict[str, str]:
    """Say which version we are about to replace: the one that is active now."""
    items: list[dict[str, Any]] = api.request("GET", "/policies/layers")
    try:
        active = api.request("GET", f"/policies/layers/{tier}", query=_query(name)) if items else None
    except ApiError:
        active = None
    return {"If-Match": f'"{active["version"]}"'} if active else {}


def _query(name: str) -> dict[str, str]:
    return {"name": name} if name else {}


def _tell(stored: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        show_json(stored)
        return
    layer = stored["tier"] if stored["tier"] == "organisation" else f"{stored['tier']} {stored['name']}"
    state = "is in force" if stored["state"] == "active" else "is stored, and not in force"
    print(f"version {stored['version']} of {layer}: {len(stored['files'])} files; it {state}")
    if stored["state"] != "active":
        more = "" if stored["tier"] == "organisation" else f" --name {stored['name']}"
        print(f"Put it in force with: baton policy activate {stored['version']} --tier {stored['tier']}{more}")
