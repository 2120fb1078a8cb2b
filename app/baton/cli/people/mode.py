"""`baton mode`: switches the orchestrator mode for you in this project, or at another scope. It resolves none itself."""

from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.output import show_json
from baton.cli.people.token import moment
from baton.local.server import Api, ApiError

app = group("Switch the orchestrator mode on or off, and show it.")

ScopeName = Literal["user_project", "session", "user", "project", "team", "organisation"]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept with the setting, and in the audit log.")]
Scope = Annotated[ScopeName, typer.Option(help="What it holds for; user_project is you in this project.")]
Id = Annotated[
    str,
    typer.Option(
        "--id", help="Which session, team, project or user; the last three are yours, or this folder's, without it."
    ),
]
Expires = Annotated[str, typer.Option(help="When it ends by itself: 30min, 8h, 14d; never without it.")]
Locked = Annotated[
    bool, typer.Option("--locked", help="With scope organisation: narrower settings count only where stricter.")
]


@app.command()
def enable(
    level: Annotated[Literal["strict", "guidance"], typer.Option(help="strict refuses, guidance remarks.")] = "strict",
    scope: Scope = "user_project",
    which: Id = "",
    locked: Locked = False,
    expires: Expires = "",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Switch the mode on, for you in this project or at another scope."""
    setting = _put(scope, which, enabled=True, level=level, locked=locked, expires_at=moment(expires), reason=reason)
    if as_json:
        show_json(setting)
        return
    if _is_kept_out(setting):
        return
    print(f"Orchestrator mode is on (level: {level}) for {_whom(setting)}.")
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
    """Switch the mode off, in running sessions too; work items do not switch it on again."""
    setting = _put(scope, which, enabled=False, locked=locked, expires_at=moment(expires), reason=reason)
    if as_json:
        show_json(setting)
        return
    if _is_kept_out(setting):
        return
    print(f"Orchestrator mode is off for {_whom(setting)}.")
    print(f"Model injection and guardrails go on. Switch it on with: baton mode enable{_options(scope, which)}")


@app.command()
def clear(scope: Scope = "user_project", which: Id = "", reason: Reason = "", as_json: AsJson = False) -> None:
    """Forget the setting at a scope, so that wider settings and work items decide again."""
    api = _api(scope)
    api.request("DELETE", "/mode", query=_where(api, scope, which) | {"reason": reason})
    _status(Api(), session_id=which if scope == "session" else "", as_json=as_json)


@app.command("list")
def list_(as_json: AsJson = False) -> None:
    """List the settings at every scope that you may see."""
    settings = Api().pages("/modes", {})
    if as_json:
        show_json(settings)
        return
    for setting in settings:
        print(_line(setting))
    if not settings:
        print("Nothing is set at any scope.")


@app.command()
def status(
    session_id: Annotated[str, typer.Option("--session", help="Tell it for this session.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show the mode in force here, and every setting that led to it."""
    _status(Api(), session_id=session_id, as_json=as_json)


def _api(scope: ScopeName) -> Api:
    return Api(administer=scope in {"project", "team", "organisation"})


def _where(api: Api, scope: ScopeName, which: str) -> dict[str, str]:
    """Say to the API which setting is meant."""
    if scope == "user_project":
        if which:
            raise ApiError("`--id` is not used with scope `user_project`, which is you in this folder's project")
        return {"scope": scope, "project": api.project.name}
    name = which or (api.project.name if scope == "project" else "")
    return {"scope": scope, "id": name} if name else {"scope": scope}


def _put(scope: ScopeName, which: str, **setting: Any) -> Any:
    api = _api(scope)
    given = {name: value for name, value in setting.items() if value != "" and (value or name != "locked")}
    return api.request("PUT", "/mode", body=_where(api, scope, which) | given)


def _is_kept_out(setting: dict[str, Any]) -> bool:
    """Tell whether a setting of the organisation keeps this looser one from counting, and say so."""
    chain = Api().request("GET", "/mode")["chain"]
    lock = next((one for one in chain if one.get("locked")), None)
    if setting["scope"] == "organisation" or lock is None or _strictness(setting) >= _strictness(lock):
        return False
    print(f"Kept for {_whom(setting)}, without effect: the organisation locked the mode (level: {lock['level']}).")
    return True


def _strictness(setting: dict[str, Any]) -> tuple[bool, bool]:
    return setting["enabled"], setting["level"] == "strict"


def _whom(setting: dict[str, Any]) -> str:
    until = f" until {setting['expires_at']}" if setting.get("expires_at") else ""
    match setting["scope"]:
        case "user_project":
            return f"{setting['user']} in {setting['project']}{until}"
        case "organisation":
            return f"everybody{until}{'; narrower settings count only where stricter' if setting.get('locked') else ''}"
    return f"{setting['scope']} {setting['id']}{until}"


def _options(scope: str, which: str) -> str:
    return (f" --scope {scope}" if scope != "user_project" else "") + (f" --id {which}" if which else "")


def _status(api: Api, *, session_id: str, as_json: bool) -> None:
    query = {"project": api.project.name, "session_id": session_id}
    mode = api.request("GET", "/mode", query={name: value for name, value in query.items() if value})
    if as_json:
        show_json(mode)
        return
    state = f"on (level: {mode['level']})" if mode["enabled"] else "off"
    by = " by work items" if mode["auto_activated"] else ""
    since = f" since {mode['activated_at']}" if mode["enabled"] and "activated_at" in mode else ""
    print(f"Orchestrator mode is {state}{since}{by} for {api.whom} in {api.project.name}.")
    if not mode["chain"]:
        print("Nothing is set at any scope, and with nothing set the mode is off.")
    for setting in mode["chain"]:
        print("  " + _line(setting))


def _line(setting: dict[str, Any]) -> str:
    whom = setting.get("id") or "/".join(filter(None, (setting.get("user"), setting.get("project"))))
    state = f"on, {setting['level']}" if setting["enabled"] else "off"
    more = ["locked" if setting.get("locked") else ""]
    more.append(f"set by {setting['set_by']}" if setting.get("set_by") else "")
    more.append(f"until {setting['expires_at']}" if setting.get("expires_at") else "")
    more.append(setting.get("reason", ""))
    return f"{setting['scope']:<13}{whom:<30} {state:<13}{'; '.join(filter(None, more))}".rstrip()
