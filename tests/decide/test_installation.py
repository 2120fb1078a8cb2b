"""Unusual installation paths of a real server, and of a caller's machine, are protected like the rest."""

import os

import pytest

import baton
from baton.decide.service import Installation
from baton.kernel.base.settings import Settings
from baton.rules.call.places.places import installed_paths, server_numbers
from tests.support.server import until

ELSEWHERE = "/data/claude/settings.json:/data/share/baton"


def effect(agent, tool, tool_input, **headers):
    body = {"session_id": "own", "cwd": "/repo", "project": "p", "tool_name": tool, "tool_input": tool_input}
    return agent.post("/pre-tool-use", json=body, headers=headers).json()["decision"]


@pytest.fixture(scope="module")
def agent(server):
    with server.agent() as one:
        yield one


def test_a_server_protects_its_real_home_and_the_program_that_it_runs(server, agent):
    home = str(server.home.resolve())
    package = baton.__path__[0]
    for command in (
        f"rm -rf {home}",
        f"cat {home}/baton.db",
        f"mv {server.home.resolve().parent} /tmp/x",
        f"echo > {package}/main.py",
        f"rm -rf {package}/decide",
    ):
        assert effect(agent, "Bash", {"command": command}) == "ask", command
    assert effect(agent, "Write", {"file_path": f"{package}/main.py", "content": ""}) == "ask"
    assert effect(agent, "Read", {"file_path": f"{home}/baton.db"}) == "ask"
    assert effect(agent, "mcp__files__put", {"where": f"{home}/policies/x.yaml"}) == "ask"
    assert effect(agent, "Read", {"file_path": f"{package}/main.py"}) == "allow"


def test_a_server_knows_its_own_processes_and_its_port(server, agent):
    port = server.url.rpartition(":")[2]
    until(lambda: effect(agent, "Bash", {"command": f"fuser -k {port}/tcp"}) == "ask")
    for command in (f"kill {server.process.pid}", f"kill -9 -{server.process.pid}", f"lsof -ti :{port} | xargs kill"):
        assert effect(agent, "Bash", {"command": command}) == "ask", command
    assert effect(agent, "Bash", {"command": "kill 999999"}) == "allow"
    assert effect(agent, "Bash", {"command": f"curl http://127.0.0.1:{port}/healthz"}) == "allow"


def test_a_machine_s_paths_apply_to_its_own_calls(agent):
    line = {"command": "rm -rf /data/share/baton"}
    assert effect(agent, "Bash", {"command": "echo > /data/claude/settings.json"}) == "allow"
    assert (
        effect(agent, "Bash", {"command": "echo > /data/claude/settings.json"}, **{"Baton-Installed": ELSEWHERE})
        == "ask"
    )
    assert effect(agent, "Bash", line, **{"Baton-Installed": ELSEWHERE}) == "ask"
    # A forged header adds to what is protected; nothing that it says takes the usual places away.
    for forged in ("/", "/nowhere", ":::", "x" * 1_000, "hook_settings\t/x", "process\t1"):
        headers = {"Baton-Installed": forged}
        assert effect(agent, "Bash", {"command": "echo > ~/.claude/settings.json"}, **headers) == "ask", forged
        assert effect(agent, "Bash", {"command": "rm -rf /repo/build"}, **headers) == "allow", forged


def test_the_installed_text_is_reused_while_unchanged(tmp_path):
    settings = Settings(home=tmp_path / "home", policies=tmp_path / "rules")
    one = Installation(settings, is_worker=False)
    first = one.with_paths(())
    one.refresh()
    assert one.with_paths(()) is first
    assert one.with_paths(("/a/b",)) == f"{first}\nhook_settings\t/a/b"
    paths = installed_paths(first, "/repo")
    assert str(tmp_path / "home") in paths["baton_home"]
    assert str(tmp_path / "rules") in paths["hook_settings"]
    assert str(os.getpid()) in server_numbers(first)
