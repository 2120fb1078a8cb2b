"""Build and send the hostile requests of stall.yaml. The texts in it are data: see its head for the form."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from baton.shared.person_socket import person_socket
from tests.support.attacks import entries

ANSWER_S = 60.0
"""Longest wait for a hostile request's answer, in seconds."""
_PIECE = 1 << 16
_TARGET = "/hooks/claude-code?event=PreToolUse"


class Attack(msgspec.Struct, frozen=True):
    """One request: its bytes are made when it is sent, since some are of many megabytes."""

    kind: str
    name: str
    request: dict[str, Any]
    want: tuple[str, ...]
    connections: int = 1


class Outcome(msgspec.Struct, frozen=True):
    """What came back: a status (0 for a connection that was closed without one), headers and body."""

    status: int
    head: str
    body: bytes

    @property
    def word(self) -> str:
        """The outcome in the words of `want`."""
        if not self.status:
            return "closed"
        if self.status == 200 and "baton-degraded: request" in self.head:
            return "failed"
        if self.status == 200 and "baton-decision-id" in self.head:
            return "decision"
        return str(self.status)

    def __str__(self) -> str:
        return self.word


def attacks() -> list[Attack]:
    """Return the requests of the file, in its order; a line is sent as a hook asks about it."""
    return [
        Attack(
            kind=one["class"],
            name=one["name"],
            request=one["request"] if "request" in one else {"line": one["line"]},
            want=_wanted(one) if "request" in one else ("decision",),
            connections=one.get("connections", 1),
        )
        for one in entries("stall")
    ]


def _wanted(one: dict[str, Any]) -> tuple[str, ...]:
    return tuple(map(str, one["want"] if isinstance(one["want"], list) else [one["want"]]))


def text(value: Any) -> str:
    """Spell a text of the file out."""
    if isinstance(value, list):
        return "".join(map(text, value))
    if isinstance(value, dict) and "count" in value:
        return "".join(str(value["count"]).replace("{n}", str(number)) for number in range(int(value["times"])))
    if isinstance(value, dict):
        return str(value["repeat"]) * int(value["times"])
    return str(value)


def message(request: dict[str, Any], token: str = "") -> bytes:
    """Return the bytes of a request, which a person sends if it has a `token`."""
    if "line" in request:
        payload = {"hook_event_name": "PreToolUse", "session_id": "s", "cwd": "/w", "tool_name": "Bash"}
        payload |= {"tool_input": {"command": text(request["line"])}}
        return message({"body": json.dumps(payload)})
    if "raw" in request:
        return text(request["raw"]).encode()
    method = request.get("method", "POST")
    head = (
        f"{method} {text(request.get('path', _TARGET))} HTTP/1.1\r\nhost: 127.0.0.1\r\n{text(request.get('head', ''))}"
    )
    if token:
        head += f"authorization: Bearer {token}\r\n"
    if "raw_body" in request:
        return f"{head}\r\n{text(request['raw_body'])}".encode()
    if "body" not in request:
        return f"{head}\r\n".encode()
    body = text(request["body"]).encode()
    kind = "" if "content-type" in head else "content-type: application/json\r\n"
    return f"{head}{kind}content-length: {len(body)}\r\n\r\n".encode() + body


async def send(attack: Attack, port: int, token: str) -> Outcome:
    """Send a request over as many connections as it asks for; return the last one's outcome.

    An upload is a person's, who has the token.
    """
    data = message(attack.request, token if attack.kind == "stall/upload" else "")
    found = await asyncio.gather(*(_once(data, attack.request, port) for _ in range(attack.connections)))
    return found[-1]


def _pieces(data: bytes, size: int) -> Iterator[bytes]:
    for at in range(0, len(data), size):
        yield data[at : at + size]


async def _once(data: bytes, request: dict[str, Any], port: int) -> Outcome:
    try:
        if request.get("socket") == "people":
            reader, writer = await asyncio.open_unix_connection(person_socket(port), limit=1 << 26)
        else:
            reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1 << 26)
    except OSError:
        return Outcome(0, "", b"")
    pause = float(request.get("pause_s", 0))

    async def write() -> None:
        for piece in _pieces(data, int(request.get("chunk", _PIECE))):
            writer.write(piece)
            await writer.drain()
            if pause:
                await asyncio.sleep(pause)

    if "hold_s" in request:
        writer.write(data)
        await asyncio.sleep(float(request["hold_s"]))
        writer.transport.abort()
        return Outcome(0, "", b"")
    writing = asyncio.create_task(write())
    try:
        async with asyncio.timeout(ANSWER_S):
            return await _answer(reader)
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return Outcome(0, "", b"")
    finally:
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        writer.transport.abort()
        await asyncio.sleep(0)


async def _answer(reader: asyncio.StreamReader) -> Outcome:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    length = head.partition("content-length: ")[2].partition("\r\n")[0]
    return Outcome(int(head.split()[1]), head, await reader.readexactly(int(length or 0)))
