"""`baton serve`: the server in the foreground, until Ctrl-C. It configures nothing: `app.settings` reads that."""

import asyncio
import ipaddress
import json
import logging
import os
import socket
import sys

import typer
from pydantic import ValidationError

from app.settings import Settings, unknown_variables

BACKLOG = 2_048
GRACE_S = 10
"""Seconds that requests in flight have to end after Ctrl-C."""


def serve() -> None:
    """Run the server on 127.0.0.1:8080 (PORT and BATON_HOME override) until Ctrl-C."""
    settings = _settings()
    logging.basicConfig(level=settings.log_level.upper(), format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    for chatty in ("alembic", "uvicorn", "watchfiles"):
        logging.getLogger(chatty).setLevel(max(logging.WARNING, logging.getLogger().level))
    for problem in unknown_variables(os.environ):
        print(f"baton: {problem}", file=sys.stderr)
    import uvicorn  # noqa: PLC0415 - the other commands need no server, and it takes a second to import

    from app.api.protocol import Protocol  # noqa: PLC0415
    from app.main import create_app  # noqa: PLC0415

    listener = _listen(settings)
    port = listener.getsockname()[1]
    url = f"http://{f'[{settings.host}]' if ':' in settings.host else settings.host}:{port}"
    note = settings.home / "server.json"

    def tell() -> None:
        note.write_text(json.dumps({"url": url, "pid": os.getpid()}) + "\n")
        print(
            f"Baton listens on {url} (state in {settings.home.absolute()}). Next: `baton hooks install` in a project.",
            flush=True,
        )

    config = uvicorn.Config(
        create_app(settings, on_ready=tell),
        loop="uvloop",
        http=Protocol,
        lifespan="on",
        access_log=False,
        proxy_headers=False,
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE_S,
    )
    server = uvicorn.Server(config)
    try:
        with asyncio.Runner(loop_factory=config.get_loop_factory()) as runner:
            runner.run(server.serve(sockets=[listener]))
    except KeyboardInterrupt:
        print("Baton has stopped; every record is kept.")
    if not server.started:
        raise typer.Exit(1)
    note.unlink(missing_ok=True)


def _settings() -> Settings:
    try:
        settings = Settings()
    except ValidationError as error:
        for one in error.errors():
            name = "_".join(str(part) for part in one["loc"]).upper()
            name = name if name == "PORT" else f"BATON_{name.removeprefix('BATON_')}"
            print(f"baton: `{name}` is `{one['input']}`: {one['msg'].lower()}", file=sys.stderr)
        raise typer.Exit(2) from None
    if not _is_loopback(settings.host):
        print(
            f"baton: `BATON_HOST` is `{settings.host}`, but without tokens the server answers anybody who reaches it;"
            " allowed: `127.0.0.1`, `::1`, `localhost`",
            file=sys.stderr,
        )
        raise typer.Exit(2)
    return settings


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        print(
            f"baton: cannot listen on {settings.host}:{settings.port}: {(error.strerror or str(error)).lower()}."
            " Set PORT to another one, or `baton status` shows whether a Baton runs there already.",
            file=sys.stderr,
        )
        raise typer.Exit(1) from None
    listener.listen(BACKLOG)
    return listener
