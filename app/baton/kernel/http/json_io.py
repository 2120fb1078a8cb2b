"""JSON in and out of the hot paths, and what all bodies must be: of few enough values, and of whole characters.

Decoding holds the interpreter for as long as it takes, in a thread as on the loop, and everybody waits. What it takes is
mostly a matter of how many values there are, not of bytes: a megabyte of text decodes in half a millisecond, a megabyte
of short keys in twenty. So values are counted first, without building any.
"""

import asyncio
import json
import math
import re
from typing import Any, NoReturn

import msgspec

from baton.kernel.base.errors import BadJSON, TooLarge
from baton.kernel.http.fields import kind

MOST_VALUES = 20_000
"""Values and keys of a body that are decoded: some five milliseconds. No model writes a tool call of so many."""
_LONGEST_VALUE = 170
"""Bytes that a number, or the white space around a value, has on average at most; there are no megabytes of either."""
_PIECE = 1 << 20
"""Bytes of a body that are counted in one go, in two milliseconds."""

_decode = msgspec.json.Decoder().decode
_HALF = re.compile("[\ud800-\udfff]")
_BOM = b"\xef\xbb\xbf"
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_FIRST_HALF, _SECOND_HALF = re.compile(_HIGH), re.compile(_LOW)
_LONE_HALF = re.compile(rb"%b(?!%b)|(?<!%b)%b" % (_HIGH, _LOW, _HIGH, _LOW))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not JSON")


class HugeNumber:
    """A number that no float holds, such as `1e999`. It is kept as text: an infinite float would be encoded as null.

    It is no type that msgspec knows, so an encoder that was not told of it fails instead of writing something else.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _number(text: str) -> float | HugeNumber:
    value = float(text)
    return value if math.isfinite(value) else HugeNumber(text)


def _digits(value: Any) -> bytes:
    if isinstance(value, HugeNumber):
        return value.text.encode()
    raise TypeError(f"`{type(value).__name__}` cannot be encoded")


_encode = msgspec.json.Encoder(enc_hook=lambda value: msgspec.Raw(_digits(value))).encode


class _Response(msgspec.Struct):
    """The result of a tool in a hook's payload, as it came."""

    tool_response: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    toolResponse: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET  # noqa: N815


_decode_response = msgspec.json.Decoder(_Response).decode


async def bounded(body: bytes, most: int = MOST_VALUES, *, result: bool = False) -> bytes:
    """Return a body if it holds at most `most` values and keys.

    With `result`, a tool's result that makes the body too large is left out (null): Baton reads three names of it, and
    a tool may well return a million rows.

    Raises:
        TooLarge: If there are more.
    """
    if len(body) <= 2 * most or not await _too_many(body, most):
        return body
    if result:
        body = _without_result(body)
        if not await _too_many(body, most):
            return body
    raise TooLarge(f"the body holds more than {most:,} values and keys (or mostly white space); send fewer")


async def _too_many(body: bytes, most: int) -> bool:
    """Return whether a text of JSON holds more values and keys than `most`; others run between its pieces.

    A value or key that is not the first of its container has a comma or colon before it, so marks outside of strings
    count them.
    """
    found, outside, in_string, at = 1, 0, False, 0
    while at < len(body):
        piece = body[at : at + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:  # an escape must not be cut in two
            piece = body[at : at + len(piece) + 1]
        at += len(piece)
        if b"\\" in piece:
            piece = piece.replace(b"\\\\", b"").replace(b'\\"', b"")
        parts = piece.split(b'"', 2 * most + 2)
        if len(parts) > 2 * most + 2:  # each string is a value or a key
            return True
        marks = b"".join(parts[in_string::2])
        in_string ^= len(parts) % 2 == 0
        found += len(marks) - len(marks.translate(None, b",:[{"))
        outside += len(marks)
        if found > most or outside > _LONGEST_VALUE * most:
            return True
        if at < len(body):
            await asyncio.sleep(0)
    return False


def _without_result(body: bytes) -> bytes:
    try:
        found = _decode_response(body.removeprefix(_BOM))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return body
    for raw in (found.tool_response, found.toolResponse):
        if raw is not msgspec.UNSET:
            body = body.replace(bytes(raw), b"null", 1)
    return body


def whole_characters(body: bytes) -> bytes:
    r"""Put U+FFFD in the place of each escaped NUL (`\u0000`) and half of a surrogate pair (`\ud800`): no store takes them."""
    if b"\\u0000" not in body and b"\\ud" not in body and b"\\uD" not in body:
        return body
    # Spelled so, an escaped backslash cannot be taken for the beginning of another escape. No callback is called for
    # each escape: a body may consist of nothing else.
    body = body.replace(b"\\\\", b"\\u005c").replace(b"\\u0000", b"\\ufffd")
    return _LONE_HALF.sub(rb"\\ufffd", body)


def decode_object(body: bytes) -> dict[str, Any]:
    r"""Decode a body into an object.

    A client that escapes half a surrogate pair (`\ud800`) sends valid JSON, though not text that can be encoded:
    such a body is read too, since what it carries must still be judged. Only in the body's own texts, which name things
    (a session, a folder), does U+FFFD take its place.

    Raises:
        BadJSON: With what was wrong and where.
    """
    body = body.removeprefix(_BOM)
    try:
        value = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = _with_whole_names(_decode_slowly(body))
    if not isinstance(value, dict):
        raise BadJSON(f"the body must be a JSON object, not {kind(value)}")
    return value


_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
LARGE = 4 << 20
"""Bytes from which a body is decoded in steps."""


async def decode_large(body: bytes) -> dict[str, Any]:
    """Decode a body into an object as `decode_object` does; others run while a text of megabytes is decoded.

    Texts of a tool's input are what makes a body large. One level below the body's own fields is read so.

    Raises:
        BadJSON: With what was wrong and where.
    """
    if len(body) <= LARGE:
        return decode_object(body)
    try:
        found = await _decode_parts(body.removeprefix(_BOM), levels=2)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, ValueError):
        return decode_object(body)  # says what is wrong
    return _with_whole_names(found)  # type: ignore[no-any-return]


async def _decode_parts(raw: bytes | memoryview, levels: int) -> Any:
    if len(raw) <= _PIECE:
        return _decode_piece(bytes(raw))
    await asyncio.sleep(0)
    first = bytes(raw[:1])
    if first == b'"':
        return await _decode_text(bytes(raw[1:-1]))
    if first == b"{" and levels:
        return {key: await _decode_parts(memoryview(part), levels - 1) for key, part in _parts(raw).items()}
    return _decode_piece(bytes(raw))


async def _decode_text(text: bytes) -> str:
    pieces: list[str] = []
    at = 0
    while at < len(text):
        end = _cut(text, at, at + _PIECE)
        pieces.append(_decode_piece(b'"%b"' % text[at:end]))
        at = end
        await asyncio.sleep(0)
    return "".join(pieces)


def _cut(text: bytes, start: int, end: int) -> int:
    """Return where a text of JSON may be cut, at or shortly before `end`: in no escape, no pair of them, no character."""
    if end >= len(text):
        return len(text)
    at = text.rfind(b"\\", end - 12, end)
    if at < 0:
        while text[end] & 0xC0 == 0x80:  # noqa: PLR2004 - a byte within a character of UTF-8
            end -= 1
        return end
    run = at + 1 - len(text[start : at + 1].rstrip(b"\\")) - start
    at -= run % 2 == 0
    return at - 6 if _SECOND_HALF.match(text, at) and _FIRST_HALF.match(text, at - 6) else at


def _decode_piece(body: bytes) -> Any:
    try:
        return _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return json.loads(body, parse_constant=_refuse, parse_float=_number)


def _with_whole_names(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _HALF.sub("\ufffd", part) if isinstance(part, str) else part for key, part in value.items()}


def _decode_slowly(body: bytes) -> Any:
    try:
        return json.loads(body.decode(), parse_constant=_refuse, parse_float=_number)
    except (ValueError, RecursionError) as error:
        raise bad_json(error) from None


def bad_json(error: BaseException | None) -> BadJSON:
    """Return the error for a body that cannot be read as JSON."""
    match error:
        case UnicodeDecodeError():
            return BadJSON(f"the body is not UTF-8: byte {error.start} cannot be read")
        case RecursionError():
            return BadJSON("the body is nested too deeply")
        case json.JSONDecodeError():
            what = error.msg.lower().removesuffix(" at")
            return BadJSON(f"the body is not JSON: {what} at line {error.lineno}, column {error.colno}")
        case ValueError() if "digits" in str(error):  # Python's own words tell how to lift its limit
            return BadJSON("a number in the body has more digits than can be read")
        case _:
            return BadJSON(f"the body is not JSON: {error}")


def encode(value: Any) -> bytes:
    """Encode an answer; text that holds half a surrogate pair leaves as it came, escaped."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _spelled(msgspec.to_builtins(value, enc_hook=_digits, builtin_types=(bytes,))).encode()


def _spelled(value: Any) -> str:
    """Spell built-in values as JSON; bytes are the digits of a huge number, which `json` would not take."""
    if isinstance(value, dict):
        return "{" + ",".join([f"{json.dumps(key)}:{_spelled(part)}" for key, part in value.items()]) + "}"
    if isinstance(value, list):
        return "[" + ",".join([_spelled(part) for part in value]) + "]"
    return value.decode() if isinstance(value, bytes) else json.dumps(value)
