"""Writes overrides of roster rows into the text of a config.yaml. It leaves every other key, and its comments, alone."""

import re
from typing import Any

import yaml

_KEY = re.compile(r"^overrides\s*:.*\n?(?:(?:[ \t]+.*|[ \t]*#.*|[ \t]*)(?:\n|\Z))*", re.MULTILINE)


def overrides_of(text: str) -> dict[str, dict[str, Any]]:
    """Give the overrides that a config.yaml holds, by `roster/agent`."""
    found = (yaml.safe_load(text) or {}).get("overrides") or {}
    return {str(row): dict(change) for row, change in found.items()}


def with_override(text: str, row: str, change: dict[str, Any] | None) -> str:
    """Set the override of a row, or take it away for None. The block of overrides is written anew, by row."""
    overrides = overrides_of(text)
    overrides.pop(row, None)
    if change is not None:
        overrides[row] = change
    block = yaml.safe_dump({"overrides": overrides}, allow_unicode=True, width=1_000) if overrides else ""
    rest = _KEY.sub("", text, count=1)
    return (rest.rstrip("\n") + "\n\n" if rest.strip() else "") + block
