"""`baton up` and `baton down`: a machine whose agents are checked, and back."""

import json
import socket
import subprocess

import pytest

from baton.cli import up
from baton.clients.registry import CLIENTS
from tests.support.cases import every
from tests.support.command_line import clean_environment, run
from tests.support.server import BATON, free_port

HERE = (".claude", ".codex", ".copilot", ".cursor", ".gemini", ".qwen", ".config/opencode")
RULE = "guardrails/download-to-shell"


class Machine:
    """A home with these clients, and a server's url."""

    def __init__(self, home, url, clients=HERE):
        self.home, self.url = home, url
        for folder in clients:
            (home / folder).mkdir(parents=True)
        (home / "project").mkdir()

    def types(self, *words, stdin="", **env):
        # No program of a client is on the search path: only the folders count.
        env = clean_environment(HOME=str(self.home), BATON_URL=self.url, BATON_USER="ada", PATH="/usr/bin:/bin", **env)
        return run(*words, env=env, cwd=self.home / "project", stdin=stdin)

    def starts(self, *words):
        """Run it as a process of its own, which the server that it starts outlives."""
        env = clean_environment(HOME=str(self.home), BATON_URL=self.url, BATON_USER="ada")
        command = [BATON, *words, "--json"]
        done = subprocess.run(command, env=env, cwd=self.home / "project", capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    def does(self, *words, status=0, **env):
        done = self.types(*words, "--json", **env)
        assert done.returncode == status, done
        return json.loads(done.stdout)

    def files(self):
        found = (path for path in self.home.rglob("*") if path.is_file() and "server" not in path.parts)
        return {path.relative_to(self.home): path.read_bytes() for path in found}


@pytest.fixture
def machine(server, tmp_path):
    return Machine(tmp_path, server.url)


def verdicts(done):
    return {one["what"]: one["verdict"] for one in done["findings"]}


@pytest.mark.slow("installs the hooks of six clients")
def test_from_nothing_a_server_starts_every_hook_refuses_and_down_reverses_it(tmp_path):
    machine = Machine(tmp_path, f"http://127.0.0.1:{free_port()}")
    begun = machine.starts("up", "--yes")
    assert len(begun["changes"]) == 1 + len(HERE)
    works = [what for what in verdicts(begun) if f"a harmless call was refused by {RULE}" in what]
    assert len(works) == len(HERE)
    assert "error" not in verdicts(begun).values()
    files = machine.files()
    again = machine.does("up")
    assert again == {"changes": [], "done": False}
    assert machine.does("up", "--yes")["changes"] == []
    assert machine.files() == files
    ended = machine.does("down", "--yes")
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", int(machine.url.rpartition(":")[2])), 1)
    assert len(ended["changes"]) == 1 + len(HERE)
    assert b"baton-hook.sh" not in b"".join(text for path, text in machine.files().items() if path.suffix == ".json")
    assert "Nothing to do" in machine.types("down", "--yes").stdout


def test_without_yes_and_a_terminal_nothing_changes(machine):
    done = machine.types("up")
    assert done.returncode == 2
    assert "add `--yes`" in done.stderr
    assert "install the hooks of Claude Code in" in done.stdout
    assert machine.does("up")["done"] is False
    assert machine.files() == {}


def test_only_clients_of_this_machine_get_hooks(server, tmp_path):
    (change,) = Machine(tmp_path, server.url, [".gemini"]).does("up")["changes"]
    assert change == f"install the hooks of Gemini CLI in {tmp_path}/.gemini/settings.json"


def test_a_server_elsewhere_that_does_not_answer_is_an_error_and_nothing_changes(tmp_path):
    machine = Machine(tmp_path, "http://baton.invalid:8080")
    done = machine.types("up", "--yes")
    assert done.returncode == 1
    assert "no server answers at `http://baton.invalid:8080`" in done.stderr
    assert machine.files() == {}


def test_a_hook_that_lets_the_canary_run_is_an_error(machine, monkeypatch):
    monkeypatch.setattr(up, "CANARY", "true")
    found = verdicts(machine.does("up", "--yes", status=1))
    assert found["the hook of Codex CLI let a call run that must be refused; the server recorded allow"] == "error"


def test_up_reports_an_installation_in_three_lines(machine):
    lines = machine.types("hooks", "install").stdout.splitlines()
    assert lines[0] == f"Installed the hooks of Claude Code in {machine.home}/.claude/settings.json."
    assert len(lines) == 3
    assert machine.types("hooks", "install").stdout.startswith("Already installed: ")


@pytest.mark.slow("installs the hooks of each client twice")
def test_hooks_that_fail_closed_stay_so_when_they_are_repaired(machine):
    machine.does("hooks", "install", "--fail-closed")
    (machine.home / ".local/share/baton/baton-lib.sh").unlink()
    machine.does("up", "--yes")
    assert b" block " in machine.files()[(machine.home / ".claude/settings.json").relative_to(machine.home)]


def test_down_leaves_a_server_that_it_did_not_start(machine, server):
    machine.does("up", "--yes")
    assert all(change.startswith("remove the hooks") for change in machine.does("down", "--yes")["changes"])
    assert server.process.poll() is None


@every("client", CLIENTS)
def test_the_canary_is_read_as_the_clients_own_shell_call(client):
    event = CLIENTS[client].read(up.canary(client, "s1", "/tmp/x"), "PreToolUse")
    assert (event.name, event.tool_name, event.tool_input) == ("PreToolUse", "Bash", {"command": up.CANARY})
    assert (event.session_id, event.cwd) == ("s1", "/tmp/x")
