"""`baton mode`: switches the orchestrator mode for you in this project. It never touches what others share."""

from typing import Annotated, Any, Literal

import typer

from app.cli.api import Api, show_json

app = typer.Typer(no_args_is_help=True, help="Keep this project's orchestrator delegating, or stop it.")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Reason = Annotated[str, typer.Option(help="Why; it is kept with the setting.")]


@app.command()
def enable(
    level: Annotated[Literal["strict", "guidance"], typer.Option(help="strict refuses, guidance remarks.")] = "strict",
    reason: Reason = "",
    as_json: AsJson = False,
) -> None:
    """Switch the mode on, for you in this project."""
    api = Api()
    setting = _put(api, enabled=True, level=level, reason=reason)
    if as_json:
        show_json(setting)
        return
    print(f"Orchestrator mode is on (level: {level}) for {setting['user']} in {api.project.name}.")
    print("Sub-agents are exempt. Switch it off with: baton mode disable")


@app.command()
def disable(reason: Reason = "", as_json: AsJson = False) -> None:
    """Switch the mode off, for you in this project and its running sessions; work items do not switch it on again."""
    api = Api()
    setting = _put(api, enabled=False, level="guidance", reason=reason)
    if as_json:
        show_json(setting)
        return
    print(f"Orchestrator mode is off for {setting['user']} in {api.project.name}.")
    print("Model injection and guardrails go on. Switch it on with: baton mode enable")


@app.command()
def clear(as_json: AsJson = False) -> None:
    """Forget your own setting in this project, so that wider settings and work items decide again."""
    api = Api()
    where = {"scope": "user_project", "project": api.project.name}
    api.request("DELETE", "/mode", query=where)
    _status(api, session_id="", as_json=as_json)


@app.command()
def status(
    session_id: Annotated[str, typer.Option("--session", help="Tell it for this session.")] = "",
    as_json: AsJson = False,
) -> None:
    """Show the mode in force here, and every setting that led to it."""
    _status(Api(), session_id=session_id, as_json=as_json)


def _put(api: Api, *, enabled: bool, level: str, reason: str) -> Any:
    body = {
        "scope": "user_project",
        "project": api.project.name,
        "enabled": enabled,
        "level": level,
        "reason": reason,
    }
    return api.request("PUT", "/mode", body=body)


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
    more = [f"set by {setting['set_by']}" if setting.get("set_by") else ""]
    more.append(f"until {setting['expires_at']}" if setting.get("expires_at") else "")
    more.append(setting.get("reason", ""))
    return f"{setting['scope']:<13}{whom:<30} {state:<13}{'; '.join(filter(None, more))}".rstrip()
