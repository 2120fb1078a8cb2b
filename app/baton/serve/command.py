"""`baton serve`: run the server in the foreground, until Ctrl-C."""

import asyncio
import gc
import json
import os
import socket

import typer

from baton.kernel.base.settings import Settings
from baton.serve.server_settings import server_settings
from baton.shared.environment import unknown_variables

BACKLOG = 2_048
"""Connections that may wait to be accepted."""


def serve() -> None:
    """Run the server until Ctrl-C.

    It listens on 127.0.0.1:8080; PORT and BATON_HOST change that, BATON_HOME is where it keeps its data.
    """
    from baton.kernel.base import logs

    gc.disable()  # looking for garbage among modules, which all stay, is a fifth of the time until the first answer
    settings = server_settings()
    logs.configure(settings.log_level, settings.log_format)
    for problem in unknown_variables(os.environ):
        logs.problem(problem)
    if problem := _unsafe(settings):
        logs.problem(problem)
        raise typer.Exit(2)
    try:
        listener = _listen(settings)
    except OSError as error:
        logs.problem(
            f"cannot listen on {settings.host}:{settings.port}: {(error.strerror or str(error)).lower()}."
            " Set PORT to another one, or `baton status` shows whether a Baton runs there already."
        )
        raise typer.Exit(1) from None

    from baton.kernel.http.serving.server import run
    from baton.main import create_app
    from baton.serve.people_listener import at_a_persons_terminal, people_listener, show_code, show_link, shows_codes
    from baton.serve.workers import START_FAILED, supervise

    port = listener.getsockname()[1]
    url = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{port}"
    note = settings.home / "server.json"

    def on_ready() -> None:
        # Whoever waits for the note reads it as soon as it is there, so it comes whole.
        unfinished = note.with_suffix(".new")
        unfinished.write_text(json.dumps({"url": url, "pid": os.getpid()}) + "\n")
        unfinished.replace(note)
        logs.notice(
            f"Baton listens on {url} (state in {settings.home.absolute()}). Next: `baton hooks install` in a project."
        )

    with people_listener(settings, port) as for_people:
        listeners = [listener, *for_people]
        if settings.workers > 1:
            gc.enable()
            status = asyncio.run(supervise(settings, listeners, on_ready))
            if status != START_FAILED:  # after a failed start the note may be another server's
                note.unlink(missing_ok=True)
            raise typer.Exit(status)
        try:
            show = show_code if not for_people and shows_codes(settings) else None
            link = (lambda path: show_link(port, path)) if at_a_persons_terminal(settings) else None
            app = create_app(settings, on_ready=on_ready, show_code=show, show_link=link)
            started = run(settings, app, listeners)
        except KeyboardInterrupt:
            logs.notice("Baton has stopped; every record is kept.")
            started = True
        if not started:
            raise typer.Exit(1)
        note.unlink(missing_ok=True)


def _unsafe(settings: Settings) -> str:
    """Return why the server must not run with these settings and what to do, "" if it may."""
    if settings.auth_on:
        return ""
    if not settings.on_loopback:
        return (
            f"`BATON_HOST` is `{settings.host}`, but with `BATON_AUTH=off` the server answers anybody who can reach it;"
            " leave `BATON_AUTH` out (the first start writes an admin's token to a file, BATON_ALLOWED_HOSTS names the hosts"
            " that clients use), or bind to `127.0.0.1`, `::1` or `localhost`"
        )
    if settings.database_url:
        return (
            "`BATON_AUTH` is `off`, but `BATON_DATABASE_URL` names a shared database; leave one of the two out: without"
            " tokens the server believes everybody who they say they are"
        )
    return ""


def _listen(settings: Settings) -> socket.socket:
    """Listen on the port of the settings, before anything else is started. Raise OSError if it is taken."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((settings.host, settings.port))
    listener.listen(BACKLOG)
    return listener
