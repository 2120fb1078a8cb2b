"""Agent files as people keep them: Claude Code's markdown with front matter, and YAML with activation triggers.

It opens no file. Front matter that is no valid YAML, as a description with a colon makes it, is read line by line.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from app.engine import yaml_lines
from app.engine.routing.agents import Agent

LARGEST = 400_000
"""Characters of one file."""
_FRONT = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)\r?\n---[ \t]*(?:\r?\n|\Z)(.*)\Z", re.DOTALL)
_KEY = re.compile(r"([A-Za-z][\w-]*):(?:[ \t]+(.*))?$")
_DEEPEST = 4
_TRIGGERS = ("triggers", "activation_triggers", "activation_patterns", "keywords")
_BODIES = ("body", "prompt", "instructions", "system_prompt")


class AgentFileError(Exception):
    """A file that holds no agent; the text says why."""


class AgentFile(msgspec.Struct, frozen=True, kw_only=True):
    """An agent and what its file says beside it: `model` and `tools` are the client's business."""

    agent: Agent
    model: str = ""
    tools: tuple[str, ...] = ()


def read(path: str, text: str) -> AgentFile:
    """Read one file; the end of its name says which kind it is.

    Raises:
        AgentFileError: it holds no agent.
    """
    if len(text) > LARGEST:
        raise AgentFileError(f"`{path}` has {len(text)} characters; at most {LARGEST} are allowed")
    stem, _, suffix = path.rpartition("/")[2].rpartition(".")
    if suffix == "md":
        return _markdown(stem, text)
    if suffix in {"yaml", "yml"}:
        return _yaml(stem, text)
    raise AgentFileError(f"`{path}` is no agent file; allowed: `.md`, `.yaml`, `.yml`")


def _markdown(stem: str, text: str) -> AgentFile:
    found = _FRONT.match(text)
    if found is None:
        raise AgentFileError("has no front matter; an agent's file begins with `---`, `name: …` and `description: …`")
    return _agent(stem, _front_matter(found[1]), found[2].strip())


def _front_matter(text: str) -> Mapping[str, Any]:
    try:
        data, _ = yaml_lines.parse(text)
        if isinstance(data, dict):
            return data
    except yaml_lines.YamlError:
        pass
    return _line_by_line(text)


def _line_by_line(text: str) -> dict[str, Any]:
    """Read `key: rest of the line`; lines of no key belong to the key above."""
    found: dict[str, Any] = {}
    key = ""
    for line in text.splitlines():
        match = _KEY.match(line)
        if match:
            key = match[1]
            found[key] = (match[2] or "").strip().strip("\"'")
        elif key:
            found[key] = f"{found[key]}\n{line.strip()}".strip()
    return found


def _yaml(stem: str, text: str) -> AgentFile:
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


def _agent(stem: str, data: Mapping[str, Any], body: str) -> AgentFile:
    description = data.get("description") or data.get("agent_purpose") or data.get("agent_description")
    triggers = [text for key in _TRIGGERS for text in _texts(data.get(key))]
    agent = Agent(
        name=str(data.get("name") or data.get("agent_name") or stem).strip(),
        description=description if isinstance(description, str) else "",
        body=body,
        triggers=tuple(dict.fromkeys(triggers)),
        capabilities=tuple(dict.fromkeys(_texts(data.get("capabilities")))),
        examples=tuple(dict.fromkeys(_texts(data.get("examples")))),
    )
    model = data.get("model")
    return AgentFile(agent=agent, model=model if isinstance(model, str) else "", tools=tuple(_tools(data.get("tools"))))


def _tools(value: object) -> list[str]:
    return (
        [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else list(_texts(value))
    )


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    """Give the texts within lists and mappings, as activation patterns nest them."""
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif depth < _DEEPEST and isinstance(value, list):
        for one in value:
            yield from _texts(one, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for one in value.values():
            yield from _texts(one, depth + 1)
