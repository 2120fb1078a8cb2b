"""`baton demo`: shows Baton with a team, on an unused server."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Self
from urllib.parse import urlsplit

import typer
import yaml

from baton.cli.demo.play import Demo
from baton.cli.demo.story import STORY
from baton.cli.options import AsJson, UsageError
from baton.cli.output import end_with_json
from baton.local import config
from baton.local.server import Api, ApiError
from baton.shared.person_socket import LOOPBACK

# The demonstration's machine: a runner with `agent.py` as its agent, and a repository, in a separate folder.

PROVIDERS = ("codex", "claude_code")
_AGENT = Path(__file__).with_name("agent.py")
_FILES = {
    "payments/client.py": 'import requests\n\nURL = "https://payments.example.com"\n\n\ndef pay(order):\n    return requests.post(f"{URL}/orders/{order}")\n',
    "README.md": "# shop\n\nA shop that the demonstration works on.\n",
}
_END_S = 20


class Machine:
    """Run a runner for the owner of the token; remove the folder and everything in it afterwards."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __enter__(self) -> Self:
        """Start the runner. Raises ApiError without git, because agents have no worktrees then."""
        if shutil.which("git") is None:
            raise ApiError("`git` is not installed; the demonstration's agent works in a repository")
        self._folder = Path(tempfile.mkdtemp(prefix="baton-demo-"))
        repository = self._folder / "shop"
        for name, text in _FILES.items():
            (repository / name).parent.mkdir(parents=True, exist_ok=True)
            (repository / name).write_text(text)
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "Begin")):
            own = ("-c", "user.name=demo", "-c", "user.email=demo@example.com", "-c", "commit.gpgsign=false")
            subprocess.run(["git", *own, *words], cwd=repository, check=True, capture_output=True)
        settings = {
            "name": "demo",
            "slots": 4,
            "notices": False,
            "drain_s": 0.5,
            "cancel_grace_s": 1,
            "workspaces": {STORY.workspace: str(repository)},
            "providers": {name: {"command": [sys.executable, "-I", "-S", str(_AGENT)]} for name in PROVIDERS},
        }
        file = self._folder / "runner.yaml"
        file.write_text(yaml.safe_dump(settings))
        found = config.load()
        env = os.environ | {
            "BATON_URL": found.url,
            "BATON_USER": found.user,
            "BATON_CA_FILE": found.ca_file,
            "BATON_TOKEN": self._token,
            "XDG_STATE_HOME": str(self._folder / "state"),
        }
        command = [sys.executable, "-m", "baton", "runner", "run", "--config", str(file)]
        # A separate session: Ctrl-C goes to the demonstration, and it ends the runner afterwards.
        self._runner = subprocess.Popen(
            command, env=env, cwd=self._folder, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        return self

    def __exit__(self, *_: object) -> None:
        self._runner.terminate()
        try:
            self._runner.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._runner.kill()
            self._runner.wait()
        shutil.rmtree(self._folder, ignore_errors=True)


# Adds a week of history, if the server's database is a file writable by this person.

BY_HAND = "`baton db demo-history` on the server's machine, with its settings, adds a week before today"
_DATABASE, _HOME, _ORGANISATION = "BATON_DATABASE_URL", "BATON_HOME", "BATON_ORGANISATION"
_LONGEST_S = 120


def add_past(admin: Api) -> str:
    """Run `baton db demo-history` for the server's own home folder. Return the reason for a failure, "" for success.

    The API cannot do it: anybody able to post past decisions could post false ones.
    """
    try:
        items = admin.request("GET", "/status/settings")["items"]
    except ApiError:
        return BY_HAND
    settings = {one["name"]: one for one in items}
    home = Path(settings[_HOME]["value"])
    is_here = urlsplit(admin.config.url).hostname in LOOPBACK and (home / "baton.db").is_file()
    if not is_here or not settings[_DATABASE]["is_default"] or not os.access(home, os.W_OK):
        return BY_HAND
    env = {name: value for name, value in os.environ.items() if name != _DATABASE}
    env |= {_HOME: str(home), _ORGANISATION: settings[_ORGANISATION]["value"]}
    command = [sys.executable, "-m", "baton", "db", "demo-history"]
    try:
        done = subprocess.run(command, check=False, env=env, capture_output=True, text=True, timeout=_LONGEST_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{BY_HAND} ({error})"
    return f"{BY_HAND} ({done.stderr.strip()})" if done.returncode else ""


def demo(
    live: Annotated[
        bool | None,
        typer.Option(
            "--live/--once", help="Continue until Ctrl-C, or end when all data is stored. At a terminal: --live."
        ),
    ] = None,
    every: Annotated[float, typer.Option(min=0.01, help="Seconds between two calls of `--live`.")] = 0.5,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also on a server with existing decisions.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fill a fresh server with a demonstration team, so every screen of the console has content.

    Teams, people, projects and rules with the name prefix `demo` are added through the public API, and their agents'
    calls are decided like any. If the server's database is a file on this machine, the last week is filled as well,
    with copies of the new decisions. A runner with a scripted agent works on tasks delegated in your name. With
    `--live` it continues, and one of its questions waits for you. The tokens are revoked at the end.
    """
    admin = Api(administer=True)
    played = Demo(admin, lambda token: Api(token=token))
    note = ""
    if not anyway and not played.is_fresh():
        raise UsageError("this server has decisions already; use a fresh one, or add `--anyway`")
    goes_on = sys.stdout.isatty() and not as_json if live is None else live
    try:
        played.set_up()
        with Machine(played.token_of_runner()):
            played.play()
            played.delegate()
            note = add_past(admin)
            if goes_on:
                print(
                    f"{played.calls} calls were made, and an agent waits for your answer. See it in the console:"
                    " `baton open`. More calls come until Ctrl-C.",
                    file=sys.stderr,
                )
                for _ in played.live(every):
                    pass
    except KeyboardInterrupt:
        pass
    finally:
        played.leave()
    end_with_json({"calls": played.calls, "notes": [note] if note else []}, when=as_json)
    print(f"{played.calls} calls were made. `baton open` shows them in the console.")
    if note:
        print(f"They are all of now: {note}.")
