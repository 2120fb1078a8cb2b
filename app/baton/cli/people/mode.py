"""`baton mode`: switch the orchestrator mode for you in this project, or at another scope, and show it. `baton freeze`."""

from typing import Annotated, Any, Literal, cast

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Expires, UsageError, from_now
from baton.cli.output import end_with_json, plain, show_table
from baton.local.server import Api

app = group("Switch the orchestrator mode on or off, and show it.")

ScopeName = Literal["user_project", "session", "user", "project", "team", "organisation"]
Reason = Annotated[str, typer.Option(help="The reason, shown with the setting and in the audit log.")]
Scope = Annotated[ScopeName, typer.Option(help="Scope of the mode. user_project: you in this project.")]
Id = Annotated[
    str, typer.Option("--id", help="The session, team, project or user. Default: your team, this project, you.")
]
Locked = Annotated[
    bool, typer.Option("--locked", help="With scope organisation: narrower settings count only if they are stricter.")
]
_COLUMNS = ("scope", "of", "mode", "locked", "set by", "until", "reason")


@app.command()
def enable(
    level: Annotated[
        Literal["strict", "guidance"], typer.Option(help="strict blocks calls, guidance only adds remarks.")
    ] = "strict",
    scope: Scope = "user_project",
    which: Id = "",
    locked: Locked = False,
    expires: Expires = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Switch the mode on, for you in this project or at another scope."""
    setting = _put(scope, which, enabled=True, level=level, locked=locked, expires_at=expires, reason=reason)
    end_with_json(setting, when=as_json)
    if _is_overruled(setting):
        return
    print(f"Orchestrator mode is on (level: {level}) for {_applies_to(setting)}.")
    print(f"Sub-agents are exempt. Switch it off with: baton mode disable{_options(scope, which)}")


@app.command()
def disable(
    scope: Scope = "user_project",
    which: Id = "",
    locked: Locked = False,
    expires: Expires = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Switch the mode off, in running sessions too. Work items do not switch it on again."""
    setting = _put(scope, which, enabled=False, locked=locked, expires_at=expires, reason=reason)
    end_with_json(setting, when=as_json)
    if _is_overruled(setting):
        return
    print(f"Orchestrator mode is off for {_applies_to(setting)}.")
    print(f"Model injection and guardrails stay on. Switch it on with: baton mode enable{_options(scope, which)}")


@app.command()
def clear(scope: Scope = "user_project", which: Id = "", reason: Reason = "", as_json: AsJson = False) -> None:
    """Remove the setting at a scope, so wider settings and work items decide again."""
    api = _api(scope)
    api.request("DELETE", "/mode", query=_place(api, scope, which) | {"reason": reason})
    _show(Api(), session_id=which if scope == "session" else "", as_json=as_json)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the settings visible to you, at every scope."""
    settings = Api().pages("/modes", {})
    end_with_json(settings, when=as_json)
    show_table(_COLUMNS, map(_row, settings), none="Nothing is set at any scope.")


@app.command()
def status(
    session_id: Annotated[str, typer.Option("--session", help="Show it for this session.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show the mode in force here, with its chain of settings."""
    _show(Api(), session_id=session_id, as_json=as_json)


def freeze(
    scope: Annotated[
        str, typer.Option(metavar="SCOPE[:ID]", help="organisation, team:ID, project, user or session:ID.")
    ] = "project",
    expires: Annotated[
        str,
        typer.Option(
            "--for", parser=from_now, metavar="SPAN", help="When it ends by itself, such as 60m. Default: never."
        ),
    ] = "",
    reason: Annotated[str, typer.Option(help="The reason, shown to the agents and in the audit log.")] = "",
    read_only: Annotated[bool, typer.Option("--read-only", help="Allow calls that only read.")] = False,
    end: Annotated[bool, typer.Option("--end", help="End the freeze.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="List the freezes in force.")] = False,
    as_json: AsJson = False,
) -> None:
    """Refuse all tool calls of agents at a scope, from the next call on."""
    name, _, which = scope.partition(":")
    api = _api(cast("ScopeName", name))
    place = {"scope": name, "id": which or (api.project.name if name == "project" else "")}
    place = {key: value for key, value in place.items() if value}
    if not listed and not end:
        if not reason:
            raise UsageError("`--reason` is missing; the agents read it")
        body = place | {"reason": reason, "read_only": read_only} | ({"expires_at": expires} if expires else {})
        one = api.request("PUT", "/freezes", body=body)
        end_with_json(one, when=as_json)
        print(f"Frozen: {_frozen(one)}. End it with: baton freeze --end --scope {scope}")
        return
    before = api.request("GET", "/freezes")["items"]
    if end:
        api.request("DELETE", "/freezes", query=place | {"reason": reason})
    found = api.request("GET", "/freezes")["items"]
    end_with_json(found, when=as_json)
    if end and found == before:
        print(f"There was no freeze of {scope} to end.")
    for one in found:
        print(plain(f"{_frozen(one)}, by {one['set_by']}: {one['reason']}"))
    if not found:
        print("Nothing is frozen.")


def _frozen(one: dict[str, Any]) -> str:
    what = "changes" if one["read_only"] else "all calls"
    until = f" until {one['expires_at']}" if one.get("expires_at") else ""
    return f"{what} of {one['scope']} {one.get('id', '')}".rstrip() + until


def _api(scope: ScopeName) -> Api:
    return Api(administer=scope in {"project", "team", "organisation"})


def _place(api: Api, scope: ScopeName, which: str) -> dict[str, str]:
    if scope == "user_project":
        if which:
            raise UsageError("`--id` is not used with scope `user_project` (you in this folder's project)")
        return {"scope": scope, "project": api.project.name}
    name = which or (api.project.name if scope == "project" else "")
    return {"scope": scope, "id": name} if name else {"scope": scope}


def _put(scope: ScopeName, which: str, **setting: Any) -> Any:
    api = _api(scope)
    given = {name: value for name, value in setting.items() if value != "" and (value or name != "locked")}
    return api.request("PUT", "/mode", body=_place(api, scope, which) | given)


def _is_overruled(setting: dict[str, Any]) -> bool:
    """Check whether the organisation locked the mode at a stricter setting, and print so."""
    chain = Api().request("GET", "/mode")["chain"]
    lock = next((one for one in chain if one.get("locked")), None)
    if setting["scope"] == "organisation" or lock is None or _strictness(setting) >= _strictness(lock):
        return False
    where = _applies_to(setting)
    print(f"Stored for {where}, without effect: the organisation locked the mode (level: {lock['level']}).")
    return True


def _strictness(setting: dict[str, Any]) -> tuple[bool, bool]:
    return setting["enabled"], setting["level"] == "strict"


def _applies_to(setting: dict[str, Any]) -> str:
    until = f" until {setting['expires_at']}" if setting.get("expires_at") else ""
    match setting["scope"]:
        case "user_project":
            return f"{setting['user']} in {setting['project']}{until}"
        case "organisation":
            lock = "; narrower settings count only if they are stricter" if setting.get("locked") else ""
            return f"everybody{until}{lock}"
    return f"{setting['scope']} {setting['id']}{until}"


def _options(scope: str, which: str) -> str:
    return (f" --scope {scope}" if scope != "user_project" else "") + (f" --id {which}" if which else "")


def _show(api: Api, *, session_id: str, as_json: bool) -> None:
    query = {"project": api.project.name, "session_id": session_id}
    mode = api.request("GET", "/mode", query=query)
    end_with_json(mode, when=as_json)
    state = f"on (level: {mode['level']})" if mode["enabled"] else "off"
    by = " by work items" if mode["auto_activated"] else ""
    since = f" since {mode['activated_at']}" if mode["enabled"] and "activated_at" in mode else ""
    print(f"Orchestrator mode is {state}{since}{by} for {api.whom} in {api.project.name}.")
    show_table(
        _COLUMNS, map(_row, mode["chain"]), none="Nothing is set at any scope; without a setting the mode is off."
    )


def _row(setting: dict[str, Any]) -> tuple[str, ...]:
    return (
        setting["scope"],
        setting.get("id") or "/".join(filter(None, (setting.get("user"), setting.get("project")))),
        f"on, {setting['level']}" if setting["enabled"] else "off",
        "locked" if setting.get("locked") else "",
        setting.get("set_by", ""),
        setting.get("expires_at", ""),
        setting.get("reason", ""),
    )
