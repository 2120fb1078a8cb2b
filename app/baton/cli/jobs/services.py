"""`baton runner install|uninstall|start|stop|logs`: a background runner without a terminal (decision 0034)."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from baton.cli.jobs.result import state_folder
from baton.local import config as person
from baton.local.server import Api, ApiError
from baton.runner.home import Home
from baton.runner.service import Background, Service, ServiceError, last_lines, log_of, service
from baton.shared.agent_process import own_doubt

_FOLLOW_S = 0.5


def install() -> None:
    """Run your runner in the background: from now on, and in each session with systemd or launchd."""
    _ready()
    home = Home(state_folder())
    _store_token(home)
    way = _service(home)
    try:
        print(f"{way.install()}.")
        way.start()
    except ServiceError as error:
        raise ApiError(str(error)) from None
    print(f"The runner is started by {way.name}. Look after it with: baton runner status|logs|stop")


def uninstall() -> None:
    """Stop the background runner, and remove the files of `install`."""
    home = Home(state_folder())
    try:
        _service(home).uninstall()
    except ServiceError as error:
        raise ApiError(str(error)) from None
    token_file(home).unlink(missing_ok=True)
    print("The runner no longer starts automatically. Running jobs may end first.")


def start() -> None:
    """Start the runner in the background."""
    _ready()
    home = Home(state_folder())
    if pid := home.running_pid():
        print(f"A runner runs already, as process {pid}.")
        return
    print(f"The runner is started by {begin(home)}.")


def stop() -> None:
    """Stop the runner on this machine; running jobs may end first. A second stop cancels them."""
    home = Home(state_folder())
    pid = home.running_pid()
    if not pid:
        print("No runner runs here.")
        return
    way = _service(home)
    try:
        (way if way.is_installed() else Background((), home, os.environ)).stop()
    except ServiceError as error:
        raise ApiError(str(error)) from None
    print(f"The runner, process {pid}, is stopping.")


def logs(
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, max=10_000, help="How many of the last lines.")] = 50,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Continue until Ctrl-C.")] = False,
) -> None:
    """Show the background runner's log."""
    home = Home(state_folder())
    sys.stdout.write(last_lines(home, lines) or ("" if follow else f"There is no `{log_of(home)}` yet.\n"))
    sys.stdout.flush()
    if not follow:
        return
    at = log_of(home).stat().st_size if log_of(home).exists() else 0
    while True:
        time.sleep(_FOLLOW_S)
        size = log_of(home).stat().st_size if log_of(home).exists() else 0
        if size == at:
            continue
        with log_of(home).open("rb") as file:
            file.seek(at if size > at else 0)  # a new log was begun
            sys.stdout.write(file.read().decode("utf-8", "replace"))
            at = file.tell()
        sys.stdout.flush()


def begin(home: Home) -> str:
    """Start the runner. Return the name of the service manager in charge. Raise ApiError."""
    way = _service(home)
    try:
        if not way.is_installed():
            _store_token(home)
            way.install()
        way.start()
    except ServiceError as error:
        raise ApiError(str(error)) from None
    return way.name


def standing(home: Home) -> str:
    """Describe whether a runner runs here, and its service manager."""
    pid = home.running_pid()
    way = _service(home)
    by = f", installed with {way.name}" if way.is_installed() else ""
    return (f"a runner runs here, as process {pid}" if pid else "no runner runs here") + by


def token_file(home: Home) -> Path:
    """Return the path of the service's token, readable only by its owner."""
    return home.folder / "token"


def _service(home: Home) -> Service:
    baton = str(Path(sys.executable).with_name("baton"))
    token = ("--token-file", str(token_file(home))) if token_file(home).exists() else ()
    return service((baton, "runner", "run", *token), home, os.environ)


def _ready() -> None:
    path = person.config_path().parent / "runner.yaml"
    if not path.exists():
        raise ApiError(f"there is no `{path}`; `baton runner init` writes one")


def _store_token(home: Home) -> None:
    """Keep a token for the service, because it has no terminal to identify a person by.

    Raises:
        ApiError: If the token is missing, and the person may not make one.
    """
    token = os.environ.get("BATON_TOKEN", "")
    if not token:
        if token_file(home).exists():
            return
        api = Api(administer=True)
        body = {"user": person.load().user, "role": "runner", "reason": f"the runner on {home.host}"}
        try:
            token = api.request("POST", "/tokens", body=body)["text"]
        except ApiError as error:
            raise ApiError(
                f"a runner in the background needs a token of role `runner` ({error}); have an admin make one with"
                f" `baton token create --user {person.load().user} --role runner`, and set BATON_TOKEN to it for this command"
            ) from None
    person.replace_file(token_file(home), f"{token}\n".encode(), mode=0o600)


def offer_start(waiting: dict[str, str] | None) -> None:
    """Start the runner for a waiting job, if the person agreed once. Ask them at a terminal if they were never asked.

    An agent neither agrees nor starts anything.
    """
    if waiting is None or waiting["reason"] not in {"no_runner", "runner_offline"}:
        return
    home, agreed = Home(state_folder()), person.stored(person.RUNNER_START)
    if agreed == "no" or home.running_pid() or not (person.config_path().parent / "runner.yaml").exists():
        return
    if not (sys.stdin.isatty() and sys.stderr.isatty()) or own_doubt():
        return
    if agreed != "yes":
        question = "Start your runner in the background, now and whenever you delegate and none runs?"
        agreed = "yes" if typer.confirm(question, err=True) else "no"
        person.save({person.RUNNER_START: agreed})
    if agreed == "yes":
        print(f"The runner is started by {begin(home)}.", file=sys.stderr)
