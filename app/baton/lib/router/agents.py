"""An agent as routing sees it: its file, its triggers, and a candidate for a prompt."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec
import numpy as np
import re2
from numpy.typing import NDArray

from baton.lib.router.text import stems
from baton.lib.text import yaml_lines

# An agent as routing sees it, and a candidate for a prompt.

Tier = Literal["explicit", "node", "scorer", "model", "none"]
"""What decided: a mention or a trigger, the external node, the scorer, a model, or nothing."""


class Agent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One agent of a roster. `triggers` are words, or regular expressions between slashes."""

    name: str
    description: str = ""
    body: str = ""  # its prompt
    triggers: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """One of the scorer's five best. `score` is a probability from 0 to 1, `why` one line for people."""

    name: str
    score: float
    why: str
    description: str = ""


# Read agent files: Claude Code's markdown with front matter, and YAML with activation triggers.
#
# Invalid YAML front matter, such as a description with a colon, is read line by line.

# Triggers of agents: words required verbatim in a prompt, and regular expressions.
#
# A word is compared by its stem, so `deploy` matches `deploying` and `test` never matches `rest`. Expressions run in linear
# time, whatever a team writes.

LONGEST, MOST = 300, 200  # characters of one trigger, and triggers of one agent, that are read
LARGEST_ALL = 10_000
"""Size of all expressions of a roster, in instructions of RE2: at worst a prompt passes through each of them."""
_WORD, _PHRASE, _EXPRESSION = 0.2, 0.5, 1.0
"""How telling a match is: a single word, several words, an expression that somebody wrote for the purpose."""


class Triggers:
    """All triggers of a roster. A trigger shared by several agents weighs less."""

    def __init__(self, agents: Sequence[Agent]) -> None:
        self._size = len(agents)
        self._phrases: dict[str, dict[tuple[str, ...], set[int]]] = {}
        expressions: dict[str, set[int]] = {}
        for number, agent in enumerate(agents):
            for trigger in agent.triggers[:MOST]:
                text = trigger.strip()[:LONGEST]
                if is_expression(text):
                    expressions.setdefault(text[1:-1], set()).add(number)
                elif phrase := tuple(stems(text)):
                    self._phrases.setdefault(phrase[0], {}).setdefault(phrase, set()).add(number)
        options = re2.Options()
        options.case_sensitive = False
        options.log_errors = False
        self._expressions = [
            (compiled, owners) for text, owners in expressions.items() if (compiled := _compiled(text, options))
        ]

    def score(self, prompt: str, prompt_stems: Sequence[str]) -> NDArray[np.float32]:
        """Return each agent's most telling match, from 0 to 1."""
        found = np.zeros(self._size, dtype=np.float32)
        if not (self._phrases or self._expressions):
            return found
        for at, stem in enumerate(prompt_stems):
            for phrase, owners in self._phrases.get(stem, {}).items():
                if tuple(prompt_stems[at : at + len(phrase)]) == phrase:
                    _raise(found, owners, _WORD if len(phrase) == 1 else _PHRASE)
        for expression, owners in self._expressions:
            if expression.search(prompt):
                _raise(found, owners, _EXPRESSION)
        return found


def is_expression(trigger: str) -> bool:
    """Return whether a trigger is a regular expression: one between slashes."""
    return len(trigger) > 2 and trigger.startswith("/") and trigger.endswith("/")  # noqa: PLR2004


class TriggerError(ValueError):
    """A trigger is no usable expression; the message says why."""


def size(trigger: str) -> int:
    """Return the size of a trigger's expression in instructions of RE2; 0 for words.

    Raises:
        TriggerError: If it is invalid, or too long.
    """
    text = trigger.strip()
    if not is_expression(text):
        return 0
    if len(text) > LONGEST:
        raise TriggerError(f"has {len(text)} characters; an expression may have {LONGEST}")
    options = re2.Options()
    options.log_errors = False
    try:
        return int(re2.compile(text[1:-1], options).programsize)
    except re2.error as error:
        raise TriggerError(f"is not a regular expression: {error.args[0].decode(errors='replace')}") from None


def problem(trigger: str) -> str:
    """Return the error in a trigger; "" for none."""
    try:
        size(trigger)
    except TriggerError as error:
        return str(error)
    return ""


def _compiled(text: str, options: object) -> re2._Regexp | None:
    try:
        return re2.compile(text, options)
    except re2.error:
        return None


def _raise(found: NDArray[np.float32], owners: set[int], telling: float) -> None:
    for number in owners:
        found[number] = max(found[number], telling / len(owners))


LARGEST = 400_000  # characters of one file
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
    """Read one agent file, by the kind its file extension names.

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
    """Read `key: rest of the line`. Lines without a key, and those of an example, belong to the key above."""
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
    """Return the triggers of a value; a string of several is separated by commas."""
    if isinstance(value, str) and not is_expression(value.strip()):
        value = value.strip("[] ").split(",")
    return _texts(value)


def _texts(value: object, depth: int = 0) -> Iterator[str]:
    """Return the strings within lists and mappings, as activation patterns nest them."""
    if isinstance(value, str):
        if value.strip():
            yield value.strip()
    elif depth < _DEEPEST and isinstance(value, list):
        for one in value:
            yield from _texts(one, depth + 1)
    elif depth < _DEEPEST and isinstance(value, dict):
        for one in value.values():
            yield from _texts(one, depth + 1)
