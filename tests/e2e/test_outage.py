"""Each real client through the relay: its session goes on, guarded, while the server is killed and started again."""

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e import test_codex, test_copilot, test_gemini, test_opencode, test_qwen
from tests.e2e.conftest import Client, Played, Server, Stage, ask_relay, made
from tests.e2e.model_endpoint import Use
from tests.e2e.test_claude_code import bash
from tests.support.server import until

pytestmark = pytest.mark.e2e

CLIENTS: list[tuple[Client, Callable[..., Played], Callable[[str], Use]]] = [
    ("claude-code", Stage.claude, bash),
    ("codex", Stage.codex, test_codex.bash),
    ("copilot-cli", Stage.copilot, test_copilot.bash),
    ("opencode", Stage.opencode, test_opencode.bash),
    ("gemini", Stage.gemini, test_gemini.shell),
    ("qwen", Stage.qwen, test_qwen.shell),
]
RUINOUS = "rm -rf ~"
"""The home is the test's own."""


def kill(server: Server) -> None:
    assert server.process is not None
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()


@pytest.mark.parametrize(("client", "play", "shell"), CLIENTS, ids=[one[0] for one in CLIENTS])
def test_calls_are_decided_and_recorded_once_while_the_server_is_killed(
    own_server: Server, tmp_path: Path, client: Client, play: Callable[..., Played], shell: Callable[[str], Use]
) -> None:
    stage = made(own_server, tmp_path)
    stage.install(client, "--relay")

    def lose() -> Use:
        until(lambda: own_server.get("/decisions", event="PreToolUse")["items"])
        until(lambda: ask_relay(stage.home)["rules_as_of"])
        kill(own_server)
        return shell(RUINOUS)

    def find() -> Use:
        own_server.start()
        return shell("echo three")

    def find_again() -> Use:
        until(lambda: (state := ask_relay(stage.home))["server"] == "up" and state["records_waiting"] == 0)
        return shell("echo four")

    steps = [shell("echo one"), lose, shell("echo two"), find, find_again, "bye"]
    played = play(stage, {"main": steps})
    one, refused, *rest = played.results()
    assert "guardrails/" in refused, (refused, played.ran)
    ran = zip(("one", "two", "three", "four"), (one, *rest), strict=True)
    assert all(word in said for word, said in ran), played.results()
    assert (stage.project / "a.py").exists()
    found = stage.decisions(played, at_least=5, event="PreToolUse")
    assert [one["command"] for one in found] == ["echo one", RUINOUS, "echo two", "echo three", "echo four"]
    assert [one["decision"] for one in found] == ["allow", "block", "allow", "allow", "allow"]
    by_relay = [one["degraded"][:1] == ["server"] for one in found]
    assert by_relay[:3] + by_relay[4:] == [False, True, True, False]  # the fourth depends on the look for the server
