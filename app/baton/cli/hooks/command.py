"""`baton hooks`: install Baton's hooks in an agent's client, remove them, and show where they are."""

import ipaddress
import os
import shutil
import sys
from typing import Annotated, Any, NoReturn
from urllib.parse import urlsplit

import typer

from baton.cli.groups import group
from baton.cli.hooks.entries import ClientName, HookOptions, Transport
from baton.cli.hooks.files import Scope, Target, copy_shim, other_shim, shim_folder, shim_word, targets
from baton.cli.hooks.hook_files import install as put_in
from baton.cli.hooks.hook_files import installed, is_empty, off_switch
from baton.cli.hooks.hook_files import uninstall as take_out
from baton.cli.hooks.hook_token import hook_token
from baton.cli.hooks.json_edit import UnclearError
from baton.cli.hooks.manifest import manifest
from baton.cli.hooks.shims import ShimKind, default_kind
from baton.cli.hooks.status import report, server_report, show
from baton.cli.hooks.telling import tell_installed, tell_removed
from baton.cli.options import AsJson
from baton.cli.output import show_json
from baton.local.config import INSTALLED, Config, config_path, load, save, stored
from baton.local.project import Project, find_project
from baton.local.server import Api, ApiError
from baton.shared.client_abilities import abilities_of, summary

app = group(
    "Install or remove Baton's hooks in a client: Claude Code, Codex, Copilot CLI, Gemini CLI, Qwen Code, opencode, Cursor, Continue."
)
AnyClient = Annotated[ClientName | None, typer.Option("--client", help="Only this client. Default: all.")]
AnyScope = Annotated[Scope | None, typer.Option("--scope", help="Only this scope. Default: both.")]


@app.command()
def install(
    client: Annotated[ClientName, typer.Option(help="The agent's client.")] = "claude-code",
    scope: Annotated[Scope, typer.Option(help="Your own settings, or this project's, shared with its team.")] = "user",
    transport: Annotated[
        Transport, typer.Option(help="curl works everywhere; http saves one process a call.")
    ] = "curl",
    shim: Annotated[
        ShimKind | None,
        typer.Option(
            help="What the hooks run: a POSIX shell, `baton hook`, or PowerShell. Default: sh; on Windows python."
        ),
    ] = None,
    fail_closed: Annotated[
        bool, typer.Option("--fail-closed", help="Block calls while the server cannot be reached.")
    ] = False,
    work_items_command: Annotated[
        str,
        typer.Option(
            metavar="COMMAND", help="Counts open work items at each session's start: its output ends with a number."
        ),
    ] = "",
    as_json: AsJson = False,
) -> None:
    """Install the hooks in a client's settings, with the shim that they run and your config file.

    The server and the user are those of the environment, or of the file as it is. With a token of yours, the hooks get one of
    their own, of role `hook`; yours is not written.
    """
    config, project = load(), find_project()
    if transport == "http":
        _check_http(client, config)
    kind = shim or default_kind()
    if kind == "powershell" and sys.platform != "win32":
        _refuse("`--shim powershell` is written for Windows alone. Use `--shim sh` or `--shim python`.")
    if kind == "powershell" and scope == "project":
        _refuse("`--shim powershell` names a path of this machine, which teammates do not have. Use `--shim python`.")
    options = HookOptions(
        client=client,
        transport=transport,
        shim=shim_word(),
        url=config.url,
        fail_closed=fail_closed,
        headers=_known_headers(scope, config, project),
        other=other_shim(kind, scope),
    )
    target = next(targets(project.root, client, scope))
    old = _read(target)
    new = _understood(target, lambda: put_in(old, options))
    copy_shim(kind=kind)
    values = {"BATON_URL": config.url, "BATON_USER": config.user}
    values |= {"BATON_CA_FILE": config.ca_file} if os.environ.get("BATON_CA_FILE") else {}
    token = hook_token(config)
    values |= {"BATON_TOKEN": token.text} if token.text else {}
    if work_items_command:
        values["BATON_WORK_ITEMS_COMMAND"] = work_items_command
    try:
        written = save(values)
    except ValueError as error:
        _refuse(str(error))
    if new != old:
        _write(target, new, keep=not installed(client, old))
    _write_down()
    notes = [*token.notes, *_notes(target, transport, config, new), *_shim_notes(kind, options)]
    notes += tell_installed(client)
    where = "`baton hook`" if kind == "python" else str(shim_folder())
    result = {"client": client, "scope": scope, "path": str(target.path), "changed": new != old, "transport": transport}
    can = summary(abilities_of(client))
    result |= {
        "proven": can,
        "fail_closed": fail_closed,
        "shim": where,
        "config": str(written),
        "notes": notes,
    }
    _show(
        result,
        [
            f"{'Installed' if new != old else 'Already installed'}: {client}, {scope} scope, in {target.path}",
            f"The hooks ask {config.url} as `{config.user}` (config: {written}; shim: {where}).",
            *can,
            *notes,
        ],
        as_json=as_json,
    )


@app.command()
def uninstall(client: AnyClient = None, scope: AnyScope = None, as_json: AsJson = False) -> None:
    """Remove Baton's hooks from the clients' settings, and leave everything else there as it is."""
    changes: list[tuple[Target, str]] = []
    for target in targets(find_project().root, client, scope):
        old = _read(target)
        new = _understood(target, lambda target=target, old=old: take_out(target.client, old))
        if new != old:
            made_by_us = is_empty(new) and not target.backup.exists()
            changes.append((target, "" if made_by_us else new))
    for target, text in changes:
        _write(target, text)
    if changes and config_path().exists():
        _write_down()
    notes = [note for gone in _gone({target.client for target, _ in changes}) for note in tell_removed(gone)]
    result = [{"client": t.client, "scope": t.scope, "path": str(t.path)} for t, _ in changes]
    lines = [f"Removed: {t.client}, {t.scope} scope, from {t.path}" for t, _ in changes]
    lines = lines or ["Nothing to remove: Baton's hooks are not installed."]
    _show({"removed": result, "notes": notes}, [*lines, *notes], as_json=as_json)


@app.command()
def status(client: AnyClient = None, scope: AnyScope = None, as_json: AsJson = False) -> None:
    """Show what is installed where, and whether it fits the server."""
    api = Api()
    result = report(targets(api.project.root, client, scope), server_report(api))
    _show(result, show(result), as_json=as_json)


def _gone(clients: set[ClientName]) -> list[ClientName]:
    """Return those of the clients that have hooks in no scope any more."""
    root = find_project().root
    return sorted(one for one in clients if not any(installed(one, _read(target)) for target in targets(root, one)))


def _write_down() -> None:
    """Write down what is installed now, so that a later change of it can be told."""
    save(manifest())


def _check_http(client: ClientName, config: Config) -> None:
    url = urlsplit(config.url)
    if client != "claude-code":
        _refuse(
            f"`{client}` has no http hooks: one would make its whole settings file invalid. Use `--transport curl`."
        )
    if url.scheme not in {"http", "https"} or not url.hostname:
        _refuse(f"`{config.url}` is not an http or https url.")
    if "@" in url.netloc:
        _refuse("`BATON_URL` holds a password, which http hooks would write into the settings. Use `--transport curl`.")
    if config.ca_file:
        _refuse("http hooks cannot use `BATON_CA_FILE`. Use `--transport curl`.")
    try:
        ipaddress.ip_address(url.hostname)
    except ValueError:
        if url.hostname != "localhost":
            _refuse(
                f"`{url.hostname}` is a name: if it resolves to a private address, Claude Code sends nothing and runs"
                " every tool unchecked. Use `--transport curl`, or a `BATON_URL` with an address.",
            )


def _known_headers(scope: Scope, config: Config, project: Project) -> dict[str, str]:
    """Return the headers whose values are known now: the user for a user's settings, the project for a project's."""
    known = {"Baton-User": config.user, "Baton-Installed": stored(INSTALLED)} if scope == "user" else {}
    if scope == "project" and not project.name.startswith("/"):
        known = {"Baton-Project": project.name}
    return {name: value for name, value in known.items() if value and value.isascii() and "$" not in value}


def _notes(target: Target, transport: Transport, config: Config, text: str) -> list[str]:
    notes = []
    if target.client == "codex":
        notes.append("Codex runs new hooks only after a person trusts them: open Codex and enter `/hooks`.")
        if target.scope == "project":
            notes.append("Codex reads a project's hooks only when the project is trusted.")
    if target.client in {"gemini", "qwen"} and target.scope == "project":
        notes.append("It runs a project's hooks only in a folder that the person has trusted.")
    if switch := off_switch(target.client, text):
        notes.append(f"`{switch}` in {target.path} switches them all off.")
    if transport == "http" and config.token and not os.environ.get("BATON_TOKEN"):
        notes.append(
            "http hooks read `BATON_TOKEN` only from the client's environment: export the one of the config file, or use curl."
        )
    if target.scope == "project":
        notes.append("Each teammate runs `baton hooks install --scope project` once, for the shim and their config.")
    other = next(iter(targets(find_project().root, target.client, "user" if target.scope == "project" else "project")))
    if other.path != target.path and installed(other.client, _read(other)):
        notes.append(f"The {other.scope} scope has the hooks too ({other.path}): one of the two is enough.")
    return notes


def _shim_notes(kind: ShimKind, options: HookOptions) -> list[str]:
    notes = []
    if kind == "python" and options.other and not options.other.path and not shutil.which("baton"):
        notes.append("`baton` is not on the search path: add its folder to PATH, or the hooks do nothing.")
    if options.fail_closed and options.other and options.other.windows and options.client != "copilot-cli":
        notes.append("Where `baton` itself is missing, calls go on: no line refuses them in each of Windows' shells.")
    return notes


def _read(target: Target) -> str:
    try:
        return target.read()
    except UnicodeDecodeError:
        _refuse(f"{target.path} is not UTF-8 text; it was left as it is.")
    except OSError as error:
        _refuse(f"cannot read {target.path}: {(error.strerror or str(error)).lower()}.")


def _write(target: Target, text: str, *, keep: bool = False) -> None:
    try:
        target.write(text, keep=keep)
    except OSError as error:
        _refuse(f"cannot write {target.path}: {(error.strerror or str(error)).lower()}.")


def _understood(target: Target, change: Any) -> str:
    try:
        return str(change())
    except UnclearError as error:
        _refuse(f"{target.path}:{error.line}: {error}; it was left as it is. Correct it, then run this again.")


def _refuse(text: str) -> NoReturn:
    raise ApiError(text)


def _show(result: Any, lines: list[str], *, as_json: bool) -> None:
    if as_json:
        show_json(result)
        return
    print("\n".join(lines))
