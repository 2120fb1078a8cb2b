"""Bounds the content of a tool call before it waits in memory: it may be megabytes, of which little is sent."""

from typing import Any

from baton.engine.text.masking import cut_at_word

MOST_PARTS = 2_000
"""Values of a content that are looked at; what stands behind them is left out."""


def bounded(value: Any, characters: int) -> tuple[Any, int]:
    """Return a JSON value with at most about so many characters of texts, and how many it has."""
    left = [characters, MOST_PARTS]
    return _bounded(value, left), characters - max(0, left[0])


def _bounded(value: Any, left: list[int]) -> Any:
    left[1] -= 1
    if isinstance(value, str):
        # Between two words: half a secret could no longer be told from other text.
        text = cut_at_word(value, max(0, left[0])) if len(value) > left[0] else value
        left[0] -= len(value)
        return text
    if isinstance(value, dict):
        found: dict[Any, Any] = {}
        for key, part in value.items():
            if left[0] <= 0 or left[1] <= 0:
                break
            left[0] -= len(key)
            found[key] = _bounded(part, left)
        return found
    if isinstance(value, list):
        parts = []
        for part in value:
            if left[0] <= 0 or left[1] <= 0:
                break
            parts.append(_bounded(part, left))
        return parts
    left[0] -= 8
    return value
