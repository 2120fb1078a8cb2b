"""Requests read differently by servers and proxies, each around bytes hiding another request."""

import json
import socket
from collections.abc import Iterator
from contextlib import suppress

HOOK = "/hooks/claude-code?event=PreToolUse"
MARKER = b"GET /marker HTTP/1.1\r\nhost: localhost\r\n\r\n"
UPGRADES = {
    "h2c": ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__"),
    "websocket": ("connection: upgrade", "upgrade: websocket", "sec-websocket-version: 13", "sec-websocket-key: eA=="),
    "anything": ("Connection: keep-alive, UPGRADE", "Upgrade: x"),
}
"""Headers by which a client offers another protocol."""


def hook(command: str) -> bytes:
    """Return the payload of a hook for a shell command."""
    call = {"tool_name": "Bash", "tool_input": {"command": command}, "session_id": "smuggling", "cwd": "/w"}
    return json.dumps({"hook_event_name": "PreToolUse", **call}).encode()


def request(
    *headers: str, body: bytes = b"", line: str = f"POST {HOOK} HTTP/1.1", host: str = "localhost", sized: bool = True
) -> bytes:
    """Return a request. `sized` adds its `Content-Length`."""
    head = [line, *([f"host: {host}"] if host else []), *headers]
    if sized and body:
        head.append(f"content-length: {len(body)}")
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def chunked(framed: bytes, *headers: str, line: str = f"POST {HOOK} HTTP/1.1", coding: str = "chunked") -> bytes:
    """Return a request with `Transfer-Encoding`."""
    return request(*headers, f"transfer-encoding: {coding}", body=framed, line=line, sized=False)


def chunk(body: bytes, size: str = "", end: bytes = b"\r\n") -> bytes:
    """Return a chunk, and the last one."""
    return (size or f"{len(body):x}").encode() + b"\r\n" + body + end + b"0\r\n\r\n"


def cases(hidden: bytes = MARKER, host: str = "localhost") -> Iterator[tuple[str, bytes, str]]:
    """Yield each name and request, and the statuses that Baton answers it and a `GET /healthz` after it with."""
    for name, data, want in _cases(hidden):
        yield name, data.replace(b"host: localhost", b"host: " + host.encode()), want


def _cases(hidden: bytes) -> Iterator[tuple[str, bytes, str]]:
    size, last, old = len(hidden), b"0\r\n\r\n" + hidden, f"POST {HOOK} HTTP/1.0"
    for name, offer in UPGRADES.items():
        yield f"upgrade to {name}", request(*offer, body=hidden), "200 200"
        yield f"upgrade to {name}, in chunks", chunked(chunk(hidden), *offer), "200 200"
        yield f"upgrade to {name}, GET", request(*offer, line="GET /healthz HTTP/1.1"), "200 200"
        yield (
            f"upgrade to {name}, GET with a body",
            request(*offer, body=hidden, line="GET /healthz HTTP/1.1"),
            "200 200",
        )
    offer = UPGRADES["anything"]
    yield "upgrade twice", request(*offer, body=hidden) * 2, "200 200 200"
    yield "upgrade, HTTP/1.0", request(*offer, body=hidden, line=old), "200"
    yield "upgrade, closing", request("connection: close", *offer, body=hidden), "200"
    yield "upgrade, two of them", request(*offer, "upgrade: h2c", body=hidden), "200 200"
    yield "upgrade, waiting", request(*offer, "expect: 100-continue", body=hidden), "100 200"
    yield "upgrade of an unknown length", request(*offer, "transfer-encoding: x", body=hidden, sized=False), "400"
    yield "CONNECT", request(body=hidden, line="CONNECT localhost:1 HTTP/1.1"), "400"
    yield "CONNECT with a path", request(body=hidden, line="CONNECT / HTTP/1.1"), "400"
    yield "length and chunked", chunked(last, f"content-length: {size + 5}"), "400"
    yield (
        "chunked and length",
        request("transfer-encoding: chunked", "content-length: 5", body=last, sized=False),
        "400",
    )
    for lengths in ((size, size), (0, size), (size, 0)):
        given = [f"content-length: {one}" for one in lengths]
        yield f"two lengths {lengths}", request(*given, body=hidden, sized=False), "400"
    for length in (
        f"{size}, {size}",
        f"+{size}",
        f"-{size}",
        f"0x{size:x}",
        f"{size} 0",
        "",
        f"{2**64 + size}",
        f"{size}_0",
    ):
        yield f"length `{length}`", request(f"content-length: {length}", body=hidden, sized=False), "400"
    for coding in (
        "xchunked", "chunked, identity", "identity, chunked", "gzip, chunked", "chunked, chunked", "chunked;q=1", '"chunked"',
        "\x0bchunked", "identity", "", "chunked,", "chun ked",
    ):  # fmt: skip
        yield f"coding `{coding!r}`", chunked(last, coding=coding), "400"
    yield "two codings", chunked(last, "transfer-encoding: identity"), "400"
    yield "a folded coding", chunked(last, coding="\r\n chunked"), "400"
    yield "coding in capitals", chunked(chunk(hidden), coding="CHUNKED"), "200 200"
    yield "chunks of HTTP/1.0", chunked(last, "connection: keep-alive", line=old), "400"
    yield "a length of HTTP/1.0", request("connection: keep-alive", body=hidden, line=old), "200"
    for name, bad in {
        "LF after the line": b"POST / HTTP/1.1\nhost: localhost\r\n\r\n",
        "LF after a header": b"POST / HTTP/1.1\r\nhost: localhost\nx: y\r\n\r\n",
        "LF at the end": b"POST / HTTP/1.1\r\nhost: localhost\r\n\n",
        "CR in a value": b"POST / HTTP/1.1\r\nhost: localhost\rx: y\r\n\r\n",
        "CR at the end": b"POST / HTTP/1.1\r\nhost: localhost\r\n\r",
        "a folded value": b"POST / HTTP/1.1\r\nhost: localhost\r\nx: y\r\n z\r\n\r\n",
        "a fold before headers": b"POST / HTTP/1.1\r\n x: y\r\nhost: localhost\r\n\r\n",
        "a blank before a colon": b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length : 5\r\n\r\n",
        "a tab before a colon": b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding\t: chunked\r\n\r\n",
        "no colon": b"POST / HTTP/1.1\r\nhost: localhost\r\nx\r\n\r\n",
        "no name": b"POST / HTTP/1.1\r\nhost: localhost\r\n: x\r\n\r\n",
        "NUL in a value": b"POST / HTTP/1.1\r\nhost: localhost\r\nx: a\0b\r\n\r\n",
        "NUL in a name": b"POST / HTTP/1.1\r\nhost: localhost\r\na\0b: x\r\n\r\n",
        "NUL in the path": b"POST /\0 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "a blank in the path": b"POST / x HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "HTTP/0.9": b"GET /healthz\r\n\r\n",
        "HTTP/2.0": b"POST / HTTP/2.0\r\nhost: localhost\r\n\r\n",
        "HTTP/2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "an unknown method": b"GETS / HTTP/1.1\r\nhost: localhost\r\n\r\n",
    }.items():
        yield name, bad + hidden, "400"
    yield "an extension", chunked(chunk(hidden, f'{size:x};a=b;c="d"')), "200 200"
    for name, bad in {
        "LF in an extension": chunk(hidden, f"{size:x};a\nb"),
        "CR in an extension": chunk(hidden, f"{size:x};a\rb"),
        "LF after the size": f"{size:x}\n".encode() + hidden + last,
        "LF after the chunk": chunk(hidden, end=b"\n"),
        "nothing after the chunk": chunk(hidden, end=b""),
        "a longer chunk than told": chunk(b"x" + hidden, "1"),
        "size in C's hexadecimal": chunk(hidden, f"0x{size:x}"),
        "size with a plus": chunk(hidden, f"+{size:x}"),
        "size with a minus": chunk(hidden, f"-{size:x}"),
        "size after a blank": chunk(hidden, f" {size:x}"),
        "size before a blank": chunk(hidden, f"{size:x} "),
        "size with an underscore": chunk(hidden, f"{size:x}_0"),
        "size above 64 bits": chunk(hidden, f"1{size:016x}"),
        "no size": b"\r\n" + hidden + last,
        "a length as a trailer": b"0\r\ncontent-length: 5\r\n\r\n" + hidden,
    }.items():
        yield name, chunked(bad), "400"
    for trailer in (b"x: y", b"host: evil.example", b"authorization: Bearer x", b"baton-user: eve"):
        yield f"trailer {trailer!r}", chunked(chunk(hidden)[:-2] + trailer + b"\r\n\r\n"), "200 200"
    yield "pipelined", request(line="GET /healthz HTTP/1.1") * 3, "200 200 200 200"
    yield "absolute form", request(body=hidden, line=f"POST http://localhost{HOOK} HTTP/1.1"), "400"
    yield "absolute form of another", request(body=hidden, line=f"POST http://evil.example{HOOK} HTTP/1.1"), "400"
    yield "asterisk form", request(body=hidden, line="OPTIONS * HTTP/1.1"), "400"
    yield "two hosts", request("host: localhost", body=hidden), "400"
    yield "another host as the second", request("host: evil.example", body=hidden), "400"
    yield "a body of GET", request(body=hidden, line="GET /healthz HTTP/1.1"), "200 200"
    yield "a body that is not read", request("origin: http://evil.example", body=hidden), "403 200"
    yield "expected", request("expect: 100-continue", body=hidden), "100 200"
    yield "expected, but refused", request("expect: 100-continue", "origin: http://evil.example", body=hidden), "403"


def answers(data: bytes) -> list[tuple[int, bytes]]:
    """Split what came back into statuses and bodies."""
    found = []
    while data:
        head, _, data = data.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        size = int(fields.get(b"content-length", b"0"))
        found.append((int(head.split(b" ")[1]), data[:size]))
        data = data[size:]
    return found


def exchange(connection: socket.socket, data: bytes, piece: int = 1 << 16) -> bytes:
    """Send in pieces; return what comes back until the other side closes or the connection's timeout has passed."""
    received = b""
    with suppress(TimeoutError, ConnectionError):  # a server may answer and close before it has everything
        for at in range(0, len(data), piece):
            connection.sendall(data[at : at + piece])
    with suppress(TimeoutError, ConnectionError):
        while more := connection.recv(1 << 16):
            received += more
    return received
