"""The demonstration's story, read from `story.yaml`; its comments explain the parts."""

from pathlib import Path
from typing import Any

import msgspec


class StoryPerson(msgspec.Struct, frozen=True):
    """A person's team and client."""

    team: str
    client: str


class StoryTeam(msgspec.Struct, frozen=True):
    """A team's lead and project."""

    lead: str
    project: str


class StoryCall(msgspec.Struct, frozen=True):
    """A tool call. `sub` is the calling sub-agent. `obeys` is False for a client ignoring refusals."""

    tool: str
    input: dict[str, Any]
    sub: str = ""
    obeys: bool = True


class StorySession(msgspec.Struct, frozen=True):
    """Who works, what they asked for, and the calls of their agents."""

    person: str
    prompt: str
    calls: tuple[StoryCall, ...]


class Story(msgspec.Struct, frozen=True):
    """The whole story."""

    people: dict[str, StoryPerson]
    teams: dict[str, StoryTeam]
    why: str
    rules: dict[str, str]
    sessions: tuple[StorySession, ...]
    agents: list[dict[str, Any]]
    prompts: tuple[tuple[str, str], ...]
    patterns: tuple[dict[str, Any], ...]
    tasks: dict[str, dict[str, Any]]
    first_wave: dict[str, Any]
    report: tuple[str, str, str]
    workspace: str
    job_with_changes: dict[str, str]
    job_with_question: dict[str, str]
    job_to_confirm: dict[str, str]


STORY = msgspec.yaml.decode(Path(__file__).with_name("story.yaml").read_bytes(), type=Story)
