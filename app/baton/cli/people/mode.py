"""`baton mode`: switch the orchestrator mode for you in this project, or at another scope, and show it."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.options import AsJson, Expires, UsageError
from baton.cli.output import show_json, show_table
from baton.local.server import Api

app = group("Switch the orchestrator mode on or off, and show it.")

ScopeName = Literal["user_project", "session", "user", "project", "team", "organisation"]
Reason = Annotated[str, typer.Option(help="The reason, shown with the setting and in the audit log.")]
Scope = Annotated[ScopeName, typer.Option(help="Where it applies; user_project is you in this project.")]
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
    if as_json:
        show_json(setting)
        return
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
    if as_json:
        show_json(setting)
        return
    if _is_overruled(setting):
        return
    print(f"Orchestrator mode is off for {_applies_to(setting)}.")
    print(f"Model injection and guardrails stay on. Switch it on with: baton mode enable{_options(scope, which)}")


@app.command()
def clear(scope: Scope = "user_project", which: Id = "", reason: Reason = "", as_json: AsJson = False) -> None:
    """Remove the setting at a scope, so that wider settings and work items decide again."""
    api = _api(scope)
    api.request("DELETE", "/mode", query=_place(api, scope, which) | {"reason": reason})
    _show(Api(), session_id=which if scope == "session" else "", as_json=as_json)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the settings at every scope that you may see."""
    settings = Api().pages("/modes", {})
    if as_json:
        show_json(settings)
        return
    show_table(_COLUMNS, map(_row, settings), none="Nothing is set at any scope.")


@app.command()
def status(
    session_id: Annotated[str, typer.Option("--session", help="Show it for this session.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show the mode in force here, and every setting that led to it."""
    _show(Api(), session_id=session_id, as_json=as_json)


def _api(scope: ScopeName) -> Api:
    return Api(administer=scope in {"project", "team", "organisation"})


def _place(api: Api, scope: ScopeName, which: str) -> dict[str, str]:
    """Return the fields by which the API names a setting."""
    if scope == "user_project":
        if which:
            raise UsageError("`--id` is not used with scope `user_project`, which is you in this folder's project")
        return {"scope": scope, "project": api.project.name}
    name = which or (api.project.name if scope == "project" else "")
    return {"scope": scope, "id": name} if name else {"scope": scope}


def _put(scope: ScopeName, which: str, **setting: Any) -> Any:
    api = _api(scope)
    given = {name: value for name, value in setting.items() if value != "" and (value or name != "locked")}
    return api.request("PUT", "/mode", body=_place(api, scope, which) | given)


def _is_overruled(setting: dict[str, Any]) -> bool:
    """Check whether the organisation locked the mode at a stricter setting than this one, and print so."""
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
    mode = api.request("GET", "/mode", query={name: value for name, value in query.items() if value})
    if as_json:
        show_json(mode)
        return
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
