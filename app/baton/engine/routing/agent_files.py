"""Read agent files: Claude Code's markdown with front matter, and YAML with activation triggers.

Front matter that is no valid YAML, as a description with a colon makes it, is read line by line.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from baton.engine.routing.candidates import Agent
from baton.engine.routing.triggers import is_expression
from baton.engine.text import yaml_lines

LARGEST = 400_000
"""Characters of one file."""
_FRONT = re.compile(r"\A\s*---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)(.*)\Z", re.DOTALL)
_KEY = re.compile(r"([a-z][\w-]*):(?:[ \t]+(.*))?$")
_SPEAKERS = frozenset({"assistant", "commentary", "context", "human", "user"})
"""Words before a colon that begin a line of an example, and are no keys."""
_BLOCK = re.compile(r"[|>][-+]?$")
_DEEPEST = 4
_TRIGGERS = ("triggers", "activation_triggers", "activation_patterns", "keywords")
_BODIES = ("body", "prompt", "instructions", "system_prompt")


class AgentFileError(Exception):
    """A file without an agent; the message says why."""


def read(path: str, text: str) -> Agent:
    """Read one agent file; the ending of its name says which kind it is.

    Raises:
        AgentFileError: If it contains no agent.
    """
    if len(text) > LARGEST:
        raise AgentFileError(f"`{path}` has {len(text)} characters; at most {LARGEST} are allowed")
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    text = text.removeprefix("\ufeff")
    if suffix == "md":
        return _markdown(stem, text)
    if suffix in {"yaml", "yml"}:
        return _yaml(stem, text)
    raise AgentFileError(f"`{path}` is not an agent file; allowed: `.md`, `.yaml`, `.yml`")


def _markdown(stem: str, text: str) -> Agent:
    found = _FRONT.match(text)
    if found is None:
        raise AgentFileError("has no front matter; an agent's file begins with `---`, `name: …` and `description: …`")
    return _agent(stem, front_matter(found[1]), found[2].strip())


def front_matter(text: str) -> Mapping[str, Any]:
    """Read a file's front matter, line by line if it is no valid YAML."""
    try:
        data, _ = yaml_lines.parse(text)
        if isinstance(data, dict):
            return data
    except yaml_lines.YamlError:
        pass
    return _line_by_line(text)


def _line_by_line(text: str) -> dict[str, Any]:
    """Read `key: rest of the line`; lines of no key, and those of an example, belong to the key above."""
    found: dict[str, str] = {}
    key, examples = "", 0
    closed = text.count("<example>") == text.count("</example>")
    for line in text.splitlines():
        match = None if examples > 0 and closed else _KEY.match(line)
        if match and match[1] not in _SPEAKERS:
            key = match[1]
            value = (match[2] or "").strip()
            found[key] = "" if _BLOCK.match(value) else value.strip("\"'")
        elif key:
            found[key] = f"{found[key]}\n{line.strip()}".strip()
        examples = max(0, examples + line.count("<example>") - line.count("</example>"))
    return {key: _listed(value) for key, value in found.items()}


def _listed(value: str) -> str | list[str]:
    """Return a list if every line is a list item, otherwise the text."""
    lines = value.split("\n")
    return [line[2:].strip("\"' ") for line in lines] if all(line.startswith("- ") for line in lines) else value


def _yaml(stem: str, text: str) -> Agent:
    try:
        data, _ = yaml_lines.parse(text)
    except yaml_lines.YamlError as error:
        raise AgentFileError(f"line {error.line}: {error.text}") from None
    if not isinstance(data, dict):
        raise AgentFileError("holds no mapping of keys")
    identity = data.get("agent_identity")
    if isinstance(identity, dict):
        data = {**data, **{key: identity[key] for key in ("name", "description") if isinstance(identity.get(key), str)}}
    body = next((data[key] for key in _BODIES if isinstance(data.get(key), str)), "")
    return _agent(stem, data, body)


def _agent(stem: str, data: Mapping[str, Any], body: str) -> Agent:
    name = data.get("name") or data.get("agent_name")
    described = data.get("description") or data.get("agent_purpose") or data.get("agent_description")
    triggers = [text for key in _TRIGGERS for text in _triggers(data.get(key))]
    return Agent(
        name=str(name).strip() if isinstance(name, str | int) else stem,
        description="\n".join(_texts(described)),
        body=body,
        triggers=tuple(dict.fromkeys(triggers)),
        capabilities=tuple(dict.fromkeys(_texts(data.get("capabilities")))),
        examples=tuple(dict.fromkeys(_texts(data.get("examples")))),
    )


def _triggers(value: object) -> Iterator[str]:
    """Return the triggers of a value; a text of several has commas between them."""
    if isinstance(value, str) and not is_expression(value.strip()):
        value = value.strip("[] ").split(",")
    return _texts(value)


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    """Return the texts within lists and mappings, as activation patterns nest them."""
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif depth < _DEEPEST and isinstance(value, list):
        for one in value:
            yield from _texts(one, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for one in value.values():
            yield from _texts(one, depth + 1)
