"""Requests to the endpoints that agents wait for: the protocol answers the usual ones itself, and nobody can tell."""

import asyncio
import json
import re
import socket

import pytest
import uvicorn

from baton.engine.call.principal import Principal
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Unauthenticated
from baton.kernel.http.asgi import Response
from baton.kernel.http.guards.origin_guard import Guard
from baton.kernel.http.serving import protocol
from baton.kernel.http.serving.hot_routes import HotFastAPI, HotRoute
from baton.kernel.http.serving.protocol import HotCycle, Protocol

ANN = Caller(principal=Principal(user="ann"))


def admit(headers):
    if headers.get(b"authorization") == b"Bearer wrong":
        raise Unauthenticated("no such token")
    return ANN


async def echo(request, caller):
    """Answer with what the endpoint was given."""
    if request.body == b"fail":
        raise RuntimeError(request.path)
    if request.body in {b"slow", b"slower"}:
        async with asyncio.timeout(10):
            await asyncio.sleep(0.05 if request.body == b"slow" else 0.5)
    given = {
        "path": request.path,
        "q": request.parameter("q"),
        "body": request.body.decode(),
        "who": caller.principal.user,
    }
    headers = [(b"x-split", b"a\r\nb")] if request.body == b"evil" else []
    return Response(json.dumps(given).encode(), 200, headers)


@pytest.fixture
def app():
    app = HotFastAPI()
    app.guard = Guard([])
    app.admit = admit
    app.hot = {
        "/echo": HotRoute(path="/echo", max_body=100_000, admit=admit, answer=echo, most_values=200_000),
        "/hooks/": HotRoute(path="/hooks/", max_body=1_000, admit=admit, answer=echo),
    }
    return app


@pytest.fixture
async def ask(app, monkeypatch):
    """Send bytes on a connection of their own; returns all that comes back. `hot` lists the requests without ASGI."""
    listener = socket.create_server(("127.0.0.1", 0))
    # As `server.run` has it: with `proxy_headers` uvicorn would wrap the application.
    config = uvicorn.Config(
        app, http=Protocol, lifespan="off", log_config=None, timeout_keep_alive=30, ws="none", proxy_headers=False
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server._serve([listener]))
    made = []

    class Counted(HotCycle):
        def __init__(self, *given, **named):
            super().__init__(*given, **named)
            made.append(self.request.path)

    async def ask(*parts):
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        for part in parts:
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0.05 if len(parts) > 1 else 0)
        writer.write(b"GET /gone HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), 60)
        writer.close()
        return answer

    monkeypatch.setattr(protocol, "HotCycle", Counted)
    ask.hot = made
    ask.server = server
    ask.where = listener.getsockname()
    yield ask
    server.should_exit = True
    await running


def post(body=b"{}", path=b"/echo", *, headers=b"", host=b"localhost", length=True):
    size = b"content-length: %d\r\n" % len(body) if length else b""
    return b"POST " + path + b" HTTP/1.1\r\nhost: " + host + b"\r\n" + size + headers + b"\r\n" + body


def without_ids(answer):
    answer = re.sub(rb"x-request-id: [0-9a-f]{32}", b"x-request-id: ID", answer)
    return re.sub(rb"date: [^\r]*", b"date: D", answer)


USUAL = {
    "a call": post(b"{}"),
    "a query": post(b"{}", b"/echo?q=a"),
    "a path of its own": post(b"{}", b"/hooks/codex"),
    "an id": post(headers=b"x-request-id: abc\r\n"),
    "no body": post(b""),
    "a foreign host": post(host=b"evil.example"),
    "a foreign origin": post(headers=b"origin: https://evil.example\r\n"),
    "a wrong token": post(headers=b"authorization: Bearer wrong\r\n"),
    "too large for its route": post(b"x" * 2_000, b"/hooks/codex"),
    "an endpoint that breaks": post(b"fail"),
    "two at once": post(b"1") + post(b"2"),
    "a hundred, some slow": b"".join(post(b"slow" if number % 30 == 0 else b"%d" % number) for number in range(90)),
}


@pytest.mark.parametrize("sent", USUAL.values(), ids=USUAL)
async def test_an_answer_without_asgi_is_the_same_to_the_byte(ask, monkeypatch, sent):
    without = await ask(sent)
    monkeypatch.setattr(Protocol, "_hot_request", lambda _: None)
    assert without_ids(without) == without_ids(await ask(sent))
    assert b"HTTP/1.1 " in without


@pytest.mark.parametrize("name", ["a call", "a query", "a path of its own", "a foreign host", "a wrong token"])
async def test_what_is_usual_goes_without_asgi(ask, name):
    await ask(USUAL[name])
    assert len(ask.hot) == 1


UNUSUAL = {
    "another method": b"PUT /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}",
    "another path": post(path=b"/other"),
    "an encoded path": post(path=b"/ech%6f"),
    "a cookie": post(headers=b"cookie: a=b\r\n"),
    "chunks": post(b"2\r\n{}\r\n0\r\n\r\n", length=False, headers=b"transfer-encoding: chunked\r\n"),
    "a large body": post(b"x" * 70_000),
}


@pytest.mark.parametrize("sent", UNUSUAL.values(), ids=UNUSUAL)
async def test_what_is_unusual_goes_the_usual_way(ask, sent):
    assert (await ask(sent)).startswith(b"HTTP/1.1 ")
    assert ask.hot == []


async def test_a_body_that_comes_later_goes_the_usual_way_where_a_wrong_token_is_refused_before_it(ask):
    sent = post(b"{}" * 2_000, headers=b"authorization: Bearer wrong\r\n")
    head = sent[: sent.index(b"\r\n\r\n") + 4]
    reader, writer = await asyncio.open_connection(*ask.where)
    writer.write(head)
    assert (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 60)).startswith(b"HTTP/1.1 401 ")
    writer.close()
    assert ask.hot == []


@pytest.mark.parametrize("body", [b'{"a":1}', b"x" * 30_000])
async def test_a_body_in_parts_is_whole(ask, body):
    sent = post(body)
    answer = await ask(sent[:-4], sent[-4:])
    assert b'"body": %s' % json.dumps(body.decode()).encode() in answer


@pytest.mark.parametrize("headers", [b"connection: close\r\n", b""])
async def test_a_connection_ends_when_its_client_says_so(ask, headers):
    reader, writer = await asyncio.open_connection(*ask.where)
    writer.write(post(headers=headers))
    answer = await asyncio.wait_for(reader.read() if headers else reader.readuntil(b"}"), 60)
    assert (b"connection: close" in answer) is bool(headers)
    writer.close()
    assert len(ask.hot) == 1


async def test_a_header_that_would_split_the_answer_is_not_sent(ask):
    answer = await ask(post(b"evil"))
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"x-split" not in answer


async def test_a_server_that_stops_answers_what_it_has_begun(ask):
    reader, writer = await asyncio.open_connection(*ask.where)
    writer.write(post(b"slower"))
    while not ask.hot:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    ask.server.should_exit = True
    answer = await asyncio.wait_for(reader.read(), 60)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert b"connection: close" in answer
    writer.close()


async def test_a_client_that_leaves_takes_nobody_along(ask):
    _, writer = await asyncio.open_connection(*ask.where)
    writer.write(post(b"slow"))
    await writer.drain()
    writer.transport.abort()
    await asyncio.sleep(0.1)
    assert (await ask(post(b"{}"))).startswith(b"HTTP/1.1 200 ")
