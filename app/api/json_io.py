"""JSON in and out of the hot paths, and whole characters for all others. It validates no field: each payload's reader does."""

import json
import re
from typing import Any, NoReturn

import msgspec

from app.api.fields import kind
from app.errors import BadJSON

_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_MOST_DIGITS = 4_000
_HALF = re.compile("[\ud800-\udfff]")
_BOM = b"\xef\xbb\xbf"
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u0000|u[dD][89a-fA-F][0-9a-fA-F]{2})|.)",
    re.DOTALL,
)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"`{constant}` is not JSON")


def _whole_number(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits; at most {_MOST_DIGITS} are allowed")
    return int(digits)


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
        BadJSON: with what was wrong and where.
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
        return json.loads(body.decode(), parse_constant=_refuse, parse_int=_whole_number)
    except UnicodeDecodeError as error:
        raise BadJSON(f"the body is not UTF-8: byte {error.start} cannot be read") from None
    except RecursionError:
        raise BadJSON("the body is nested too deeply") from None
    except json.JSONDecodeError as error:
        what = error.msg.lower().removesuffix(" at")
        raise BadJSON(f"the body is not JSON: {what} at line {error.lineno}, column {error.colno}") from None
    except ValueError as error:
        raise BadJSON(f"the body is not JSON: {error}") from None


def encode(value: Any) -> bytes:
    """Encode an answer; text that holds half a surrogate pair leaves as it came, escaped."""
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value), separators=(",", ":")).encode()
