"""Shell lines in files: those run by a client while it loads a skill or a command, and git's settings.

A client runs
`` !`line` `` before a model reads the file. Claude Code: after white space, and in blocks that begin with "```!". opencode: `` !`line` `` anywhere. TOML and Qwen Code: `!{line}`.
A string that ends within a line may be a part of a file, so its rest counts as the line.
"""

import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator
from typing import Any

from baton.lib.text.patches import is_git_settings, settings_of

_FILE = re.compile(
    r"(?:^|[/\\])(?:skill\.md|(?:skills?|commands?)[/\\].*\.(?:md|toml))\s*\Z", re.IGNORECASE | re.DOTALL
)
_BLOCK = re.compile(r"```!\s*(.*?)(?:```|\Z)", re.DOTALL)
_LINE = re.compile(r"(?<![^\s\ufeff])!`([^`]+)")
_LINE_ANYWHERE = re.compile(r"!`([^`]+)")
_CODE = re.compile(r"`[^`\n]+`")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\"\\]))")
_PATCH = ("*** Begin Patch", "--- ", "diff --git ")
_BRACES = re.compile(r"[{}]")
_MOST_TEXTS = 1_000


def is_prompt_file(path: str) -> bool:
    """Return whether a path names a skill or a command, by file name and folders."""
    return path[-4:].rstrip()[-3:].lower() in (".md", "oml") and _FILE.search(path) is not None


def held_lines(paths: Iterable[str], tool_input: Any, *, anywhere: bool = False) -> str | None:
    """Return the shell lines that a call writes into skills, commands and git's settings as one string, or None."""
    paths = list(paths)
    named = [path for path in paths if is_prompt_file(path)]
    found = (
        [line for text in written(tool_input) for line in shell_lines(named, text, anywhere=anywhere)] if named else []
    )
    if any(map(is_git_settings, paths)):
        settings = (one for text in written(tool_input) for one in settings_of(text))
        found += [shlex.join(("git", "config", *one)) for one in settings]
    return "\n".join(found) or None


def shell_lines(paths: Iterable[str], text: str, *, anywhere: bool = False) -> list[str]:
    """Return the lines run by a client when it loads a file; the paths identify the client.

    With `anywhere`, a line needs no white space before it: in shell code, a quote may precede it.
    """
    names = "\n".join(paths).lower()
    found = [block.strip() for block in _BLOCK.findall(text)]
    if "!`" in text:
        found += (
            _LINE_ANYWHERE.findall(text) if anywhere or "opencode" in names else _LINE.findall(_CODE.sub(_blank, text))
        )
    if ".toml" in names or ".qwen" in names:
        found += [line for one in _texts_of_toml(text) for line in _in_braces(one)]
    return [line for line in found if line.strip()]


def _blank(code: re.Match[str]) -> str:
    """Blank out code without lines for Claude Code, by its own rule."""
    at, found = code.start(), code[0]
    return found if at and code.string[at - 1] in "!`" else f"`{' ' * (len(found) - 2)}`"


def _in_braces(text: str) -> Iterator[str]:
    at = text.find("!{")
    while at >= 0:
        depth, end = 0, len(text)
        for brace in _BRACES.finditer(text, at + 1):
            depth += 1 if brace[0] == "{" else -1
            if not depth:
                end = brace.start()
                break
        yield text[at + 2 : end]
        at = text.find("!{", end)


def _texts_of_toml(text: str) -> list[str]:
    try:
        return [one for one in _strings(tomllib.loads(text)) if "!{" in one]
    except (tomllib.TOMLDecodeError, RecursionError):  # invalid TOML, or a part of it
        return [_ESCAPE.sub(lambda found: found[3] or chr(min(int(found[1] or found[2], 16), 0x10FFFF)), text)]


def written(tool_input: Any) -> Iterator[str]:
    """Yield the strings of an input, without the removed lines of an edit."""
    for text in _strings(tool_input):
        if text.lstrip().startswith(_PATCH) or _PATCH[0] in text:
            kept = (line for line in text.split("\n") if not line.startswith("-"))
            yield "\n".join([line[1:] if line[:1] in ("+", " ") else line for line in kept])
        else:
            yield text


def _strings(value: Any) -> Iterator[str]:
    waiting = [value]
    for _ in range(_MOST_TEXTS):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            waiting += [one for key, one in value.items() if not str(key).lower().startswith("old")]
        elif isinstance(value, list):
            waiting += value
