import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from baton.kernel.redis.bundled import Valkey, ValkeyFailed
from baton.kernel.redis.client import Redis, RedisUnavailable


@pytest.fixture
def home(short_folder, request):
    return short_folder / f"home-{abs(hash(request.node.nodeid)) % 10**8}"


@pytest.fixture
async def valkey(home):
    valkey = Valkey(home)
    await valkey.start()
    yield valkey
    await valkey.stop()


@pytest.fixture
async def client(valkey):
    client = Redis(valkey.url, timeout_s=5)
    await client.start()
    yield client
    await client.close()


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def alive(pid):
    """Return whether a process runs; a zombie does not."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return shown.strip() != "" and not shown.startswith("Z")


async def test_it_listens_on_a_private_socket_and_on_no_port(valkey, client):
    assert await client.call(b"CONFIG", b"GET", b"port") == [b"port", b"0"]
    assert Path(valkey.url[7:]).stat().st_mode & 0o077 == 0  # noqa: ASYNC240
    assert os.getsid(valkey.pid) == valkey.pid


async def test_a_stopped_valkey_keeps_its_data_and_leaves_no_process(home):
    for told in (None, b"kept"):
        valkey = Valkey(home)
        await valkey.start()
        client = Redis(valkey.url, timeout_s=5)
        await client.start()
        assert await client.call(b"GET", b"a") == told
        await client.call(b"SET", b"a", b"kept")
        await client.close()
        pid = valkey.pid
        await valkey.stop()
        assert not alive(pid)
        assert not Path(valkey.url[7:]).exists()  # noqa: ASYNC240


async def test_a_killed_valkey_restarts_with_its_data(valkey, client):
    await client.call(b"SET", b"a", b"kept")
    await client.call(b"WAITAOF", b"1", b"0", b"0")
    before = valkey.pid
    os.kill(before, signal.SIGKILL)
    await until(lambda: valkey.pid not in {None, before})
    await until(lambda: client.up and client.connections > 1)
    assert await client.call(b"GET", b"a") == b"kept"
    assert valkey._keeper.restarts == 1


async def test_a_hung_one_fails_calls_in_time_and_is_found_again(valkey):
    client = Redis(valkey.url, timeout_s=0.5)
    await client.start()
    os.kill(valkey.pid, signal.SIGSTOP)
    with pytest.raises(RedisUnavailable, match="no answer within 500 ms"):
        await client.call(b"PING")
    assert not client.up
    os.kill(valkey.pid, signal.SIGCONT)
    await until(lambda: client.up)
    await client.close()


SERVER = """
import asyncio, sys
from pathlib import Path
from baton.kernel.redis.bundled import Valkey
async def main():
    valkey = Valkey(Path(sys.argv[1]))
    await valkey.start()
    print(valkey.pid, flush=True)
    await asyncio.sleep(600)
asyncio.run(main())
"""


def serve(home):
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(home)], stdout=subprocess.PIPE, text=True)
    return server, int(server.stdout.readline())


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a death signal")
async def test_a_killed_server_takes_its_valkey_along(home):
    server, pid = serve(home)
    with server:
        server.kill()
    await until(lambda: not alive(pid))


async def test_a_leftover_valkey_is_ended_first(home, valkey, client):
    # As if its server were gone, and for the second one unasked.
    left = valkey.pid
    await client.call(b"SET", b"a", b"kept")
    valkey._keeper._watcher.cancel()
    following = Valkey(home)
    starting = asyncio.ensure_future(following.start())
    await asyncio.to_thread(valkey._keeper._child.wait)
    await starting
    assert following.pid not in {None, left}
    other = Redis(following.url, timeout_s=5)
    await other.start()
    assert await other.call(b"GET", b"a") == b"kept"
    await other.close()
    await following.stop()


async def test_a_hung_one_that_was_left_behind_is_known_by_its_pid_file(home, valkey, monkeypatch):
    monkeypatch.setattr("baton.kernel.redis.bundled_process.STOP_S", 0.2)
    left = valkey.pid
    os.kill(left, signal.SIGSTOP)
    os.kill(left, signal.SIGTERM)  # pending until it may run again
    valkey._keeper._watcher.cancel()
    following = Valkey(home)
    starting = asyncio.ensure_future(following.start())
    await asyncio.to_thread(valkey._keeper._child.wait)
    await starting
    assert following.pid not in {None, left}
    await following.stop()


async def test_a_foreign_pid_file_ends_no_process(home):
    (home / "valkey").mkdir(parents=True)
    (home / "valkey" / "valkey.pid").write_text(str(os.getpid()))
    valkey = Valkey(home)
    await valkey.start()
    await valkey.stop()


async def test_a_deep_folder_has_its_socket_elsewhere(short_folder):
    home = short_folder / ("deep " * 30)
    valkey = Valkey(home)
    await valkey.start()
    socket = Path((home / "valkey" / "socket-path").read_text())
    assert len(str(socket)) <= 100
    assert socket.parent.stat().st_mode & 0o077 == 0
    client = Redis(valkey.url, timeout_s=5)
    await client.start()
    assert await client.call(b"PING") == b"PONG"
    await client.close()
    await valkey.stop()
    assert not socket.parent.exists()


async def test_a_failed_start_names_the_reason(home):
    (home / "valkey").mkdir(parents=True)
    (home / "valkey" / "appendonlydir").write_text("in the way")
    valkey = Valkey(home)
    with pytest.raises(ValkeyFailed, match=r"its log ends with: .*appendonlydir"):
        await valkey.start()
    (home / "valkey" / "appendonlydir").unlink()
    again = Valkey(home)
    await again.start()
    await again.stop()
