"""Connections with an incomplete request, on the real protocol with a short deadline."""

import asyncio
import json
import socket

import pytest
import uvicorn

from baton.kernel.http.serving.hot_routes import Response, read_body, respond
from baton.kernel.http.serving.protocol import Protocol


class Hasty(Protocol):
    receive_s = 0.3


async def echo(scope, receive, send):
    body = await read_body(receive, 1_000)
    if body == b"slow":
        await asyncio.sleep(0.2)
    if body == b"half":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"8")]})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await receive()
    await respond(scope, send, Response(body, 200, [(b"x-split", b"a\r\nb")] if body == b"evil" else []))


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
    assert await asyncio.wait_for(reader.read(), 60) == b""


async def test_trickling_wins_no_time(connect):
    reader, writer = await connect()

    async def trickle():
        while not writer.is_closing():
            writer.write(b"X-A: b\r\n")
            await asyncio.sleep(0.05)

    writer.write(b"GET / HTTP/1.1\r\n")
    task = asyncio.create_task(trickle())
    try:
        assert await asyncio.wait_for(reader.read(), 60) == b""
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


@pytest.mark.parametrize(
    ("head", "body"),
    [
        (HEAD, b"abcd"),
        (HEAD.replace(b"1.1", b"1.0"), b"abcd"),
        (HEAD.replace(b"host: x", b"host: x\r\nconnection: close"), b"abcd"),
        (HEAD.replace(b"POST", b"HEAD"), b""),
        (HEAD.replace(b"host: x", b"host: x\r\nexpect: 100-continue"), b"abcd"),
    ],
    ids=["ordinary", "http 1.0", "the last one", "HEAD", "expected"],
)
async def test_an_answer_has_its_length_type_and_one_body(connect, head, body):
    reader, writer = await connect()
    writer.write(head + b"abcd")
    if b"100-continue" in head:
        await reader.readuntil(b"100 Continue\r\n\r\n")
    told = await reader.readuntil(b"\r\n\r\n")
    assert told.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"content-length: 4\r\n" in told
    assert b"content-type: application/json\r\n" in told
    writer.write_eof()
    assert await reader.read() == body


async def test_requests_that_come_together_are_answered_in_their_order(connect):
    reader, writer = await connect()
    sent = [b"%04d" % number for number in range(50)]
    writer.write(b"".join(HEAD + body for body in sent))
    assert [(await reader.readuntil(body))[-4:] for body in sent] == sent


async def test_a_header_that_would_split_the_answer_is_not_sent(connect):
    reader, writer = await connect()
    writer.write(HEAD + b"evil")
    assert await reader.read() == b""


@pytest.mark.parametrize("sent", [b"\x16\x03\x01\r\n\r\n", b"FOO / HTTP/1.1\r\n\r\n", HEAD.replace(b"4", b"x")])
async def test_invalid_http_is_refused_as_a_problem(connect, sent):
    reader, writer = await connect()
    writer.write(sent)
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"content-type: application/problem+json" in head
    assert json.loads(body)["detail"] == "invalid HTTP request received"


LINE = b"POST / HTTP/1.1\r\nhost: x\r\n"
CHUNKED = LINE + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (LINE + b"x: y\r\n" * 100 + b"\r\n", b"431"),
        (LINE + b"x: " + b"v" * (64 << 10) + b"\r\n\r\n", b"431"),
        (LINE + b"x: " + b"v" * (1 << 20), b"431"),
        (LINE + b"n" * (1 << 20), b"431"),
        (b"GET /" + b"a" * (1 << 20), b"431"),
        (b"\r\n" * (1 << 17), b"431"),
        (CHUNKED + b"1;" + b"e" * (1 << 20), b"413"),
        (CHUNKED + b"1\r\nx\r\n" * 20_000, b"413"),
        (CHUNKED + b"4\r\nabcd\r\n0\r\n" + b"t: x\r\n" * 200, b"413"),
        (HEAD * 3 + LINE.replace(b"POST", b"GET") * 200, b"400"),
    ],
    ids=[
        "101 headers", "64 KiB", "no end of a value", "no end of a name", "no end of the request line", "line ends",
        "an extension", "chunks of a byte", "trailers", "lines within lines",
    ],
)  # fmt: skip
async def test_a_request_is_refused_while_it_arrives(connect, sent, status):
    reader, writer = await connect()
    writer.write(sent)
    head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)
    assert head.startswith(b"HTTP/1.1 " + status)
    assert b"connection: close" in head
    assert await asyncio.wait_for(reader.read(), 60)


async def test_a_head_just_below_the_limits_is_served(connect):
    reader, writer = await connect()
    writer.write(LINE + b"x: y\r\n" * 96 + b"x: " + b"v" * 64_000 + b"\r\ncontent-length: 4\r\n\r\nabcd")
    assert (await reader.readuntil(b"abcd")).startswith(b"HTTP/1.1 200")


async def test_small_chunks_of_a_large_body_are_served(connect):
    reader, writer = await connect()
    writer.write(CHUNKED + b"1\r\nx\r\n" * 900 + b"0\r\nt: x\r\n\r\n")
    assert (await reader.readuntil(b"x" * 900)).startswith(b"HTTP/1.1 200")


async def test_a_refusal_is_the_last_answer_of_its_connection(connect, caplog):
    reader, writer = await connect()
    writer.write((HEAD + b"slow") * 3)
    await asyncio.sleep(0.05)
    writer.write(b"x\r\n\r\n")
    answer = await asyncio.wait_for(reader.read(), 60)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1
    await asyncio.sleep(0.3)
    assert caplog.text == ""


async def test_no_refusal_is_written_into_an_answer(connect):
    reader, writer = await connect()
    writer.write(HEAD + b"half")
    await reader.readuntil(b"half")
    writer.write(b"x\r\n\r\n")
    assert await asyncio.wait_for(reader.read(), 60) == b""


async def test_more_requests_than_are_answered_ahead_are_refused(connect):
    reader, writer = await connect()
    writer.write(HEAD + (b"abcd" + HEAD) * 2_000)
    assert b" 400 " in await asyncio.wait_for(reader.read(), 60)


async def test_an_idle_connection_gives_way_to_a_new_one(connect, monkeypatch):
    monkeypatch.setattr(Hasty, "most_connections", 3)
    idle = [await connect() for _ in range(3)]
    busy_reader, busy_writer = idle[0]
    busy_writer.write(HEAD + b"abcd")  # it has been served meanwhile, so the second is the longest idle
    await busy_reader.readuntil(b"abcd")
    reader, writer = await connect()
    assert await asyncio.wait_for(idle[1][0].read(), 60) == b""
    for one, to in ((reader, writer), (busy_reader, busy_writer)):
        to.write(HEAD + b"abcd")
        assert (await one.readuntil(b"abcd")).startswith(b"HTTP/1.1 200")
