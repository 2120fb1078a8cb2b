"""`baton serve`: run the server in the foreground, until Ctrl-C."""

import asyncio
import gc
import json
import os
import socket
from errno import EADDRINUSE

import typer

from baton.kernel.base.settings import Settings
from baton.serve.settings_doc import server_settings
from baton.serve.warm import begin
from baton.shared.environment import unknown_variables

BACKLOG = 2_048  # maximum number of connections waiting to be accepted


def serve() -> None:
    """Run the server until Ctrl-C.

    It listens on 127.0.0.1:8080 (PORT, BATON_HOST) and stores its data in BATON_HOME.
    """
    from baton.kernel.base import logs

    begin()
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
        remedy = (
            "Set PORT to another one, or check for a running Baton with `baton status`"
            if error.errno == EADDRINUSE
            else "Set BATON_HOST to an address of this machine, and PORT to one that you may use"
        )
        why = (error.strerror or str(error)).lower()
        logs.problem(f"cannot listen on {settings.host}:{settings.port}: {why}. {remedy}.")
        raise typer.Exit(1) from None

    from baton.kernel.http.serving.server import run
    from baton.main import create_app
    from baton.serve.people_listener import at_a_persons_terminal, people_listener, show_link
    from baton.serve.workers import START_FAILED, supervise

    port = listener.getsockname()[1]
    url = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{port}"
    note = settings.home / "server.json"

    def on_ready() -> None:
        listener.listen(BACKLOG)  # only now: a proxy or a hook must not wait for a starting server
        # Written atomically, since other processes wait for this file.
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
            link = (lambda path: show_link(port, path)) if at_a_persons_terminal(settings) else None
            app = create_app(settings, on_ready=on_ready, show_link=link)
            started = run(settings, app, listeners)
        except KeyboardInterrupt:
            logs.notice("Baton has stopped; all records are stored.")
            started = True
        if not started:
            raise typer.Exit(1)
        note.unlink(missing_ok=True)


def _unsafe(settings: Settings) -> str:
    """Return the reason against these settings with a remedy, or ""."""
    if settings.auth_on:
        return ""
    if not settings.on_loopback:
        return (
            f"`BATON_HOST` is `{settings.host}`, but with `BATON_AUTH=off` the server answers anybody who can reach it;"
            " remove `BATON_AUTH` (the first start writes an admin's token to a file, BATON_ALLOWED_HOSTS names the hosts"
            " that clients use), or bind to `127.0.0.1`, `::1` or `localhost`"
        )
    if settings.database_url:
        return (
            "`BATON_AUTH` is `off`, but `BATON_DATABASE_URL` names a shared database; remove one of the two: without"
            " tokens the server cannot verify users"
        )
    return ""


def _listen(settings: Settings) -> socket.socket:
    """Take the configured port, before starting anything else. Raise OSError if it is in use."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((settings.host, settings.port))
    return listener
