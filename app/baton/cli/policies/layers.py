"""`baton policy push`, `activate`, `rollback`, `remove`, `history`, `compare`: layers of policies on the server."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from baton.cli.options import AsJson, Limit, UsageError
from baton.cli.output import end_with_json, show_table
from baton.local.server import Api, ApiError
from baton.shared import policy_folders

TierOption = Annotated[
    Literal["organisation", "team", "project", "user"], typer.Option("--tier", help="The tier of the layer.")
]
NameOption = Annotated[str, typer.Option("--name", help="The team, project or user. Default: your own.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="The reason, for the audit log.")]


def push(
    folder: Annotated[Path, typer.Argument(help="A folder of policies: rules, config.yaml, agents.")],
    tier: TierOption,
    reason: ReasonOption,
    name: NameOption = "",
    activate: Annotated[bool, typer.Option("--activate", help="Activate it at once.")] = False,
    as_json: AsJson = False,
) -> None:
    """Upload a folder as a new version of a layer; the server checks it as a whole."""
    if not folder.is_dir():
        raise UsageError(f"`{folder}` is not a folder")
    api = Api(administer=True)
    query = {"name": name, "activate": "true" if activate else "false"}
    body = {"files": policy_folders.read(folder), "reason": reason}
    stored = api.request(
        "PUT", f"/policies/layers/{tier}", query=query, body=body, headers=_match(api, tier, name) if activate else None
    )
    _show(stored, as_json=as_json)


def activate(
    version: Annotated[int, typer.Argument(min=1, help="A version listed by `history`.")],
    tier: TierOption,
    name: NameOption = "",
    reason: ReasonOption = "",
    as_json: AsJson = False,
) -> None:
    """Activate a stored version of a layer."""
    api = Api(administer=True)
    path = f"/policies/layers/{tier}/versions/{version}/activate"
    query = {"name": name, "reason": reason}
    _show(api.request("POST", path, query=query, headers=_match(api, tier, name)), as_json=as_json)


def rollback(tier: TierOption, name: NameOption = "", reason: ReasonOption = "", as_json: AsJson = False) -> None:
    """Activate the previous version."""
    api = Api(administer=True)
    query = {"name": name, "reason": reason}
    path = f"/policies/layers/{tier}/rollback"
    _show(api.request("POST", path, query=query, headers=_match(api, tier, name)), as_json=as_json)


def remove(tier: TierOption, name: NameOption = "", reason: ReasonOption = "", as_json: AsJson = False) -> None:
    """Deactivate a layer; its versions stay and can be activated again."""
    api = Api(administer=True)
    query = {"name": name, "reason": reason}
    api.request("DELETE", f"/policies/layers/{tier}", query=query, headers=_match(api, tier, name))
    end_with_json({"removed": tier, "name": name}, when=as_json)
    print(f"The layer of {tier}{' ' + name if name else ''} is no longer active.")


def compare(
    tier: TierOption,
    name: NameOption = "",
    before: Annotated[
        int | None, typer.Option("--from", min=0, help="A version; 0 is an empty layer. Default: the active one.")
    ] = None,
    after: Annotated[int | None, typer.Option("--to", min=0, help="A version. Default: the newest.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the changes from one version of a layer to another, by rule and line by line."""
    query = {"name": name, "from": "" if before is None else str(before), "to": "" if after is None else str(after)}
    found = Api(administer=True).request("GET", f"/policies/layers/{tier}/diff", query=query)
    end_with_json(found, when=as_json)
    print(f"version {found['before']} → {found['after']}")
    for change in found["rules"]:
        print(f"  {change['kind']} {change['id']}{': ' + change['what'] if change['what'] else ''}")
    for problem in found["problems"]:
        print(f"  not comparable: {problem['file']}:{problem['line']}: {problem['text']}")
    for path, text in found["text"].items():
        print(f"\n{path}\n{text}")


def history(tier: TierOption, name: NameOption = "", limit: Limit = 20, as_json: AsJson = False) -> None:
    """List the versions of a layer, newest first."""
    query = {"name": name, "limit": str(limit)}
    items = Api(administer=True).request("GET", f"/policies/layers/{tier}/versions", query=query)["items"]
    end_with_json(items, when=as_json)
    rows = [(one["version"], one["state"], one["created_at"][:16], one["created_by"], one["reason"]) for one in items]
    show_table(("version", "state", "at", "by", "reason"), rows, none="Nothing was uploaded for this layer.")


def add_to(app: typer.Typer) -> None:
    """Add these commands to `baton policy`."""
    for command in (push, activate, rollback, remove, history, compare):
        app.command()(command)


def _match(api: Api, tier: str, name: str) -> dict[str, str]:
    """Return the header naming the version to replace: the active one."""
    items: list[dict[str, Any]] = api.request("GET", "/policies/layers")
    try:
        active = api.request("GET", f"/policies/layers/{tier}", query={"name": name}) if items else None
    except ApiError:
        active = None
    return {"If-Match": f'"{active["version"]}"'} if active else {}


def _show(stored: dict[str, Any], *, as_json: bool) -> None:
    end_with_json(stored, when=as_json)
    layer = stored["tier"] if stored["tier"] == "organisation" else f"{stored['tier']} {stored['name']}"
    state = "is active" if stored["state"] == "active" else "is stored, but not active"
    files = len(stored["files"])
    print(f"version {stored['version']} of {layer}: {files} file{'s' * (files != 1)}; it {state}")
    if stored["state"] != "active":
        more = "" if stored["tier"] == "organisation" else f" --name {stored['name']}"
        print(f"Activate it with: baton policy activate {stored['version']} --tier {stored['tier']}{more}")
