"""Find what a makefile runs: its recipes, and what its variables ask a shell for."""

import re

from baton.engine.code.model import Code, Run, variable

MAX_COMMANDS = 256
"""Commands of a makefile that are listed."""
_CONTINUED = re.compile(r"[ \t]*\\\n[ \t]*")
_RECIPE = re.compile(r"^(?:\t|[^\t#\n=]+::?[^\n;=]*;)[ \t]*[@+-]*[ \t]*(.+)$", re.MULTILINE)
_ASKED = re.compile(r"\$[({]shell\s+([^\n]*)[)}]|^[\w.]+\s*!=\s*(.+)$", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\$|[({](\w+)[)}]|([\w@<^?*%+]))")


def read(text: str) -> Code:
    """Read a makefile. What it includes, and what its functions make, cannot be told."""
    text = _CONTINUED.sub(" ", text)
    found = [match[1] for match in _RECIPE.finditer(text)]
    found += [match[1] or match[2] for match in _ASKED.finditer(text)]
    runs = dict.fromkeys(Run(script=_VARIABLE.sub(_expanded, command)) for command in found[:MAX_COMMANDS])
    return Code(runs=tuple(runs), unread="" if len(found) <= MAX_COMMANDS else "too many recipes")


def _expanded(match: re.Match[str]) -> str:
    """`$$` is the shell's own dollar. Make takes the variables of its environment for its own."""
    name = match[1] or match[2]
    return "$" if not name else variable(name) if name[0].isalpha() and len(name) > 1 else variable("UNKNOWN")
