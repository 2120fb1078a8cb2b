"""`baton open`: open the console in a browser, signed in."""

import webbrowser
from typing import Annotated
from urllib.parse import urlsplit

import typer

from baton.cli.options import AsJson
from baton.cli.output import show_json
from baton.local.server import Api
from baton.shared.person_socket import LOOPBACK

CONSOLE_HOST = "baton.localhost"
"""The name of this machine for the console: a cookie of `localhost` would be sent to every server on it."""


def open_(
    show_only: Annotated[bool, typer.Option("--print", help="Print the link and open nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Open the console in a browser, signed in as you."""
    api = Api(administer=True)
    made = api.request("POST", "/session/links")
    link = console_url(api.config.url) + made["path"]
    if as_json:
        show_json({"url": link, "expires_at": made["expires_at"]})
        return
    if show_only or not webbrowser.open(link):
        print(f"{link}\nOpen it within five minutes; it signs one browser in, once.")
        return
    print("The console is open in your browser. `baton open --print` shows a link for another one.")


def console_url(url: str) -> str:
    """Return where a browser finds the server: by a name of its own on this machine."""
    parts = urlsplit(url)
    if parts.hostname not in LOOPBACK:
        return url.rstrip("/")
    return f"{parts.scheme}://{CONSOLE_HOST}{f':{parts.port}' if parts.port else ''}"
