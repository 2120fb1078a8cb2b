"""A real server, a private home with Baton's hooks, and a project, for driving the real clients."""

import contextlib
import functools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest

from baton.local.hook.main import read_config
from baton.local.server import UnixConnection
from tests.e2e import clients
from tests.e2e.model_endpoint import ModelEndpoint, Script

BATON = Path(sys.executable).parent / "baton"
START_S = 30.0
SETTLE_S = 10.0

TEAM_RULE = """\
id: team/say-it-politely
description: A rewrite of a shell line, which the shipped rules do not have.
match: {tools: [Bash], input: {command: echo rude}}
decision: rewrite
set: {command: echo polite}
reason: said politely
tests:
  match: [echo rude]
  not_match: [echo polite]
"""

Client = Literal["claude-code", "codex", "copilot-cli", "gemini", "opencode", "qwen"]
Prepared = Callable[..., "Stage"]


@pytest.fixture(scope="session", autouse=True)
def installed_clients() -> None:
    clients.install()


@dataclass
class Server:
    """A `baton serve` in a process group of its own, on a port and in a home of its own."""

    home: Path
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it is ready; its log is `server.log` in its home."""
        self.home.mkdir(parents=True, exist_ok=True)
        env = clients.clean_env(self.home) | {"PORT": str(self.port), "BATON_HOME": str(self.home / "state")}
        env |= self.settings
        with (self.home / "server.log").open("ab") as log:
            self.process = subprocess.Popen(
                [BATON, "serve"], env=env, cwd=self.home, stdout=log, stderr=log, start_new_session=True
            )
        note, end = self.home / "state" / "server.json", time.monotonic() + START_S
        while not note.exists() or not self.is_ready(json.loads(note.read_text())["url"]):
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"`baton serve` did not start:\n{(self.home / 'server.log').read_text()[-4000:]}")
            time.sleep(0.05)
        self.port = int(json.loads(note.read_text())["url"].rpartition(":")[2])

    def is_ready(self, url: str) -> bool:
        try:
            return httpx2.get(f"{url}/readyz", timeout=2).is_success
        except httpx2.TransportError:
            return False

    def stop(self) -> None:
        """End it as Ctrl-C does; the rest of its group is killed if it does not go."""
        if self.process is None:
            return
        self.process.send_signal(signal.SIGINT)
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.process = None

    def get(self, path: str, **query: str) -> Any:
        return httpx2.get(f"{self.url}{path}", params=query, timeout=5).raise_for_status().json()

    @cached_property
    def token(self) -> str:
        """An admin's token, as a person makes it at a terminal of the machine."""
        env = clients.clean_env(self.home) | {"BATON_HOME": str(self.home / "state")}
        command = [BATON, "db", "admin-token", "--json"]
        made = subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=True)
        time.sleep(1.5)  # the server knows it within a second
        return str(json.loads(made.stdout)["text"])

    def token_of(self, user: str) -> str:
        """Make a token of a developer."""
        headers = {"Authorization": f"Bearer {self.token}"}
        body = {"user": user, "role": "developer"}
        answer = httpx2.post(f"{self.url}/tokens", json=body, headers=headers, timeout=5).raise_for_status()
        return str(answer.json()["text"])


@dataclass
class Played:
    """A run of a client that is over, and what the model was asked during it."""

    ran: clients.Ran
    model: ModelEndpoint
    session_id: str

    def results(self, thread: str = "main") -> list[str]:
        """What the tool calls of a thread told the model, in order."""
        return self.model.results(thread)

    def told(self, thread: str = "main") -> str:
        """All that a thread's model had been told by its last request."""
        asked = self.model.thread(thread)
        return asked[-1].text() if asked else ""


QUALITY = "[[main]] review the quality of this module"
"""A prompt that is for one of the quality team, but not clearly for which."""
_QUALITY_TEAM = {
    "code-reviewer": "Reviews changes for faults and quality before they are merged.",
    "quality-auditor": "Audits the quality of modules and finds problems in them.",
    "refactorer": "Improves the structure and quality of modules.",
    "git-master": "Handles git: squashes, rebases and orders commits.",
}


@dataclass
class Stage:
    """One developer's home and project, and the server that their hooks ask."""

    server: Server
    home: Path
    project: Path

    def baton(self, *args: str, url: str = "") -> str:
        """Run the command line in the project, as the developer would; it must succeed.

        The developer sits at a terminal; the tests have none, so what needs a person has a token. The hooks do not.
        """
        env = clients.clean_env(self.home) | ({"BATON_URL": url} if url else {"BATON_TOKEN": self.server.token})
        done = subprocess.run(
            [BATON, *args], cwd=self.project, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def write_agent(self, folder: str, name: str, description: str, *front: str) -> Path:
        """Write an agent's file of the project; `front` are more lines of its front matter. Return its folder."""
        path = self.project / folder / f"{name}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ["---", f"name: {name}", f"description: {description}", *front, "---", "Do the work."]
        path.write_text("\n".join(lines) + "\n")
        return path.parent

    def write_quality_team(self, folder: str) -> Path:
        """Write the files of four agents, three of whom may be meant by `QUALITY`; return their folder."""
        for name, description in _QUALITY_TEAM.items():
            home = self.write_agent(folder, name, description)
        return home

    @contextlib.contextmanager
    def pushed(self, name: str, description: str) -> Iterator[None]:
        """Push a roster of one agent for the team, for clients that tell of none; it is removed at the end."""
        folder = self.write_agent("pushed/.claude/agents", name, description)
        self.baton("roster", "push", str(folder), "--name", "pushed")
        try:
            yield
        finally:
            self.baton("roster", "remove", "pushed")

    def install(self, client: Client, *flags: str) -> None:
        self.baton("hooks", "install", "--client", client, *flags, url=self.server.url)

    def claude(
        self,
        script: Script,
        prompt: str | Sequence[str] = "[[main]] go",
        args: tuple[str, ...] = ("--allowedTools", "Bash"),
        env: Mapping[str, str] = {},
    ) -> Played:
        """Play a script with Claude Code in the project."""
        with ModelEndpoint(script) as model:
            ran = clients.claude(prompt, home=self.home, cwd=self.project, model_url=model.url, args=args, env=env)
        start = next((e for e in ran.events if e.get("subtype") == "init"), {})
        return Played(ran, model, str(start.get("session_id", "")))

    def codex(
        self, script: Script, prompt: str = "[[main]] go", env: Mapping[str, str] = {}, model: str = clients.CODEX_MODEL
    ) -> Played:
        """Play a script with Codex in the project."""
        with ModelEndpoint(script) as endpoint:
            ran = clients.codex(prompt, home=self.home, cwd=self.project, model_url=endpoint.url, model=model, env=env)
        start = next((e for e in ran.events if e.get("type") == "thread.started"), {})
        return Played(ran, endpoint, str(start.get("thread_id", "")))

    def copilot(
        self, script: Script, prompt: str = "[[main]] go", env: Mapping[str, str] = {}, args: tuple[str, ...] = ()
    ) -> Played:
        """Play a script with Copilot CLI in the project."""
        with ModelEndpoint(script) as model:
            ran = clients.copilot(prompt, home=self.home, cwd=self.project, model_url=model.url, env=env, args=args)
        end = next((e for e in ran.events if e.get("type") == "result"), {})
        return Played(ran, model, str(end.get("sessionId", "")))

    def opencode(
        self, script: Script, prompt: str = "[[main]] go", env: Mapping[str, str] = {}, args: tuple[str, ...] = ()
    ) -> Played:
        """Play a script with opencode in the project."""
        with ModelEndpoint(script) as model:
            ran = clients.opencode(prompt, home=self.home, cwd=self.project, model_url=model.url, env=env, args=args)
        start = next((e for e in ran.events if e.get("sessionID")), {})
        return Played(ran, model, str(start.get("sessionID", "")))

    def gemini(
        self, script: Script, prompt: str = "[[main]] go", env: Mapping[str, str] = {}, args: tuple[str, ...] = ()
    ) -> Played:
        """Play a script with Gemini CLI in the project."""
        with ModelEndpoint(script) as model:
            ran = clients.gemini(prompt, home=self.home, cwd=self.project, model_url=model.url, env=env, args=args)
        start = next((e for e in ran.events if e.get("session_id")), {})
        return Played(ran, model, str(start.get("session_id", "")))

    def qwen(
        self, script: Script, prompt: str = "[[main]] go", env: Mapping[str, str] = {}, args: tuple[str, ...] = ()
    ) -> Played:
        """Play a script with Qwen Code in the project."""
        with ModelEndpoint(script) as model:
            ran = clients.qwen(prompt, home=self.home, cwd=self.project, model_url=model.url, env=env, args=args)
        start = next((e for e in ran.events if e.get("session_id")), {})
        return Played(ran, model, str(start.get("session_id", "")))

    def decisions(self, played: Played, *, at_least: int = 1, **query: str) -> list[dict[str, Any]]:
        """A session's records, oldest first, once so many have reached the database."""
        end = time.monotonic() + SETTLE_S
        while True:
            found: list[dict[str, Any]] = self.server.get("/decisions", session_id=played.session_id, **query)["items"]
            if len(found) >= at_least or time.monotonic() > end:
                assert len(found) >= at_least, found
                return found[::-1]
            time.sleep(0.05)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """The server of all tests that do not end it. It has one rule of the team's own."""
    served = Server(tmp_path_factory.mktemp("server"))
    rule = served.home / "state" / "policies" / "team" / "say-it-politely.yaml"
    rule.parent.mkdir(parents=True)
    rule.write_text(TEAM_RULE)
    served.start()
    yield served
    served.stop()


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server that a test may end."""
    served = Server(tmp_path / "server")
    served.start()
    yield served
    served.stop()


def made(server: Server, folder: Path) -> Stage:
    """Make a home and a project with two files."""
    stage = Stage(server, folder / "home", folder / "home" / "project")
    stage.project.mkdir(parents=True)
    for name in ("a.py", "b.py"):
        (stage.project / name).write_text("x = 1\n")
    return stage


@pytest.fixture(scope="session")
def prepared(server: Server, tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    """Homes in which `baton hooks install` has run, and with `strict` also `baton mode enable`; made once for each kind.

    A strict project is a git repository with a remote, which is what names it, so that its copies are in the mode too.
    """

    @functools.cache
    def prepare(client: Client, *flags: str, strict: bool = False) -> Stage:
        stage = made(server, tmp_path_factory.mktemp("prepared"))
        stage.install(client, *flags)
        if strict:
            remote = f"https://git.example/{client}{''.join(flags)}.git"
            for args in (["init", "-q"], ["remote", "add", "origin", remote]):
                subprocess.run(["git", *args], cwd=stage.project, env=clients.clean_env(stage.home), check=True)
            stage.baton("mode", "enable")
        return stage

    return prepare


def copied(stage: Stage, folder: Path) -> Stage:
    """Copy a prepared home. Its hooks name the copy's shim and configuration."""
    home = folder / "home"
    shutil.copytree(stage.home, home)
    for file in home.rglob("*"):
        if file.is_file() and str(stage.home).encode() in (text := file.read_bytes()):
            file.write_bytes(text.replace(str(stage.home).encode(), str(home).encode()))
    return Stage(stage.server, home, home / "project")


@pytest.fixture(params=["http", "curl"])
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ask_relay(home: Path, method: str = "GET") -> Any:
    """Ask the relay of a home for its state, or stop it with DELETE. Raise OSError where none runs."""
    socket = read_config(str(home / ".config/baton/config")).get("BATON_RELAY", "").partition(" ")[0]
    with contextlib.closing(UnixConnection(Path(socket or "/nowhere"), 5)) as connection:
        connection.request(method, "/relay")
        return json.loads(connection.getresponse().read())


@pytest.fixture(autouse=True)
def no_leftovers(tmp_path: Path) -> Iterator[None]:
    """Clients leave large caches in their homes, and hooks a relay; keep none."""
    yield
    with contextlib.suppress(OSError):
        ask_relay(tmp_path / "home", "DELETE")
    shutil.rmtree(tmp_path, ignore_errors=True)
