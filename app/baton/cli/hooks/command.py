"""`baton hooks`: installs Baton's hooks in an agent's client, removes them, and shows their places."""

import os
import platform
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeVar

import typer

from baton.cli.groups import group
from baton.cli.hooks.entries import HookOptions, Transport
from baton.cli.hooks.files import Scope, Target, config_word, copy_shim, other_shim, shim_folder, shim_word, targets
from baton.cli.hooks.hook_files import install as put_in
from baton.cli.hooks.hook_files import installed, is_empty, off_switch
from baton.cli.hooks.hook_files import uninstall as take_out
from baton.cli.hooks.json_edit import UnclearError
from baton.cli.hooks.manifest import manifest
from baton.cli.hooks.relay import NATIVE, forget_rules, new_port, relay_of, stop_running, transport_of
from baton.cli.hooks.shims import ShimKind, default_kind, find_program
from baton.cli.hooks.status import report, server_report, show
from baton.cli.options import AsJson
from baton.cli.output import end_with_json
from baton.clients.document import summary
from baton.clients.registry import SPECS
from baton.local import person_token
from baton.local.config import BUNDLE, DEFAULT_URL, RELAY, RELAY_PORT, LocalConfig, config_path, load, save, stored
from baton.local.project import find_project
from baton.local.server import Api, ApiError, TokenRefused

# The hooks' token: one of role `hook`, created with the person's own. The latter is never written into a file.

_SHAPE = re.compile(r"baton_([0-9a-f]{12})_[0-9a-f]{64}")
_LONGEST = 200
T = TypeVar("T")


class HookToken(NamedTuple):
    """The token for the config file, "" to keep the present one; a new token's id and user; why none was made."""

    text: str = ""
    new_id: str = ""
    user: str = ""
    notes: tuple[str, ...] = ()


def hook_token(config: LocalConfig) -> HookToken:
    """Return the token for the hooks of this machine.

    A token of the environment, of the keyring or of `baton auth unlock` creates one of role `hook`. A person's token in
    the config file does so too, and is replaced. A token of role `hook` is kept.
    """
    own = person_token.with_token(config).token
    if not own or (config.token and not os.environ.get("BATON_TOKEN") and _role(config.token) == "hook"):
        return HookToken()
    if not _SHAPE.fullmatch(own):  # another server's, or a proxy's: no person's token of Baton
        return HookToken(own if own == os.environ.get("BATON_TOKEN") else "")
    if _role(own) == "hook":
        return HookToken(own)
    machine = platform.node()[:_LONGEST] or "unnamed"
    try:
        made = Api(token=own).request("POST", "/tokens/hook", body={"machine": machine})
    except ApiError as error:
        kept = "Your own token was not written to the config file, since agents read this file. Run `baton hooks install` again then."
        return HookToken(notes=(f"No token was made for the hooks: {error}", kept))
    return HookToken(made["text"], made["token"]["id"], made["token"]["user"])


def _role(token: str) -> str:
    shape = _SHAPE.fullmatch(token)
    if shape is None:
        return ""
    try:
        known = Api(token=token).pages("/tokens", {})
    except ApiError:
        return ""
    return next((str(one["role"]) for one in known if one["id"] == shape[1]), "")


# Reports installed and removed hooks to the server, so that it can list hooks without any call.


def tell_installed(client: str) -> list[str]:
    """Report to the server that the person's hooks are installed. Return a note on a failure.

    An installation needs no server: the client's first call reports it as well.

    Raises:
        ApiError: The server refuses the token, so that it would refuse each hook.
    """
    try:
        Api().request("PUT", f"/clients/{client}/hooks")
    except ApiError as error:
        if isinstance(error, TokenRefused) and not stored("BATON_TOKEN"):  # the hooks have no token of their own
            raise ApiError(
                f"the hooks are installed, but the server refuses their calls: {error}\n"
                "  1. Ask an admin for a token: `baton token create --user NAME --team TEAM`\n"
                "  2. export BATON_TOKEN=<the token>\n"
                f"  3. baton hooks install --client {client}"
            ) from None
        return [f"The server was not notified. It learns of the hooks with their first call: {error}"]
    return []


def tell_removed(client: str) -> list[str]:
    """Report to the server that the person's hooks were removed. Return a note on a failure."""
    try:
        Api().request("DELETE", f"/clients/{client}/hooks")
    except ApiError as error:
        return [f"The server was not notified of the removed hooks of {client}: {error}"]
    return []


app = group("Install or remove Baton's hooks in your agents' clients.")
if TYPE_CHECKING:
    ClientName = str
else:
    ClientName = Literal[tuple(SPECS)]
AnyClient = Annotated[ClientName | None, typer.Option("--client", help="Only this client. Default: all.")]
AnyScope = Annotated[Scope | None, typer.Option("--scope", help="Only this scope. Default: both.")]


@app.command()
def install(
    client: Annotated[ClientName, typer.Option(help="The agent's client.")] = "claude-code",
    scope: Annotated[Scope, typer.Option(help="Your own settings, or this project's, shared with its team.")] = "user",
    transport: Annotated[
        Transport | None,
        typer.Option(help="http posts to the relay without a process a call. Default with --relay, where possible."),
    ] = None,
    shim: Annotated[
        ShimKind | None,
        typer.Option(help="Program of the hooks: a POSIX shell, or `baton hook`. Default: sh; on Windows python."),
    ] = None,
    fail_closed: Annotated[
        bool, typer.Option("--fail-closed", help="Block calls while the server cannot be reached.")
    ] = False,
    relay: Annotated[
        bool, typer.Option("--relay", help="Share one connection to a server on another machine between hooks.")
    ] = False,
    work_items_command: Annotated[
        str,
        typer.Option(
            metavar="COMMAND", help="Counts open work items at each session's start: its output ends with a number."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Install the hooks in a client's settings, with their shim and your config file.

    The server and the user come from the environment, or from the present file. From then on the hooks ask this server
    alone. With your token, the hooks get their own one of role `hook`. Yours is not written.
    """
    result = install_hooks(
        client, scope, transport, shim, fail_closed=fail_closed, work_items=work_items_command, relay=relay
    )
    done = "Installed" if result["changed"] else "Already installed:"
    own = f", with a new token of role `hook`, `{result['token']}`" if result["token"] else ""
    by = "over http" if result["transport"] == "http" else "with the shim"
    way = f" through the relay, {by}," if result["relay"] else ""
    keep = ", `baton auth login` keeps your own token" if own else ""
    lines = [
        f"{done} the hooks of {SPECS[client].title} in {result['path']}.",
        f"They ask {result['url']}{way} as `{result['user']}`{own}.",
        f"Next: start a new session of {SPECS[client].title}; `baton doctor` finds problems{keep}.",
        *(f"! {note}" for note in result["notes"]),
    ]
    _show(result, lines, as_json=as_json)


def install_hooks(
    client: str,
    scope: Scope = "user",
    transport: Transport | None = None,
    shim: ShimKind | None = None,
    *,
    fail_closed: bool = False,
    work_items: str = "",
    relay: bool = False,
) -> dict[str, Any]:
    """Install the hooks. Return the output of `baton hooks install --json`.

    Raises:
        ApiError: If the settings cannot be changed safely, or the server refuses the hooks' token.
    """
    config, project = load(), find_project()
    is_chosen = transport is not None
    transport, no_http = transport_of(client, scope, transport, relay=relay)
    kind = shim or default_kind()
    port, is_native = stored(RELAY_PORT), (client, scope) == NATIVE
    if transport == "http":
        port = port or new_port()
    elif is_native:
        port = ""
    values = {
        RELAY: relay_of(config.url, kind=kind if relay or transport == "http" else "sh") if relay or port else "",
        RELAY_PORT: port,
    }
    target = next(targets(project.root, client, scope))
    old = _read(target)
    _tried(target, "read", lambda: installed(client, old))  # before anything is written, or a token made
    token, is_new = hook_token(config), config.url != (stored("BATON_URL") or DEFAULT_URL).removesuffix("/")
    options = HookOptions(
        client=client, transport=transport, shim=shim_word(scope), config=config_word(scope), port=port,
        fail_closed=fail_closed, other=other_shim(kind, scope),
    )  # fmt: skip
    new = _tried(target, "read", lambda: put_in(old, options))
    copy_shim(kind=kind)
    values |= {"BATON_URL": config.url, "BATON_USER": config.user}
    if is_new:  # the file's token is another server's
        values |= {"BATON_TOKEN": "", "BATON_CA_FILE": ""}
    values |= {"BATON_CA_FILE": config.ca_file} if os.environ.get("BATON_CA_FILE") else {}
    more = {"BATON_TOKEN": token.text, "BATON_WORK_ITEMS_COMMAND": work_items}
    values |= {name: value for name, value in more.items() if value}
    if (port, values[RELAY]) != (stored(RELAY_PORT), stored(RELAY)):
        stop_running()  # it holds the port; the next session starts the new one
    if stored(BUNDLE) and not values[RELAY]:
        forget_rules()
    try:
        written = save(values)
    except ValueError as error:
        raise ApiError(str(error)) from None
    if new != old:
        is_kept, is_secret = not installed(client, old), transport == "http"
        _tried(target, "write", lambda: target.write(new, keep=is_kept, secret=is_secret))
    _write_down()
    notes = [*token.notes, *_notes(target, new), *_shim_notes(kind, options), *tell_installed(client)]
    if relay and is_native and no_http and not is_chosen:
        notes.append(f"The shim asks: {no_http}.")
    return {
        "client": client, "scope": scope, "path": str(target.path), "changed": new != old, "transport": transport,
        "url": config.url, "user": token.user or config.user, "token": token.new_id, "config": str(written),
        "proven": summary(SPECS[client]), "fail_closed": fail_closed, "relay": bool(values[RELAY]), "notes": notes,
        "shim": "`baton hook`" if kind == "python" else str(shim_folder()),
    }  # fmt: skip


@app.command()
def uninstall(client: AnyClient = None, scope: AnyScope = None, as_json: AsJson = False) -> None:
    """Remove Baton's hooks from the clients' settings. Everything else there stays."""
    result = remove_hooks(client, scope)
    lines = [f"Removed: {one['client']}, {one['scope']} scope, from {one['path']}" for one in result["removed"]]
    lines = lines or ["Nothing to remove: Baton's hooks are not installed."]
    _show(result, [*lines, *result["notes"]], as_json=as_json)


def remove_hooks(client: str | None = None, scope: Scope | None = None) -> dict[str, Any]:
    """Remove the hooks. Return the output of `baton hooks uninstall --json`. Raise ApiError."""
    changes: list[tuple[Target, str]] = []
    for target in targets(find_project().root, client, scope):
        old = _read(target)
        new = _tried(target, "read", partial(take_out, target.client, old))
        if new != old:
            made_by_us = is_empty(new) and not target.backup.exists()
            changes.append((target, "" if made_by_us else new))
    for target, text in changes:
        _tried(target, "write", partial(target.write, text))
    if NATIVE in {(target.client, target.scope) for target, _ in changes} and stored(RELAY_PORT):
        save({RELAY_PORT: ""})
    if changes and config_path().exists():
        _write_down()
    notes = [note for gone in _gone({target.client for target, _ in changes}) for note in tell_removed(gone)]
    return {
        "removed": [{"client": t.client, "scope": t.scope, "path": str(t.path)} for t, _ in changes],
        "notes": notes,
    }


@app.command()
def status(client: AnyClient = None, scope: AnyScope = None, as_json: AsJson = False) -> None:
    """Show the installed hooks, and whether they fit the server."""
    api = Api()
    result = report(targets(api.project.root, client, scope), server_report(api))
    _show(result, show(result), as_json=as_json)


def _gone(clients: set[str]) -> list[str]:
    """Return the clients left without hooks in any scope."""
    root = find_project().root
    return sorted(one for one in clients if not any(installed(one, _read(target)) for target in targets(root, one)))


def _write_down() -> None:
    """Record the installed state, so that later changes are detectable."""
    save(manifest())


def _notes(target: Target, text: str) -> list[str]:
    notes = []
    if target.client == "codex":
        notes.append("Codex runs new hooks only after a person trusts them: open Codex and enter `/hooks`.")
    if target.scope == "project" and (trust := SPECS[target.client].trust):
        notes.append(trust)
    if switch := off_switch(target.client, text):
        notes.append(f"`{switch}` in {target.path} switches them all off.")
    if target.scope == "project":
        notes.append("Each teammate runs `baton hooks install --scope project` once, for the shim and their config.")
    other = next(iter(targets(find_project().root, target.client, "user" if target.scope == "project" else "project")))
    if other.path != target.path and installed(other.client, _read(other)):
        notes.append(f"The {other.scope} scope has the hooks too ({other.path}): one of the two is enough.")
    return notes


def _shim_notes(kind: ShimKind, options: HookOptions) -> list[str]:
    notes = []
    if kind == "python" and options.other and not find_program(os.environ):
        notes.append("`baton` is not on the search path: add its folder to PATH, or the hooks do nothing.")
    if options.fail_closed and options.other and options.other.windows and options.client != "copilot-cli":
        notes.append("Where `baton` itself is missing, calls go on: no line refuses them in each of Windows' shells.")
    return notes


def _read(target: Target) -> str:
    return _tried(target, "read", target.read)


def _tried(target: Target, verb: str, work: Callable[[], T]) -> T:
    """Work on a client's file. Raise ApiError."""
    try:
        return work()
    except UnclearError as error:
        why = f"{target.path}:{error.line}: {error}; it was left as it is. Correct it, then run this again."
    except UnicodeDecodeError:
        why = f"{target.path} is not UTF-8 text; it was left as it is."
    except OSError as error:
        why = f"cannot {verb} {target.path}: {(error.strerror or str(error)).lower()}."
    raise ApiError(why) from None


def _show(result: Any, lines: list[str], *, as_json: bool) -> None:
    if as_json:
        end_with_json(result)
    print("\n".join(lines))
