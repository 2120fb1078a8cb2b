"""Tells the server whose hooks were installed or removed, so that it can say which were never heard of."""

from baton.cli.hooks.entries import ClientName
from baton.local.server import Api, ApiError


def tell_installed(client: ClientName) -> list[str]:
    """Tell the server that the person's hooks are installed; return a note if that failed.

    An installation needs no server: the first call of the client tells it as well.
    """
    try:
        Api().request("PUT", f"/clients/{client}/hooks")
    except ApiError as error:
        return [f"The server was not told, and will hear of the hooks with their first call: {error}"]
    return []


def tell_removed(client: ClientName) -> list[str]:
    """Tell the server that the person's hooks were removed; return a note if that failed."""
    try:
        Api().request("DELETE", f"/clients/{client}/hooks")
    except ApiError as error:
        return [f"The server was not told that the hooks of {client} were removed: {error}"]
    return []
