"""The facts about a client besides its dialect. Each client is a module with `SPEC`, `read` and `render`."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Literal

import msgspec

# Uses of most clients' events, or reasons against them.
START = "modes, project, agents, checksums of the hooks; informs the model of the mode and the person of problems"
PROMPT = "routing, advisories, notices to the person"
CALL = "the decision"
RESULT = "the call's outcome, edited files, ended agents"
FAILURE = "the call's outcome"
SUBAGENT = "agents started without a call"
SUBAGENT_END = "the agent's calls end; a slot for a background agent is free"
TURN_END = "the turn's calls end; informs the person of calls that ran against a decision"
END = "the session's memory is dropped"
EARLIER = "a call is decided earlier, by the event before it"
NOT_PROVEN = "not used: not proven with this client"
TALK = "not used: display only"
MODEL = "not used: no rule concerns requests to a model"


class ClientEvent(msgspec.Struct, frozen=True):
    """One event of a client: its native name, Baton's name ("" if unused), and the reason.

    `can` are the supported parts of the answer (`block`, `ask`, `rewrite`, `context`), None if unproven.
    """

    native: str
    name: str
    why: str
    can: str | None = None

    @property
    def honoured(self) -> list[str]:
        """The supported parts of the answer."""
        return (self.can or "").split()


class Spec(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One client. Its texts are shown in docs/clients.md."""

    name: str  # the name in `/hooks/{client}`
    title: str
    program: str = ""  # its program, if named otherwise than the client
    package: str = ""  # its package at npm
    marks: str = ""  # pattern of the variables that it sets for its children
    version: str = ""  # the version proven with a real server; "" if only by documentation
    events: tuple[ClientEvent, ...]  # all events of the client, including unused ones
    subagents: str = "not proven"  # how its sub-agents are identified
    model: str = "not proven"  # whether a sub-agent's model can be set
    ask: str = "refused with the reason"  # the handling of a question: `asks` if a person can be asked
    notes: tuple[str, ...] = ()

    tools: dict[str, str] = {}  # Baton's names of its tools. Others have the same name.
    task_tool: str  # the display name of the tool that starts a sub-agent
    task_call: tuple[str, Mapping[str, str]]
    """Name and arguments of a call of that tool, with `{agent}`, `{prompt}` and `{name}` (the agent's name as an
    identifier)."""
    agents: Mapping[str, str] = {}  # its own names of agents used by rules
    longest_wait: int = 0  # seconds that a call was seen to wait for its hook; 0 if none was measured
    waiting: str = ""  # what the person and the model see of it, and what follows a wait that is too long
    no_question: str = ""  # the message in place of a question, if it cannot ask
    takes_model: bool = True  # whether it accepts a rule's model when starting a sub-agent
    takes_rewrites: bool = True  # whether it accepts a changed tool input
    advice_after: bool = False  # whether the model gets advice on a call only with the call's result
    notice_at_end: bool = False  # whether the person sees the message in the answer to a turn's end
    starts_at_once: bool = False  # whether the hooks of a session's start and of its first prompt run at once
    agents_by_file: bool = False  # whether an agent is named after its file

    project_file: str  # the file of a project's hooks, relative to the project's folder
    form: Literal["groups", "flat", "own file", "plugin"] = "groups"  # groups like Claude Code's, flat, own file
    off_switch: tuple[str, bool] | None = ("disableAllHooks", True)  # disables all hooks: path and value
    trust: str = ""  # the person's step before a project's hooks run
    takes_comments: bool = False  # whether it accepts comments in a settings file
    in_milliseconds: bool = False  # whether timeouts of its hooks are in milliseconds
    windows_shell: Literal["cmd", "powershell", ""] = ""  # "": Git Bash, or else PowerShell

    @cached_property
    def names(self) -> Mapping[str, str]:
        """Baton's names of used events, by native name and by Baton's own (as in the shim's URL)."""
        used = [one for one in self.events if one.name]
        return {one.native: one.name for one in used} | {one.name: one.name for one in used}

    @cached_property
    def natives(self) -> Mapping[str, str]:
        """The native names of used events, by Baton's name."""
        return {one.name: one.native for one in self.events if one.name}

    @cached_property
    def own_tools(self) -> Mapping[str, str]:
        """The first listed native name of each tool, by Baton's name."""
        return {known: own for own, known in reversed(self.tools.items())}

    @cached_property
    def proven(self) -> Mapping[str, ClientEvent]:
        """The events with proven or documented answers, by Baton's name."""
        return {one.name: one for one in self.events if one.can is not None}

    def placeholders(self, tool: str) -> dict[str, str]:
        """Return the placeholders of every rule's message: the call's tool, and the tool that starts a sub-agent."""
        return {"tool": self.own_tools.get(tool, tool), "task_tool": self.task_tool}

    def takes(self, keys: Iterable[str]) -> bool:
        """Return whether the client accepts changes to these keys of a tool's input."""
        return self.takes_rewrites and (self.takes_model or "model" not in keys)
