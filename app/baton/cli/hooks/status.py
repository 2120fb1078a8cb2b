"""The report of `baton hooks status`: settings, shim, server."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from baton.cli.hooks.entries import EVENTS, PROTOCOL, describe, kind_of
from baton.cli.hooks.files import Target, shim_folder, shim_state
from baton.cli.hooks.hook_files import installed, off_switch
from baton.cli.hooks.json_edit import UnclearError, check
from baton.cli.hooks.manifest import differences
from baton.cli.hooks.shims import default_kind
from baton.local.server import Api, ApiError

_SEEN = ("client", "user", "last_seen", "installed_at", "protocol")


def report(targets: Iterable[Target], server: dict[str, Any], env: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return everything, as `--json` prints it."""
    settings = [_settings(target) for target in targets]
    kind = next((one["shim"] for one in settings if one["installed"]), default_kind())
    path = "baton hook" if kind == "python" else str(shim_folder(env))
    return {
        "settings": settings,
        "differences": {client: found for client in EVENTS if (found := differences(client, env)) is not None},
        "shim": {"path": path, "kind": kind, "state": shim_state(env, kind), "protocol": PROTOCOL},
        "server": server,
    }


def server_report(api: Api) -> dict[str, Any]:
    """Ask the server for its clients and their last calls; `problem` is the reason for a failure."""
    found: dict[str, Any] = {"url": api.config.url, "answers": False}
    try:
        status = api.request("GET", "/status")
        seen = [{key: value for key, value in one.items() if key in _SEEN} for one in status["clients"]]
    except ApiError as error:
        return found | {"problem": str(error)}
    except (KeyError, TypeError, AttributeError, ValueError):
        return found | {"problem": f"`{api.config.url}` is not a Baton server"}
    found |= {"answers": True, "version": status.get("version", ""), "protocol": status.get("protocol", "unknown")}
    return found | {"clients": seen}


def show(result: dict[str, Any]) -> list[str]:
    """Return the lines of the report for people."""
    lines = [_show_settings(one) for one in result["settings"]]
    shim, server = result["shim"], result["server"]
    states = {
        "current": "of this version",
        "different": "of another version: run `baton hooks install`",
        "missing": "missing: run `baton hooks install`",
    }
    lines.append(f"shim: {shim['path']}, {states[shim['state']]}")
    for client, parts in result["differences"].items():
        if parts:
            lines.append(
                f"! {client}: {', '.join(parts)} changed since `baton hooks install`; if that was not you, install again"
            )
    if not server["answers"]:
        return [*lines, f"server: {server['url']} cannot be asked: {server['problem']}"]
    fits = {PROTOCOL: "fits the hooks", "unknown": "does not report its version of the hooks"}
    word = fits.get(server["protocol"], f"speaks protocol {server['protocol']}, the hooks {PROTOCOL}: update the older")
    lines.append(f"server: {server['url']}, version {server['version']}, {word}")
    return lines + [_show_client(one) for one in server["clients"]]


def _show_client(one: Mapping[str, Any]) -> str:
    who = f"{one.get('client')} of {one.get('user')}"
    if seen := one.get("last_seen"):
        return f"last seen: {who}, {seen}"
    return f"! {who}: installed {one.get('installed_at')}, never heard of; start a session, or run `baton doctor` there"


def _settings(target: Target) -> dict[str, Any]:
    found: dict[str, Any] = {"client": target.client, "scope": target.scope, "path": str(target.path)}
    try:
        text = target.read()
        hooks = installed(target.client, text)
        switch = off_switch(target.client, text)
    except UnclearError as error:
        return found | {"installed": False, "problem": f"line {error.line}: {error}"}
    except (OSError, UnicodeDecodeError) as error:
        return found | {"installed": False, "problem": str(error)}
    if not hooks:
        return found | {"installed": False} | ({"plugin": True} if has_plugin(text) else {})
    about = [describe(hook) for hook in hooks.values()]
    found |= {
        "installed": True,
        "shim": next((kind for hook in hooks.values() if (kind := kind_of(hook)) != "sh"), "sh"),
        "transport": "http" if any(kind == "http" for kind, _ in about) else "curl",
        "fail_closed": all(closed for event, (_, closed) in zip(hooks, about, strict=True) if event == "PreToolUse"),
        "events": list(hooks),
        "missing": [event for event in EVENTS[target.client] if event not in hooks],
    }
    return found | ({"problem": f"`{switch}` switches them off"} if switch else {})


def has_plugin(text: str) -> bool:
    """Return whether a settings file of Claude Code enables Baton's plugin, which includes the hooks."""
    plugins = check(text or "{}").get("enabledPlugins")
    return isinstance(plugins, dict) and any(on is True for name, on in plugins.items() if name.startswith("baton@"))


def _show_settings(one: dict[str, Any]) -> str:
    head = f"{one['client']}, {one['scope']} scope: "
    problem = f"; {one['problem']}" if one.get("problem") else ""
    if not one["installed"]:
        if one.get("plugin"):
            return f"{head}installed as a plugin of Claude Code ({one['path']})"
        return f"{head}not installed ({one['path']}){problem}"
    missing = f"; missing: {', '.join(one['missing'])}" if one["missing"] else ""
    closed = "fail-closed" if one["fail_closed"] else "fail-open"
    return f"{head}installed, {one['transport']}, {closed} ({one['path']}){missing}{problem}"
