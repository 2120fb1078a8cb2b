"""Find what the files of task runners run: recipes of makefiles and justfiles, scripts of package.json."""

import json
import re

from baton.engine.code.model import Code, Run, variable

MAX_COMMANDS = 256
"""Commands of a file that are listed."""
_CONTINUED = re.compile(r"[ \t]*\\\n[ \t]*")
_RECIPE = re.compile(r"^(?:\t|[^\t#\n=]+::?[^\n;=]*;)[ \t]*[@+-]*[ \t]*(.+)$", re.MULTILINE)
_INDENTED = re.compile(r"^[ \t]+[@-]*(\S.*)$", re.MULTILINE)
_BRACES = re.compile(r"\{\{.*?\}\}")
_ASKED = re.compile(r"\$[({]shell\s+([^\n]*)[)}]|^[\w.]+\s*!=\s*(.+)$", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\$|[({](\w+)[)}]|([\w@<^?*%+]))")


def read_makefile(text: str) -> Code:
    """Read a makefile. What it includes, and what its functions make, cannot be told."""
    text = _CONTINUED.sub(" ", text)
    found = [match[1] for match in _RECIPE.finditer(text)]
    found += [match[1] or match[2] for match in _ASKED.finditer(text)]
    return _code([_VARIABLE.sub(_expanded, command) for command in found])


def read_justfile(text: str) -> Code:
    """Read a justfile: its recipes are the indented lines."""
    found = [match[1] for match in _INDENTED.finditer(_CONTINUED.sub(" ", text))]
    return _code([_BRACES.sub(variable("UNKNOWN"), command) for command in found])


def read_package(text: str) -> Code:
    """Read the scripts of a package.json."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return Code(unread="not valid JSON")
    scripts = data.get("scripts") if isinstance(data, dict) else None
    return _code([one for one in scripts.values() if isinstance(one, str)] if isinstance(scripts, dict) else [])


def _code(commands: list[str]) -> Code:
    runs = dict.fromkeys(Run(script=command) for command in commands[:MAX_COMMANDS])
    return Code(runs=tuple(runs), unread="" if len(commands) <= MAX_COMMANDS else "too many recipes")


def _expanded(match: re.Match[str]) -> str:
    """`$$` is the shell's own dollar. Make takes the variables of its environment for its own."""
    name = match[1] or match[2]
    return "$" if not name else variable(name) if name[0].isalpha() and len(name) > 1 else variable("UNKNOWN")
