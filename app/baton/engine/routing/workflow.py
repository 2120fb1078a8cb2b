"""Whether a prompt asks for automated work of several steps or agents. It chooses no agent."""

import re

LONGEST = 20_000
"""Characters of a prompt that are looked at."""
_PATTERNS = tuple(
    (kind, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE))
    for kind, pattern in (
        ("parallel", r"parallel (?:execution|agents?|tasks?)"),
        ("multi-agent", r"multi[- ]?agent"),
        ("orchestrate", r"orchestrat(?:e|ion)"),
        ("workflow", r"workflow"),
        ("batch", r"(?:run|execute) (?:all|multiple)"),
        ("automate", r"auto(?:mate|matic|mation|nomous)"),
        ("coordinate", r"coordinat(?:e|ion)"),
        ("dispatch", r"dispatch"),
    )
)


def detect(prompt: str) -> str:
    """Name the kind of workflow that a prompt asks for, "" for none."""
    text = prompt[:LONGEST]
    return next((kind for kind, pattern in _PATTERNS if pattern.search(text)), "")
