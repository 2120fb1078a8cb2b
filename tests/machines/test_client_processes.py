"""Processes remembered as agents' clients: the ancestors of a waiting shim."""

import os
import subprocess
import sys

import pytest

from baton.kernel.redis.client import Redis
from baton.machines import client_processes
from baton.machines.client_processes import MOST, ClientProcesses, ProcessId
from baton.shared.agent_process import identify

CLIENT = """
import subprocess, sys
shim = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
print(shim.stdout.readline().strip(), flush=True)
sys.stdin.read()
shim.kill()
"""


@pytest.fixture
def starts(tmp_path):
    """Return what starts a program that starts a shim, in some way; it returns the program's number and the shim's."""
    (tmp_path / "baton-hook.sh").write_text("echo $$; sleep 60")
    running = []

    def start(*line, runs=(sys.executable, "-c", CLIENT)):
        words = [word.replace("SHIM", str(tmp_path / "baton-hook.sh")) for word in line]
        process = subprocess.Popen([*runs, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        running.append(process)
        return process.pid, process.stdout.readline().strip().encode()

    yield start
    for process in running:
        with process:  # closes the pipes
            process.kill()


async def found(redis, shim):
    processes = ClientProcesses(redis)
    await processes.remember(shim)
    return await processes.known()


@pytest.mark.parametrize("line", [("sh", "SHIM", "x"), ("sh", "-c", "test ! -f SHIM || sh SHIM; true")])
async def test_the_program_that_runs_hooks_is_a_client_whatever_its_name_is(redis, starts, line):
    client, shim = starts(*line)
    assert await found(redis, shim) == {identify(client)}


@pytest.mark.parametrize("line", [("PYTHON", "BATON", "hook", "x"), ("sh", "-c", "PYTHON BATON hook x; true")])
async def test_the_program_that_runs_the_shim_in_python_is_one_too(redis, starts, tmp_path, line):
    script = tmp_path / "baton"
    script.write_text("import os, time; print(os.getpid(), flush=True); time.sleep(60)")
    words = [word.replace("PYTHON", sys.executable).replace("BATON", str(script)) for word in line]
    client, shim = starts(*words)
    assert await found(redis, shim) == {identify(client)}


async def test_a_person_who_runs_the_shim_by_hand_is_not_locked_out(redis, starts):
    _, shim = starts("sh", "SHIM", runs=("bash", "-c", '"$@" & read; kill $!', "bash"))
    assert await found(redis, shim) == set()


@pytest.mark.parametrize("claim", ["{own}", "{parent}", "1", "0", "-1", "", "x", "9" * 30])
async def test_a_number_that_is_no_shim_s_is_not_believed(redis, claim):
    claim = claim.format(own=os.getpid(), parent=os.getppid())
    assert await found(redis, claim.encode()) == set()


async def test_without_a_people_socket_no_client_is_noted(redis, starts):
    _, shim = starts("sh", "SHIM")
    processes = ClientProcesses(redis, has_socket=False)
    await processes.remember(shim)
    assert await processes.known() == set()


async def test_other_workers_and_the_next_start_know_them_too(redis, starts):
    client, shim = starts("sh", "SHIM")
    await found(redis, shim)
    assert await ClientProcesses(redis).known() == {identify(client)}


async def test_without_redis_a_process_knows_its_own(starts):
    away = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    client, shim = starts("sh", "SHIM")
    assert await found(away, shim) == {identify(client)}


async def test_so_many_are_remembered(redis, starts, monkeypatch):
    monkeypatch.setattr("baton.machines.client_processes._client_above", lambda number: (ProcessId(number, 1), ""))
    processes = ClientProcesses(redis)
    for number in range(MOST + 5):
        await processes.remember(b"%d" % number)
    assert {one.pid for one in await processes.known()} == set(range(5, MOST + 5))


@pytest.mark.parametrize(
    ("noted", "is_there", "why"),
    [(False, True, "no hook of it was heard"), (True, False, "the shim of its hooks is missing"), (True, True, "")],
)
async def test_a_client_with_silent_hooks_is_found(redis, starts, tmp_path, monkeypatch, noted, is_there, why):
    monkeypatch.setattr(client_processes, "NOT_HEARD_S", 0)
    program = tmp_path / "gemini.js"
    program.write_text(CLIENT)
    client, shim = starts("sh", "SHIM", "x", runs=(sys.executable, str(program)))
    processes = ClientProcesses(redis)
    if noted:
        await processes.remember(shim)
    if not is_there:
        (tmp_path / "baton-hook.sh").unlink()
    found = [one for one in await ClientProcesses(redis).unchecked() if one.pid == client]
    assert [one.client for one in found] == (["gemini.js"] if why else [])
    assert all(why in one.why for one in found)
    assert await ClientProcesses(redis, has_socket=False).unchecked() == []
