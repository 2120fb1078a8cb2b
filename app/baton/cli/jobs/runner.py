"""`baton runner`: run this person's jobs on this machine. `baton.runner` does the work."""

import asyncio
import logging
import logging.handlers
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from baton.cli.groups import group
from baton.cli.jobs import services
from baton.cli.jobs.result import state_folder
from baton.cli.options import AsJson
from baton.cli.output import end_with_json, show_findings, show_json, show_table
from baton.local import config as person
from baton.local import person_token
from baton.local.server import Api, ApiError
from baton.runner import config, template
from baton.runner.home import Home, RunnerHomeInUse

app = group("Run delegated jobs on this machine, with your own agents.")

ConfigFile = Annotated[
    Path | None, typer.Option("--config", help="The settings. Default: ~/.config/baton/runner.yaml.")
]


@app.command()
def run(
    config_file: ConfigFile = None,
    token_file: Annotated[Path | None, typer.Option(help="A file with the runner's token, for services.")] = None,
) -> None:
    """Lease and run your jobs until Ctrl-C or SIGTERM. Running jobs end first; a second Ctrl-C cancels them."""
    from baton.runner.wire import RequestRefused

    settings, home = _settings(config_file), Home(state_folder())
    try:
        lock = home.lock()
    except RunnerHomeInUse as error:
        raise ApiError(str(error)) from None
    log = logging.handlers.RotatingFileHandler(home.folder / "runner.log", maxBytes=1_000_000, backupCount=1)
    logging.basicConfig(handlers=[log], level=logging.WARNING, format="%(asctime)s %(message)s")
    try:
        asyncio.run(_run(settings, home, _token(token_file)))
    except RequestRefused as error:
        raise ApiError(f"the server refuses this runner: {error}") from None
    finally:
        os.close(lock)


@app.command()
def init(
    config_file: ConfigFile = None, force: Annotated[bool, typer.Option(help="Overwrite an existing file.")] = False
) -> None:
    """Write a commented `runner.yaml`, with the installed agents and the current project."""
    path = _path(config_file)
    if path.exists() and not force:
        raise ApiError(f"`{path}` exists; edit it, or overwrite it with `--force`")
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    person.replace_file(path, template.written(os.environ, Path.cwd()).encode(), mode=0o600)
    print(f"Wrote `{path}`. Check it with: baton runner doctor")


app.command()(services.install)
app.command()(services.uninstall)
app.command()(services.start)
app.command()(services.stop)
app.command()(services.logs)


@app.command("doctor")
def check(config_file: ConfigFile = None, as_json: AsJson = False) -> None:
    """Send each provider a trivial prompt, and show problems. The exit status is 1 if there are any."""
    from baton.runner import doctor

    settings = _settings(config_file)
    found, answers = _server()
    findings = [doctor.RunnerFinding(ok=answers, what=found), *asyncio.run(doctor.examine(settings, os.environ))]
    if as_json:
        show_json([{"ok": one.ok, "what": one.what, "fix": one.fix} for one in findings])
    else:
        show_findings(("ok" if one.ok else "error", one.what, one.fix) for one in findings)
    if not all(one.ok for one in findings):
        raise typer.Exit(1)


@app.command()
def status(as_json: AsJson = False) -> None:
    """Show your runners as the server sees them, whether one runs here, and how many attempts wait here to be sent."""
    answer = Api().request("GET", "/runners")
    runners: list[dict[str, Any]] = answer["items"]
    home = Home(state_folder())
    waiting = len(list(home.spools.glob("*.jsonl")))
    if as_json:
        pid = home.running_pid()
        end_with_json(
            {"runners": runners, "this": home.runner_id, "spooled": waiting, "running": pid > 0, "pid": pid or None}
        )
    rows = [
        (
            one["id"] + (" (this machine)" if one["id"] == home.runner_id else ""),
            one["name"],
            one["last_seen"],
            ", ".join(one["providers"]),
            ", ".join(one["workspaces"]),
            one["active"],
            one["slots"],
            "team" if one["shared"] else "you",
        )
        for one in runners
    ]
    columns = ("runner", "name", "last seen", "providers", "workspaces", "jobs", "free", "serves")
    show_table(columns, rows, none="The server knows no runner of yours; `baton runner run` starts one.")
    print(f"{waiting} attempts wait here to be sent; {services.standing(home)}")


async def _run(settings: config.RunnerConfig, home: Home, token: str) -> None:
    from baton.runner.runner import JobRunner, TerminalProgress
    from baton.runner.wire import Link

    found = person_token.with_token(person.load())
    link = Link(url=found.url, token=token or found.token, user=found.user, ca_file=found.ca_file)
    runner = JobRunner(settings, link, home, os.environ, TerminalProgress(sys.stdout))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, runner.drain)
    await runner.run()


@app.command("model-agent")
def model_agent(
    url: Annotated[str, typer.Option(help="The base of the API, such as `http://localhost:11434/v1`.")],
    model: Annotated[list[str], typer.Option(help="A model that may be asked for; the first is the default.")],
    key_variable: Annotated[str, typer.Option(help="The environment variable that holds the key.")] = "OPENAI_API_KEY",
    reasoning_effort: Annotated[
        Literal["low", "medium", "high"] | None, typer.Option(help="How much the model thinks, where it can.")
    ] = None,
) -> None:
    """Serve an OpenAI-compatible model as an agent.

    Name it in `runner.yaml`: `command: [baton, runner, model-agent, --url, …, --model, …]`.
    """
    from baton.runner.agents.model_agent import ModelAgent, serve

    asyncio.run(serve(ModelAgent(url, model, os.environ.get(key_variable, ""), reasoning_effort or "")))


def _token(file: Path | None) -> str:
    try:
        return file.read_text().strip() if file else ""
    except OSError as error:
        raise ApiError(f"the token cannot be read: {error}; `baton runner install` writes it") from None


def _server() -> tuple[str, bool]:
    try:
        api = Api()
        version = api.request("GET", "/status")["version"]
    except ApiError as error:
        return str(error), False
    return f"server {version} answers at {api.config.url}", True


def _path(given: Path | None) -> Path:
    return given or person.config_path().parent / "runner.yaml"


def _settings(given: Path | None) -> config.RunnerConfig:
    try:
        return config.load(_path(given))
    except config.ConfigError as error:
        raise ApiError(str(error)) from None
