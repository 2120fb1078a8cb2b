"""What the input of an MCP tool names. Nobody knows its keys, so its texts tell: paths, and the command of a shell."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

_COMMAND_KEYS = ("command", "cmd", "command_line", "commandLine", "shell_command", "script")
_ARGUMENT_KEYS = ("args", "arguments", "argv")
_MOST_TEXTS = 400
_LONGEST_PATH = 4_096
_STARTS = ("/", "~", ".", "$")


def is_mcp_tool(name: str) -> bool:
    """Return whether a tool is an MCP server's: `mcp__files__write`."""
    return "__" in name


def command_of(tool_input: Mapping[str, Any]) -> str | list[str] | None:
    """Return the command that a tool is to run: a line, a list of arguments, or both; None for another tool."""
    for key in _COMMAND_KEYS:
        command = tool_input.get(key)
        if isinstance(command, str) and command:
            for more in _ARGUMENT_KEYS:
                arguments = tool_input.get(more)
                if isinstance(arguments, list) and all(isinstance(one, str) for one in arguments):
                    return f"{command} {shlex.join(arguments)}"
            return command
        if isinstance(command, list):
            return command
    return None


def named_paths(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """Yield every text of the input, keys of inner objects too, that can be a path. `file:` URLs are decoded."""
    waiting: list[Any] = list(tool_input.values())
    seen = 0
    while waiting and seen < _MOST_TEXTS:
        value = waiting.pop()
        if isinstance(value, str):
            seen += 1
            if (path := _path(value)) is not None:
                yield path
        elif isinstance(value, dict):
            waiting += value.keys()
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value[:_MOST_TEXTS]


def _path(text: str) -> str | None:
    if not text or len(text) > _LONGEST_PATH or "\n" in text:
        return None
    if text.casefold().startswith("file:"):
        return unquote(urlsplit(text).path)
    # A sentence that mentions a path is none; a path with spaces in it begins like one.
    if text.startswith(_STARTS) or text[1:3] in (":\\", ":/") or ("/" in text and not any(map(str.isspace, text))):
        return text
    return None
