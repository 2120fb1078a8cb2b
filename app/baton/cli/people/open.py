"""`baton open`: open the console in a browser, signed in."""

import webbrowser
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import typer

from baton.cli.options import AsJson, ExportFormat, Limit, Since, Until
from baton.cli.output import end_with_json, plain, show_json, show_lines
from baton.local.server import Api
from baton.shared.person_socket import LOOPBACK

CONSOLE_HOST = "baton.localhost"
"""The name of this machine for the console: a cookie of `localhost` would be sent to every server on it."""


def open_(
    show_only: Annotated[bool, typer.Option("--print", help="Print the link and open nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Open the console in a browser, signed in as you."""
    link = sign_in_link()
    if as_json:
        show_json(link)
    else:
        show_console(link["url"], show_only=show_only)


def sign_in_link() -> dict[str, str]:
    """Return a one-time sign-in link for this person's browser, and its end. Raise ApiError."""
    api = Api(administer=True)
    made = api.request("POST", "/session/links")
    return {"url": console_url(api.config.url) + made["path"], "expires_at": made["expires_at"]}


def show_console(link: str, *, show_only: bool = False) -> None:
    """Open the link in a browser, or print it."""
    if show_only or not webbrowser.open(link):
        print(f"{link}\nOpen it within five minutes; it signs one browser in, once.")
        return
    print("The console is open in your browser. `baton open --print` shows a link for another one.")


def console_url(url: str) -> str:
    """Return the server's address for a browser: by a name of its own on this machine."""
    parts = urlsplit(url)
    if parts.hostname not in LOOPBACK:
        return url.rstrip("/")
    return f"{parts.scheme}://{CONSOLE_HOST}{f':{parts.port}' if parts.port else ''}"


# `baton audit`: changes with author, time and reason.


def audit(
    action: Annotated[
        Literal["export"] | None, typer.Argument(help="`export` prints all that match, for another program.")
    ] = None,
    kind: Annotated[str, typer.Option(help="Only changes of this kind: mode, token, policies, exception …")] = "",
    actor: Annotated[str, typer.Option(help="Only changes by this person.")] = "",
    about: Annotated[str, typer.Option("--object", help="Only changes of this object.")] = "",
    since: Since = "",
    until: Until = "",
    export_format: ExportFormat = "ndjson",
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List changes with author and reason, or export all that match.

    The newest change comes first.
    """
    query = {"kind": kind, "actor": actor, "object": about, "since": since, "until": until}
    api = Api(administer=True)
    if action:
        show_lines(api.text("/audit/export", query | {"format": export_format}))
        return
    entries = api.request("GET", "/audit", query=query | {"limit": str(limit)})["items"]
    end_with_json(entries, when=as_json)
    if not entries:
        print("No changes.")
    for entry in entries:
        why = f"  ({entry['reason']})" if entry["reason"] else ""
        print(plain(f"{entry['at']}  {entry['actor']} ({entry['role']})  {entry['action']}  {entry['object']}{why}"))
        for line in _differences(entry["before"], entry["after"]):
            print(plain(f"    {line}"))


def _differences(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [
        f"{name}: {before.get(name, '-')} → {after.get(name, '-')}"
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]
