"""The keeper of the server's children: after any end of a child, the next one starts."""

import asyncio
import os
import signal
import subprocess
import sys

import psutil
import pytest
import uvloop

from baton.kernel.base import child_keeper
from baton.kernel.base.child_keeper import ChildKeeper, spawn

SLEEPS = [sys.executable, "-c", "import time; time.sleep(600)"]
LEAVES_AT_EOF = [sys.executable, "-c", "import sys; sys.stdin.read()"]
READS_AN_ORDER = """
import os, pathlib, sys
order = sys.stdin.readline()
pathlib.Path(sys.argv[1], str(os.getpid())).write_text(order)
sys.stdin.read()
"""
IGNORES_SIGTERM = [
    sys.executable, "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)",
]  # fmt: skip


@pytest.fixture(params=[asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"])
def runner(request):
    with asyncio.Runner(loop_factory=request.param) as runner:
        yield runner


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_an_ended_child_is_restarted_with_its_orders(runner, tmp_path, how, caplog):
    read = [sys.executable, "-c", READS_AN_ORDER, str(tmp_path)]
    ends = []
    keeper = ChildKeeper("the reader", lambda: spawn(read, order=b"an order\n"), on_end=ends.append)

    def told(pid):
        file = tmp_path / str(pid)
        return file.exists() and file.read_text() == "an order\n"

    async def kill_twice():
        keeper.start()
        keeper.watch()
        killed = []
        for _ in range(2):
            await until(lambda: keeper.pid not in {None, *killed} and told(keeper.pid))
            killed.append(keeper.pid)
            os.kill(keeper.pid, how)
        await until(lambda: keeper.pid not in {None, *killed} and told(keeper.pid))
        last = keeper.pid
        assert await keeper.stop(lambda child: child.stdin.close(), within_s=60)
        return [*killed, last]

    pids = runner.run(kill_twice())
    assert keeper.restarts == 2
    assert ends == pids
    assert not any(map(psutil.pid_exists, pids))
    assert caplog.text.count(f"the reader was killed by {how.name}") == 2


def test_a_child_that_was_killed_before_it_read_its_order_is_started_again(runner):
    """The end that an asyncio subprocess under uvloop raises RuntimeError for, when the order is written."""
    born = []

    def start():
        if born:
            born.append(spawn(LEAVES_AT_EOF, order=b"an order\n"))
        else:
            dead = subprocess.Popen(["true"], stdin=subprocess.PIPE, bufsize=0)
            dead.wait()
            born.append(dead)
        return born[-1]

    async def follow():
        keeper = ChildKeeper("the reader", start)
        keeper.start()
        keeper.watch()
        await until(lambda: keeper.pid is not None)
        assert await keeper.stop(lambda child: child.stdin.close(), within_s=60)

    runner.run(follow())
    assert len(born) == 2


def test_an_order_to_an_ended_child_is_no_error(monkeypatch):
    class Gone(subprocess.Popen):
        def __init__(self, *arguments, **options):
            super().__init__(*arguments, **options)
            self.wait()

    monkeypatch.setattr(subprocess, "Popen", Gone)
    child = spawn(["true"], order=b"an order\n")
    assert child.returncode == 0
    child.stdin.close()


def test_a_child_that_cannot_be_started_is_tried_again(runner, caplog):
    commands = [["/nowhere/at/all"], ["/nowhere/at/all"], SLEEPS]
    keeper = ChildKeeper("the sleeper", lambda: spawn(commands.pop(0)))

    async def follow():
        with pytest.raises(OSError, match="nowhere"):
            keeper.start()
        keeper.watch()
        await until(lambda: keeper.pid is not None)
        assert await keeper.stop(within_s=60)

    runner.run(follow())
    assert commands == []
    assert "the sleeper could not be started; starting it again." in caplog.text
    assert "the sleeper cannot be started" in caplog.text


def test_pauses_before_a_restart_double_up_to_the_longest(runner, monkeypatch):
    monkeypatch.setattr(child_keeper, "LONGEST_PAUSE_S", 0.3)
    pauses, sleep = [], asyncio.sleep

    async def noted(seconds):
        pauses.append(seconds)
        await sleep(0)

    async def follow():
        keeper = ChildKeeper("the fly", lambda: spawn(["true"]))
        monkeypatch.setattr(asyncio, "sleep", noted)
        monkeypatch.setattr(child_keeper, "LOOK_S", 0)
        keeper.watch()
        while keeper.restarts < 4:
            await sleep(0.001)
        await keeper.stop(within_s=60)

    runner.run(follow())
    between = [one for one in pauses if one not in {0.01, child_keeper.LOOK_S, 0.1}][:4]
    assert all(longest / 2 <= one <= longest for one, longest in zip(between, (0.1, 0.2, 0.3, 0.3), strict=True))


def test_a_child_ignoring_the_stop_is_killed(runner):
    async def follow():
        keeper = ChildKeeper("the mule", lambda: spawn(IGNORES_SIGTERM, stdout=subprocess.PIPE))
        keeper.start()
        with keeper._child.stdout as said:
            await asyncio.to_thread(said.readline)  # it ignores the signal from then on
        pid = keeper.pid
        assert not await keeper.stop(within_s=0.05)
        assert not psutil.pid_exists(pid)
        assert keeper.pid is None

    runner.run(follow())


def test_a_stopped_child_stays_stopped(runner):
    async def follow():
        keeper = ChildKeeper("the sleeper", lambda: spawn(SLEEPS))
        keeper.start()
        keeper.watch()
        assert await keeper.stop(within_s=60)
        assert await keeper.wait() is None
        assert keeper.restarts == 0

    runner.run(follow())
