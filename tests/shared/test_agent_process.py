"""Distinguishing an agent's process from a person's. macOS is tested with a fake edge: no test runs there."""

import os
import struct
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest

from baton.shared import agent_process
from baton.shared.agent_process import ProcessId, agent_above, doubt, identify, peer_pid, terminal_of


@pytest.fixture
def child():
    with subprocess.Popen(["sleep", "60"], env={}, start_new_session=True) as process:
        yield process.pid
        process.kill()


def test_a_long_chain_of_processes_hides_no_client(monkeypatch):
    monkeypatch.setattr(agent_process, "_DEEPEST", 0)
    assert agent_above(os.getpid()) == "it has more than 0 ancestors"


def test_a_descendant_of_a_known_client_is_an_agent_s(child):
    me = identify(os.getpid())
    assert "a client that runs hooks" in agent_above(child, {me})


def test_a_number_that_is_used_again_is_another_process(child):
    me = identify(os.getpid())
    assert "which runs hooks" not in agent_above(child, {ProcessId(me.pid, me.start - 1)})


def test_a_process_that_has_ended_cannot_be_looked_at():
    with subprocess.Popen(["true"]) as process:
        process.wait()
    with pytest.raises((OSError, psutil.Error)):
        doubt(process.pid)


def test_a_detached_process_has_no_terminal(child):
    assert terminal_of(child) == ""


@pytest.mark.parametrize(("said", "terminal"), [("ttys003 \n", "ttys003"), ("??\n", ""), ("", "")])
def test_macos_names_the_terminal_by_ps(monkeypatch, said, terminal):
    monkeypatch.setattr(agent_process.sys, "platform", "darwin")
    monkeypatch.setattr(agent_process.subprocess, "run", lambda *_, **__: SimpleNamespace(stdout=said))
    assert terminal_of(1) == terminal


def test_macos_distinguishes_processes_by_their_start(monkeypatch):
    monkeypatch.setattr(agent_process.sys, "platform", "darwin")
    found = identify(os.getpid())
    assert found == ProcessId(os.getpid(), round(psutil.Process().create_time() * 1e6))
    assert sys.platform == "darwin"


def test_macos_returns_the_peer_s_process_id(monkeypatch):
    monkeypatch.setattr(agent_process.sys, "platform", "darwin")
    asked = []
    connection = SimpleNamespace(getsockopt=lambda *what: asked.append(what) or struct.pack("i", 4_711))
    assert peer_pid(connection) == 4_711
    assert asked == [(0, 2, 4)]
