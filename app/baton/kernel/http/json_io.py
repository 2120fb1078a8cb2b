"""JSON in and out of the hot paths, and whole characters for all others. Each payload's reader validates its own fields."""

import json
import math
import re
from typing import Any, NoReturn

import msgspec

from baton.kernel.base.errors import BadJSON
from baton.kernel.http.fields import kind

_decode = msgspec.json.Decoder().decode
_HALF = re.compile("[\ud800-\udfff]")
_BOM = b"\xef\xbb\xbf"
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


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


def whole_characters(body: bytes) -> bytes:
    r"""Put U+FFFD in the place of each escaped NUL (`\u0000`) and half of a surrogate pair (`\ud800`): no store takes them."""
    if b"\\u0000" not in body and b"\\ud" not in body and b"\\uD" not in body:
        return body
    return _ESCAPE.sub(lambda found: b"\\ufffd" if found[1] else found[0], body)


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
