"""Connections whose request never arrives whole, on the real protocol with a short deadline."""

import asyncio
import socket

import pytest
import uvicorn

from app.api.asgi import Response, read_body, respond
from app.api.protocol import Protocol


class Hasty(Protocol):
    receive_s = 0.3


async def echo(scope, receive, send):
    await respond(send, Response(await read_body(receive, 1_000)))


@pytest.fixture
async def connect():
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(echo, http=Hasty, lifespan="off", log_config=None, timeout_keep_alive=30, ws="none")
    )
    running = asyncio.create_task(server._serve([listener]))
    opened = []

    async def connect():
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        opened.append(writer)
        return reader, writer

    yield connect
    for writer in opened:
        writer.close()
    server.should_exit = True
    await running


HEAD = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 4\r\n\r\n"
SLOW = {"nothing": b"", "half a head": HEAD[:20], "half a body": HEAD + b"ab"}


@pytest.mark.parametrize("sent", SLOW.values(), ids=SLOW)
async def test_a_request_that_does_not_arrive_is_not_waited_for(connect, sent):
    reader, writer = await connect()
    writer.write(sent)
    assert await asyncio.wait_for(reader.read(), 10) == b""


async def test_trickling_wins_no_time(connect):
    reader, writer = await connect()

    async def trickle():
        while not writer.is_closing():
            writer.write(b"X-A: b\r\n")
            await asyncio.sleep(0.05)

    writer.write(b"GET / HTTP/1.1\r\n")
    task = asyncio.create_task(trickle())
    try:
        assert await asyncio.wait_for(reader.read(), 10) == b""
    except ConnectionResetError:
        pass
    finally:
        task.cancel()


async def test_a_connection_between_requests_is_left_open(connect):
    reader, writer = await connect()
    for _ in range(2):
        writer.write(HEAD + b"abcd")
        assert (await reader.readuntil(b"abcd")).startswith(b"HTTP/1.1 200")
        await asyncio.sleep(0.7)
    assert not reader.at_eof()
