"""Reads fields of a payload whose other keys are anybody's."""

from typing import Any

from baton.kernel.base.errors import Invalid

LONGEST_TEXT = 4_096
"""Characters of an id, a name or a path; prompts and commands are not read by this module."""


def _find(payload: dict[str, Any], names: tuple[str, ...]) -> tuple[str, Any]:
    for name in names:
        if name in payload:
            return name, payload[name]
    return names[0], None


def optional_text(payload: dict[str, Any], *names: str) -> str:
    """Read a text, "" where it is absent or null.

    Raises:
        Invalid: When it is something else, or too long.
    """
    name, value = _find(payload, names)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(name, f"must be a text, not {kind(value)}")
    if len(value) > LONGEST_TEXT:
        raise Invalid(name, f"has {len(value)} characters; at most {LONGEST_TEXT} are allowed")
    return value


def required_text(payload: dict[str, Any], *names: str) -> str:
    """Read a text that must be there and not be blank.

    Raises:
        Invalid: When it is missing, blank, something else, or too long.
    """
    value = optional_text(payload, *names)
    if not value.strip():
        raise Invalid(names[0], "is missing" if _find(payload, names)[1] is None else "is blank")
    return value


def required_object(payload: dict[str, Any], *names: str) -> dict[str, Any]:
    """Read an object; a tool without input may leave it out or send null.

    Raises:
        Invalid: When it is something else.
    """
    name, value = _find(payload, names)
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise Invalid(name, f"must be an object, not {kind(value)}")
    return value


def optional_count(payload: dict[str, Any], *names: str) -> int | None:
    """Read a whole number from 0, None where it is absent or null.

    Raises:
        Invalid: When it is something else.
    """
    name, value = _find(payload, names)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        given = value if isinstance(value, int) and not isinstance(value, bool) else kind(value)
        raise Invalid(name, f"must be a whole number from 0, not {given}")
    return value


def kind(value: Any) -> str:
    """Name a JSON value's type for people."""
    names = {dict: "an object", list: "an array", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
