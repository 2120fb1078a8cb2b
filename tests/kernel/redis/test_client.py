import asyncio
import contextlib
import socket
import time
from types import SimpleNamespace

import pytest
import uvloop

from baton.kernel.redis.client import Redis, RedisRefused, RedisUnavailable, Script
from tests.support.cases import every

PATIENCE_S, STALL_S = 0.4, 0.5
"""The first is enough for a Redis that waits for a busy machine."""


class Stub:
    """A server that answers as it is told: the n-th bytes for the n-th command; it hangs when it has none left."""

    def __init__(self, *answers, closing=False):
        self.answers = [b"+PONG\r\n", b":0\r\n", *answers]
        self.closing = closing
        self.connections = 0
        self._writers = []

    async def __aenter__(self):
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.redis = Redis(f"redis://127.0.0.1:{port}", timeout_s=0.05)
        return self

    async def __aexit__(self, *_):
        await self.redis.close()
        self._server.close()
        for writer in self._writers:
            writer.close()

    async def _serve(self, reader, writer):
        self.connections += 1
        self._writers.append(writer)
        answers = iter(self.answers)
        with contextlib.suppress(OSError):
            while head := await reader.readline():
                for _ in range(int(head[1:])):
                    await reader.readexactly(int((await reader.readline())[1:]) + 2)
                answer = next(answers, None)
                if answer is None and self.closing:
                    break
                writer.write(answer or b"")
        writer.close()


class Sleeper(asyncio.Protocol):
    """Stalls its loop for longer than Redis may take."""

    def data_received(self, _):
        time.sleep(STALL_S)


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_each_of_many_callers_gets_its_own_answer(redis):
    answers = await asyncio.gather(*(redis.call(b"ECHO", str(n)) for n in range(1_000)))
    assert answers == [str(n).encode() for n in range(1_000)]


async def test_calls_of_one_tick_share_one_write(redis, monkeypatch):
    writes = []
    transport = redis._wire._transport
    send = transport.write

    class Counting:
        def write(self, data):
            writes.append(data)
            send(data)

        def __getattr__(self, name):
            return getattr(transport, name)

    monkeypatch.setattr(redis._wire, "_transport", Counting())
    await asyncio.gather(redis.call(b"PING"), redis.call(b"PING"), redis.pipeline([(b"GET", b"a"), (b"GET", b"b")]))
    assert len(writes) == 1


async def test_replies_larger_than_a_read_arrive_whole(redis):
    big = b"x" * 3_000_000
    assert await redis.call(b"SET", b"big", big) == b"OK"
    assert await asyncio.gather(redis.call(b"GET", b"big"), redis.call(b"STRLEN", b"big")) == [big, len(big)]


async def test_an_error_reply_affects_its_caller_only(redis):
    good, bad = await asyncio.gather(redis.call(b"PING"), redis.call(b"NONSENSE"), return_exceptions=True)
    assert good == b"PONG"
    assert isinstance(bad, RedisRefused)
    assert "NONSENSE" in str(bad)
    assert redis.up


async def test_a_cancelled_caller_does_not_affect_the_others(redis):
    gone = asyncio.ensure_future(redis.call(b"ECHO", b"gone"))
    stays = asyncio.ensure_future(redis.call(b"ECHO", b"stays"))
    await asyncio.sleep(0)
    gone.cancel()
    assert await stays == b"stays"
    assert await redis.call(b"ECHO", b"next") == b"next"


async def test_unawaited_commands_arrive_and_their_errors_are_counted(redis):
    errors = redis.errors
    redis.send(b"SET", b"sent", b"1")
    redis.send(b"NONSENSE")
    assert await redis.call(b"GET", b"sent") == b"1"
    assert redis.errors == errors + 1


async def test_a_command_without_a_waiter_is_sent_with_the_next_write_or_soon(redis, monkeypatch):
    writes = []
    write = redis._wire._transport.write
    monkeypatch.setattr(
        redis._wire, "_transport", SimpleNamespace(write=lambda data: (writes.append(data), write(data)))
    )
    redis.send(b"SET", b"sent", b"1")
    redis.send(b"INCR", b"sent")
    assert await redis.call(b"GET", b"sent") == b"2"
    assert len(writes) == 1
    redis.send(b"INCR", b"sent")
    await until(lambda: len(writes) > 1)
    assert await redis.call(b"GET", b"sent") == b"3"


async def test_commands_sent_before_the_end_arrive(valkey_url, redis):
    other = Redis(valkey_url, timeout_s=5)
    await other.start()
    other.send(b"RPUSH", b"last words", b"1")
    await other.close()
    async with asyncio.timeout(60):
        await redis.call(b"BLPOP", b"last words", 0)


async def test_each_command_that_a_lost_connection_had_is_counted():
    async with Stub() as stub:
        stub.answers = []
        await stub.redis.start()
        errors = stub.redis.errors
        stub.redis.send(b"SET")
        stub.redis.send(b"SET")
        with pytest.raises(RedisUnavailable):
            await stub.redis.call(b"GET")
        assert stub.redis.errors == errors + 3


async def test_a_script_that_redis_forgot_is_loaded_again(redis):
    source = b"return {KEYS[1], ARGV[1]}"
    script = Script(source, (await redis.call(b"SCRIPT", b"LOAD", source)))
    for _ in range(2):
        assert await redis.script(script, [b"k"], [7]) == [b"k", b"7"]
        await redis.call(b"SCRIPT", b"FLUSH")
    assert await redis.script(script, [b"k"], [8]) == [b"k", b"8"]


async def test_the_first_failure_of_a_pipeline_is_raised(redis):
    with pytest.raises(RedisRefused, match="NONSENSE"):
        await redis.pipeline([(b"PING",), (b"NONSENSE",), (b"PING",)])
    assert await redis.pipeline([(b"PING",)]) == [b"PONG"]


async def test_a_hung_server_fails_its_callers_and_then_everybody_at_once():
    async with Stub(b"+first\r\n") as stub:
        await stub.redis.start()
        assert await stub.redis.call(b"GET") == b"first"
        results = await asyncio.gather(*(stub.redis.call(b"GET") for _ in range(3)), return_exceptions=True)
        assert [str(error) for error in results] == ["redis gave no answer within 50 ms"] * 3
        assert not stub.redis.up
        with pytest.raises(RedisUnavailable, match="no answer within 50 ms"):
            stub.redis.submit(b"GET")
        await until(lambda: stub.redis.up)
        assert stub.connections == 2


@pytest.mark.slow
@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_stall_of_our_own_is_not_blamed_on_redis(valkey_url, new_loop):
    async def stall():
        hasty = Redis(valkey_url, timeout_s=PATIENCE_S)
        await hasty.start()
        for _ in range(2):
            # Woken by its socket, the stall comes after the write and ahead of the timers.
            ours, theirs = socket.socketpair()
            transport, _ = await asyncio.get_running_loop().create_unix_connection(Sleeper, sock=ours)
            call = hasty.submit(b"PING")
            theirs.send(b"x")
            assert await call == b"PONG"
            transport.abort()
            theirs.close()
        assert hasty.connections == 1
        await hasty.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(stall())


async def test_a_closed_connection_is_made_again():
    async with Stub(closing=True) as stub:
        await stub.redis.start()
        with pytest.raises(RedisUnavailable, match="closed the connection"):
            await stub.redis.call(b"GET")
        await until(lambda: stub.redis.up)
        assert stub.redis.connections == 2


@pytest.mark.parametrize("answer", [b"garbage\r\n", b"+one\r\n+two too many\r\n"])
async def test_an_invalid_answer_ends_the_connection(answer):
    async with Stub(answer, b"+ok\r\n") as stub:
        await stub.redis.start()
        with contextlib.suppress(RedisUnavailable):
            await stub.redis.call(b"GET")
        await until(lambda: stub.redis.connections == 2)


@every("answer", [b"READONLY a replica", b"MOVED 1 :7", b"ASK 1 :7", b"CLUSTERDOWN no master"])
async def test_a_node_that_is_no_longer_the_master_of_batons_keys_is_left(answer):
    async with Stub(b"-%b\r\n" % answer) as stub:
        await stub.redis.start()
        with pytest.raises(RedisRefused, match=answer.split()[0].decode()):
            await stub.redis.call(b"SET", b"a", b"b")
        await until(lambda: stub.redis.connections == 2)


async def test_a_loading_redis_counts_as_unavailable():
    async with Stub() as stub:
        stub.answers = [b"-LOADING Redis is loading the dataset in memory\r\n"]
        await stub.redis.start()
        with pytest.raises(RedisUnavailable, match="loading"):
            await stub.redis.call(b"GET")


async def test_an_absent_redis_is_one_error_and_start_returns():
    redis = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await redis.start()
    with pytest.raises(RedisUnavailable, match=r"127\.0\.0\.1:1"):
        await redis.call(b"PING")
    redis.send(b"PING")
    assert redis.errors >= 3
    await redis.close()


async def test_a_password_and_a_database_are_used(valkey_url, redis):
    await redis.call(b"ACL", b"SETUSER", b"tester", b"on", b">p@ss", b"~*", b"+@all")
    other = Redis(valkey_url.replace("unix://", "unix://tester:p%40ss@") + "?db=3", timeout_s=5)
    await other.start()
    await other.call(b"SET", b"where", b"here")
    assert await redis.call(b"GET", b"where") is None
    assert b"user=tester" in await other.call(b"CLIENT", b"INFO")
    await other.close()
