"""A client's agents as reported by its shim: names, descriptions and models from agents' files."""

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from hashlib import blake2b
from typing import Any, get_args

import msgspec

from baton.clients.registry import words_of
from baton.kernel.base.errors import Invalid
from baton.lib.router.agents import front_matter
from baton.lib.text.masking import mask
from baton.lib.text.quoting import one_line
from baton.rules.call.call import OwnAgent, Source

MOST_AGENTS = 400
LARGEST = 262_144  # maximum size of a report, in characters. The shim sends at most half of it.
LONGEST_DESCRIPTION = 1_000
_LONGEST_FRONT = 16_384
_HEAD = re.compile(r"= ([a-z]+)(?::([\w.-]{1,100}))? ([^\n]{1,300})")
_NAME = re.compile(r"[^\W_][\w.:@/-]{0,99}")
_MODEL = re.compile(r"[A-Za-z0-9][\w.:/@\[\]-]{0,199}")
_SOURCES = frozenset(get_args(Source))


class Inventory:
    """A client's agents. The first of a name counts, in the client's own order."""

    def __init__(self, agents: list[OwnAgent]) -> None:
        first: dict[str, OwnAgent] = {}
        for agent in agents:
            first.setdefault(agent.name, agent)
        self.agents = tuple(first.values())
        self._by_name = first
        self.digest = blake2b(msgspec.json.encode(self.agents), digest_size=16).hexdigest()  # identifies the content

    def agent(self, name: str) -> OwnAgent | None:
        """Return the agent named by a call. A plugin's agent also matches its bare name, if that is unique."""
        return self._by_name.get(name) or self._bare.get(name)

    @cached_property
    def _bare(self) -> dict[str, OwnAgent | None]:
        found: dict[str, OwnAgent | None] = {}
        for agent in self.agents:
            namespace, _, bare = agent.name.rpartition(":")
            if namespace:
                found[bare] = None if bare in found else agent
        return found


def read(client: str, text: str) -> Inventory:
    """Parse a shim's report: `= SOURCE FILE` per file, then its front matter's lines, each after a space.

    Skip agents without a valid name, disabled ones, and those for the main agent. Raise Invalid for other formats or
    sizes.
    """
    if len(text) > LARGEST:
        raise Invalid("body", f"has {len(text)} characters; at most {LARGEST} are allowed")
    agents: list[OwnAgent] = []
    for source, plugin, file, front in _files(text):
        if len(agents) == MOST_AGENTS:
            break
        agent = _agent(client, source, plugin, file, front_matter(front[:_LONGEST_FRONT]))
        if agent is not None:
            agents.append(agent)
    return Inventory(agents)


def _files(text: str) -> Iterator[tuple[Source, str, str, str]]:
    head: tuple[Source, str, str] | None = None
    lines: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        if line[:1] == " " and head is not None:
            lines.append(line[1:])
            continue
        found = _HEAD.fullmatch(line)
        if found is None or found[1] not in _SOURCES:
            allowed = ", ".join(f"`= {one} FILE`" for one in sorted(_SOURCES))
            raise Invalid("body", f"line {number} is `{line[:80]}`; the first line must be one of {allowed}")
        if head is not None:
            yield *head, "\n".join(lines)
        head, lines = (found[1], found[2] or "", found[3]), []  # type: ignore[assignment]
    if head is not None:
        yield *head, "\n".join(lines)


def _agent(client: str, source: Source, plugin: str, file: str, front: Mapping[str, Any]) -> OwnAgent | None:
    stem = file.rpartition(".")[0] or file
    said = front.get("name")
    by_file = words_of(client).agents_by_file or not isinstance(said, str | int)
    name = stem.removesuffix(".agent") if by_file else str(said).strip()
    if (
        not _NAME.fullmatch(name)
        or str(front.get("mode", "")) == "primary"
        or str(front.get("disable", "")).lower() == "true"
    ):
        return None
    model = str(front.get("model") or "").strip()
    return OwnAgent(
        name=f"{plugin}:{name}" if plugin else name,
        description=one_line(mask(str(front.get("description") or "")), LONGEST_DESCRIPTION),
        model=model if _MODEL.fullmatch(model) else "",
        source=source,
    )
