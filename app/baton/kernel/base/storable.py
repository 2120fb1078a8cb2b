"""Texts as every database stores them. A module of its own: who only prepares rows need not import SQLAlchemy."""

from typing import Any


def storable(text: str) -> str:
    """Make a text that both databases store: Postgres takes no NUL, and neither takes half a surrogate pair."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def storable_json(value: Any) -> Any:
    """Make every text within a JSON value one that both databases store."""
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, dict):
        return {storable(str(key)): storable_json(part) for key, part in value.items()}
    return [storable_json(part) for part in value] if isinstance(value, list) else value
