"""`baton relay`: shows and stops the process between the hooks and a remote server. The hooks start it."""

import contextlib
import http.client
import json
import secrets
import socket
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from baton.cli.groups import group
from baton.cli.hooks.entries import Transport
from baton.cli.options import AsJson
from baton.cli.output import show_json
from baton.local.config import BUNDLE, RELAY, RELAY_PORT, config_path, save, stored
from baton.local.server import ApiError, UnixConnection
from baton.relay.process import relay_socket
from baton.shared.person_socket import is_ours

_PATIENCE_S = 2.0
NATIVE = ("claude-code", "user")
"""The client and scope with http hooks."""

app = group("Show or stop the relay between hooks and a remote server.")


def relay_of(url: str, *, kind: str) -> str:
    """Return the config file's value for the relay. Raise ApiError where none can be."""
    why = ""
    if kind != "sh" or sys.platform == "win32":
        why = "the hooks run `baton hook`, which asks the server itself"
    elif urlsplit(url).username:
        why = "BATON_URL contains a password, which the relay does not send"
    if why:
        raise ApiError(f"`--relay` cannot be used: {why}. Leave it out.")
    return f"{relay_socket(url)} {sys.executable}"


def transport_of(client: str, scope: str, asked: Transport | None, *, relay: bool) -> tuple[Transport, str]:
    """Return how a client asks, and why it cannot by http. Raise ApiError if the person wants that."""
    why = ""
    if client != NATIVE[0]:
        why = f"Baton uses no http hooks of `{client}` (docs/clients.md)"
    elif scope != NATIVE[1]:
        why = "http hooks contain the port's secret, and a project's settings would share it"
    elif sys.platform != "linux":
        why = "the relay finds a hook's process only on Linux"
    elif _has_proxy():
        why = "http hooks would reach your proxy instead of the relay, unless NO_PROXY names 127.0.0.1"
    if why and asked == "http":
        raise ApiError(f"{why}. Use `--transport curl`.")
    return asked or ("http" if relay and not why else "curl"), why


def _has_proxy() -> bool:
    """Return whether Claude Code would post to a proxy; curl never does on loopback."""
    from urllib.request import getproxies, proxy_bypass

    return not getproxies().keys().isdisjoint({"http", "https"}) and not proxy_bypass("127.0.0.1")


def new_port() -> str:
    """Return the config file's value for a free port: below those that the system gives to connections."""
    while True:
        number = secrets.choice(range(20_000, 32_000))
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", number))
            return f"{number} {secrets.token_hex(16)}"


def stop_running() -> None:
    """Stop the relay, if it runs."""
    if _ask("GET")[1]:
        _ask("DELETE")


def forget_rules() -> None:
    """Remove the relay's stored rules. Records that wait for the server stay."""
    save({BUNDLE: ""})
    for one in config_path().parent.glob("relay-*.json"):
        one.unlink(missing_ok=True)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show whether the relay runs, and how many hooks it has served."""
    path, state = _ask("GET")
    _show({"socket": path, "running": bool(state), **state}, "has served", as_json=as_json)


@app.command()
def stop(as_json: AsJson = False) -> None:
    """Stop the relay. A session's start or a prompt starts it again; `baton hooks install` without `--relay` does not."""
    path, state = _ask("GET")
    stop_running()
    state = {name: value for name, value in state.items() if not name.startswith("server")}
    _show({"socket": path, "running": False, **state}, "stopped after", as_json=as_json)


def _ask(method: str) -> tuple[str, dict[str, Any]]:
    path = stored(RELAY).partition(" ")[0]
    if not path:
        return "", {}
    if not is_ours(Path(path).parent):
        return path, {}
    connection = UnixConnection(Path(path), _PATIENCE_S)
    try:
        connection.request(method, "/relay")
        return path, dict(json.loads(connection.getresponse().read()))
    except (OSError, ValueError, http.client.HTTPException):
        return path, {}
    finally:
        connection.close()


def _show(result: dict[str, Any], word: str, *, as_json: bool) -> None:
    if as_json:
        show_json(result)
    elif not result["socket"]:
        print("The hooks use no relay; `baton hooks install --relay` chooses one.")
    elif "pid" not in result:
        print("The relay does not run; the next session or prompt starts it.")
    else:
        print(f"The relay (process {result['pid']}) {word} {result['requests']} hooks, at {result['socket']}.")
        as_of = f"decides by the rules as of {result['rules_as_of']}" if result["rules_as_of"] else "has no rules"
        notes = {
            "server_answers": "The server answers." if result.get("server_answers") else "",
            "server": "" if result.get("server_answers", True) else f"! The server does not answer: the relay {as_of}.",
            "rules_changed": "! Another program has changed the stored rules. They are not used until the server has sent them again.",
            "records_waiting": "{} decisions wait for the server.",
            "records_lost": "! {} decisions are lost: the disk is full, too many wait, or another program has removed them.",
            "records_refused": "! The server has refused {} decisions. They are in `relay-*.refused` beside the config file.",
        }
        shown = [text.format(result[name]) for name, text in notes.items() if text and result.get(name)]
        print(*shown, sep="\n", end="\n" if shown else "")
        if stored(RELAY_PORT) and not result["port"]:
            print(
                "! Another program has its port, so http hooks reach it instead: `baton hooks uninstall`, then install."
            )
