"""The paths in the input of an MCP tool. Nobody knows its keys, so its texts tell; `commands` finds what it runs."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urlsplit

from baton.engine.call.edited_paths import patched
from baton.engine.call.input_texts import input_texts

_LONGEST_PATH = 4_096
_PATCH = "*** Begin Patch"
_STARTS = ("/", "~", ".", "$")


def is_mcp_tool(name: str) -> bool:
    """Return whether a tool is an MCP server's: `mcp__files__write`."""
    return "__" in name


def named_paths(tool_input: Mapping[str, Any]) -> Iterator[str]:
    """Yield every text of the input, keys of inner objects too, that can be a path. `file:` URLs are decoded.

    Of a patch its files are yielded. No more texts are looked at than `input_texts` allows.
    """
    for text in input_texts(tool_input, keys=True):
        if "\n" in text:
            if _PATCH in text or "\n+++ " in text or text.startswith("--- "):
                yield from patched(text)
        elif (path := _path(text)) is not None:
            yield path


def _path(text: str) -> str | None:
    if not text or len(text) > _LONGEST_PATH:
        return None
    if text.casefold().startswith("file:"):
        return unquote(urlsplit(text).path)
    # A sentence that mentions a path is none; a path with spaces in it begins like one.
    if text.startswith(_STARTS) or text[1:3] in (":\\", ":/") or ("/" in text and not any(map(str.isspace, text))):
        return text
    return None
