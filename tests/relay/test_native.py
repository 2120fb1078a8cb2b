"""The relay's port for http hooks does what the shim does."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from baton.cli.hooks.entries import EVENTS, WITHOUT_HTTP
from baton.local.server import UnixConnection
from tests.hooks.shim import Scripted, answers, run_shim
from tests.support.cases import every
from tests.support.recorded import recorded

SECRET = "a-secret"
CLIENT = """
import http.client, json, sys
order = json.load(sys.stdin)
connection = http.client.HTTPConnection("127.0.0.1", order["port"])
said = []
for target, headers, body in order["posts"]:
    connection.request("POST", target, body.encode(), headers)
    answer = connection.getresponse()
    said.append([answer.status, answer.read().decode()])
print(json.dumps(said))
"""
HTTP = [event for event in EVENTS["claude-code"] if event not in WITHOUT_HTTP]
PAYLOADS = [
    (event, json.dumps(body))
    for name, body in recorded("claude_code").items()
    if (event := name.partition("-")[0]) in HTTP
]


class Setting(NamedTuple):
    """A relay in front of a server, and a person's environment with its config file."""

    server: Scripted
    port: int
    env: dict[str, str]
    folder: Path
    socket: Path

    def post(
        self,
        *posts: tuple[str, str],
        on_failure: str = "allow",
        headers: Mapping[str, str] = MappingProxyType({}),
        **env: str,
    ) -> list[tuple[int, str]]:
        """Post events as a client does: one process, started with `env` in the folder."""
        own = {"Baton-Relay": SECRET, "Baton-On-Failure": on_failure, "Baton-Protocol": "1", **headers}
        order = {
            "port": self.port,
            "posts": [(f"/hooks/claude-code?event={event}", own, body) for event, body in posts],
        }
        done = subprocess.run(
            ["timeout", "--foreground", "60", sys.executable, "-c", CLIENT],
            input=json.dumps(order),
            env=self.env | env,
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=True,
        )
        return [(status, text) for status, text in json.loads(done.stdout)]

    def shim(self, event: str, body: str, *words: str, **env: str) -> str:
        """Run the shim for the same event."""
        ran = run_shim(["sh"], self.env | env, self.folder, "claude-code", event, *words, body=body.encode())
        return ran.out.decode()


@pytest.fixture
def setting(tmp_path):
    folder, config, place = tmp_path / "pro ject", tmp_path / ".config/baton/config", tmp_path / "relay/relay.sock"
    for parent in (folder, config.parent, place.parent):
        parent.mkdir(mode=0o700, parents=True)
    subprocess.run(["git", "init", "-q", folder], check=True)
    subprocess.run(["git", "-C", folder, "remote", "add", "origin", "git@example.com:team/shop.git"], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    server = Scripted()
    config.write_text(
        f"BATON_URL={server.url}\nBATON_USER=ada\nBATON_TOKEN=mine\nBATON_RELAY_PORT={port} {SECRET}\nBATON_INSTALLED=/x\n"
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "baton.relay.process", str(place), str(config)],
        env={**env, "BATON_URL": server.url},
        stdout=subprocess.PIPE,
    ) as relay:
        assert relay.stdout is not None
        assert relay.stdout.read() == b""  # closed once it listens
        yield Setting(server, port, env, folder, place)
        relay.kill()
    server.close()


def _kept(server: Scripted) -> list[object]:
    transport = {"host", "user-agent", "accept", "accept-encoding", "connection", "content-length", "baton-id"}
    seen = [
        (one.path, {name: text for name, text in one.headers.items() if name not in transport}, one.body)
        for one in server.seen
    ]
    server.seen.clear()
    return seen


@every(
    "env",
    [
        {},
        {"BATON_PROJECT": "other", "BATON_USER": "eve", "HTMLGRAPH_ORCHESTRATOR_DISABLED": "1", "BATON_TOKEN": "left"},
        {"BATON_DISABLED": "1"},
        {"BATON_ON_FAILURE": "block", "TRACEPARENT": "00-1-2-01"},
    ],
    ids=["plain", "project", "disabled", "on failure"],
)
def test_recorded_payloads_reach_the_server_as_by_the_shim(setting, env):
    payloads = PAYLOADS if not env else PAYLOADS[::20]
    told = [text.strip() for _, text in setting.post(*payloads, **env)]
    by_port = _kept(setting.server)
    assert told == [setting.shim(event, body, **env).strip() for event, body in payloads]
    assert by_port == _kept(setting.server)
    assert bool(by_port) is ("BATON_DISABLED" not in env)
    config = Path(setting.env["HOME"]) / ".config/baton/config"
    own = config.read_text()
    for place in (setting.socket, "/tmp/none.sock"):  # the relay names the project, without one the shim itself
        config.write_text(f"{own}BATON_RELAY={place} /bin/false\n")
        for event, body in payloads[::20]:
            setting.shim(event, body, **env)
        assert by_port[::20] == _kept(setting.server)


@every(
    "headers",
    [{"Baton-Relay": "another"}, {"Baton-Relay": ""}, {"Host": "evil.example"}, {"Origin": "https://evil.example"}],
    ids=["wrong secret", "no secret", "another name", "a page"],
)
def test_stranger_is_refused(setting, headers):
    assert [status for status, _ in setting.post(PAYLOADS[0], headers=headers)] == [403]
    assert setting.server.seen == []


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_is_refused(setting):
    ends, other = os.pipe()
    if not (pid := os.fork()):
        said = b"nothing"
        try:
            os.setuid(65_534)
            connection = http.client.HTTPConnection("127.0.0.1", setting.port)
            connection.request("POST", "/hooks/claude-code?event=PreToolUse", b"{}", {"Baton-Relay": SECRET})
            said = str(connection.getresponse().status).encode()
        finally:
            os.write(other, said)
            os._exit(0)
    os.waitpid(pid, 0)
    assert os.read(ends, 9) == b"403"
    assert setting.server.seen == []


@every(
    "answer",
    [
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"evil"}}}',
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow"}}',
        b'{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","updatedInput":{"command":"e"}}}',
    ],
    ids=["rewrite", "allow", "refusal with a rewrite"],
)
def test_answers_are_checked_as_by_the_shim(setting, answer):
    setting.server.reply = answers(answer)
    (status, said), *_ = setting.post(("PreToolUse", "{}"))
    assert (status, "evil" in said) == (200, False)
    assert json.loads(said) == json.loads(setting.shim("PreToolUse", "{}"))


def test_wanted_texts_are_sent(setting):
    skill = setting.folder / ".claude/commands/deploy.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("the text")
    setting.server.reply = answers(b"{}", headers=b"Baton-Wants: texts deploy 1\r\n")
    setting.post(("PreToolUse", "{}"))
    assert [one.body for one in setting.server.seen] == [b"{}", b"the text"]


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("event", "on_failure", "status", "words"),
    [
        ("PreToolUse", "block", 200, '"deny"'),
        ("PermissionRequest", "block", 503, ""),
        ("Stop", "block", 200, ""),
        ("PreToolUse", "allow", 200, "not checking this session"),
        ("Stop", "allow", 200, ""),
    ],
)
def test_dead_server_lets_the_person_choose(setting, event, on_failure, status, words):
    setting.server.close()
    (found, said), *_ = setting.post((event, '{"session_id":"s"}'), on_failure=on_failure)
    assert (found, words in said, bool(said)) == (status, True, bool(words))


@pytest.mark.parametrize("has_own_port", [True, False])
def test_the_clients_own_config_counts_if_it_has_the_port(setting, tmp_path, has_own_port):
    config = tmp_path / "other/baton/config"
    config.parent.mkdir(parents=True)
    own = f"BATON_RELAY_PORT={setting.port} {SECRET}\n" if has_own_port else ""
    config.write_text(f"BATON_URL={setting.server.url}\nBATON_USER=eve\n{own}")
    setting.post(("PreToolUse", "{}"), XDG_CONFIG_HOME=str(config.parents[1]))
    assert [one.headers["baton-user"] for one in setting.server.seen] == [b"eve" if has_own_port else b"ada"]


def test_server_of_the_clients_environment_is_asked_itself(setting):
    other = Scripted()
    try:
        setting.post(("PreToolUse", "{}"), BATON_URL=other.url)
        assert [one.headers.get("authorization") for one in other.seen] == [None]
    finally:
        other.close()
    assert setting.server.seen == []


@pytest.mark.slow("starts a second relay")
def test_taken_port_leaves_the_socket(setting):
    second = setting.socket.with_name("second.sock")
    config = setting.env["HOME"] + "/.config/baton/config"
    with subprocess.Popen(
        [sys.executable, "-m", "baton.relay.process", str(second), config], env=setting.env, stdout=subprocess.PIPE
    ) as relay:
        assert relay.stdout is not None
        assert relay.stdout.read() == b""
        with contextlib.closing(UnixConnection(second, 5)) as connection:
            connection.request("GET", "/relay")
            assert json.loads(connection.getresponse().read())["port"] == 0
        relay.kill()
