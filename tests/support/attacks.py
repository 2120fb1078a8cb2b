"""Reads the attack lists of `tests/attacks`."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parents[1] / "attacks"


@cache
def entries(part: str) -> list[dict[str, Any]]:
    """Return every entry of a file, as it stands there."""
    # The loader in C: in Python these files take half a second, in each worker of the tests.
    found: list[dict[str, Any]] = yaml.load((FOLDER / f"{part}.yaml").read_text(), yaml.CSafeLoader)
    return found


@cache
def _all(part: str) -> list[dict[str, Any]]:
    return [written(one) for one in entries(part)]


def attacks(part: str, kind: str) -> list[dict[str, Any]]:
    """Return the attacks of a file whose class is `part/kind`."""
    return [one for one in _all(part) if one["class"] == f"{part}/{kind}"]


def written(value: Any) -> Any:
    """Write out `{repeat: text, times: n}`."""
    if isinstance(value, dict):
        if value.keys() == {"repeat", "times"}:
            return value["repeat"] * value["times"]
        return {key: written(one) for key, one in value.items()}
    return [written(one) for one in value] if isinstance(value, list) else value
