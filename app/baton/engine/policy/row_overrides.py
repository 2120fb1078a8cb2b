"""Edit the overrides of roster rows in the text of a config.yaml; other keys and comments stay as they are."""

import re
from typing import Any

import yaml

_KEY = re.compile(r"^overrides\s*:.*\n?(?:(?:[ \t]+.*|[ \t]*#.*|[ \t]*)(?:\n|\Z))*", re.MULTILINE)


def overrides_of(text: str) -> dict[str, dict[str, Any]]:
    """Return the overrides in a config.yaml, keyed by `roster/agent`."""
    found = (yaml.safe_load(text) or {}).get("overrides") or {}
    return {str(row): dict(change) for row, change in found.items()}


def with_override(text: str, row: str, change: dict[str, Any] | None) -> str:
    """Return the text with the override of a row set, or removed for None. The `overrides` block is written anew."""
    overrides = overrides_of(text)
    overrides.pop(row, None)
    if change is not None:
        overrides[row] = change
    block = yaml.safe_dump({"overrides": overrides}, allow_unicode=True, width=1_000) if overrides else ""
    rest = _KEY.sub("", text, count=1)
    return (rest.rstrip("\n") + "\n\n" if rest.strip() else "") + block
