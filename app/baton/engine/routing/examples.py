"""Example prompts that stand in a description, as Claude Code's agent files write them. It judges none of them."""

import re

_EXAMPLE = re.compile(r"<example>(.*?)</example>", re.DOTALL | re.IGNORECASE)
_SAID = re.compile(r"\b(?:user|human)\s*:\s*[\"“'](.+?)[\"”'](?=\s*(?:\n|<|assistant|$))", re.DOTALL | re.IGNORECASE)
_LONGEST = 500
"""Characters of one example."""
_SHORTEST = 40
"""Characters that a description must have without its examples to stand for itself."""


def parted(description: str) -> tuple[str, list[str]]:
    """Part a description from the prompts that its examples quote; what else an example says stays in it."""
    said = [match[1][:_LONGEST] for match in _SAID.finditer(description)]
    if not said:
        return description, []
    return _SAID.sub(" ", description), said


def gist(description: str) -> str:
    """Give a description without its examples, for what it is about as a whole; all of it where little is left."""
    without = _EXAMPLE.sub(" ", description)
    return without if len(without.strip()) >= _SHORTEST else description
