"""Example prompts that stand in a description, as Claude Code's agent files write them. It judges none of them."""

import re

_EXAMPLE = re.compile(r"<example>(.*?)</example>", re.DOTALL | re.IGNORECASE)
_SAID = re.compile(r"\b(?:user|human)\s*:\s*[\"“'](.+?)[\"”'](?=\s*(?:\n|<|assistant|$))", re.DOTALL | re.IGNORECASE)
_LONGEST = 500
"""Characters of one example."""


def parted(description: str) -> tuple[str, list[str]]:
    """Part a description from the prompts that its examples quote; what else an example says stays in it."""
    said = [match[1][:_LONGEST] for match in _SAID.finditer(description)]
    if not said:
        return description, []
    return _SAID.sub(" ", description), said
