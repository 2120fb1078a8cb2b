"""Rosters (agents tables): which agents there are, and which model each one runs on."""

import unicodedata
from typing import Annotated, Any, Literal

import msgspec

MODELS = frozenset({"haiku", "sonnet", "opus", "fable"})
"""The only values that a client's agent call accepts."""

_CACHED = 4096
_CACHED_NAME = 200
_TIERS = {"low": "haiku", "high": "opus"}


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Row(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """One agent. `model` is what an agent call gets; a missing one or `inherit` is the roster's `default_model`."""

    model: str = ""
    tier: str = ""
    display_model: str = ""
    cli_model: str = ""
    tools: list[str] = msgspec.field(default_factory=list)
    role: str = ""
    prompt: str = ""
    delegation_target: str = ""
    delegation_call: str = ""
    description: str = ""
    triggers: list[str] = msgspec.field(default_factory=list)


class Roster(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """One file under `policies/agents/`. `namespaces` are stripped for the look-up (`ultrapower:explore`).

    `namespaced_skills` are skills whose bare names are too common to be taken for them. `tiers` tells that the suffixes
    -low, -medium and -high choose another model for an agent.
    """

    id: str
    description: Annotated[str, msgspec.Meta(min_length=1)]
    namespaces: list[str] = msgspec.field(default_factory=list)
    default_model: Literal["haiku", "sonnet", "opus", "fable"] = "sonnet"
    tiers: bool = False
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    skills: list[str] = msgspec.field(default_factory=list)
    namespaced_skills: list[str] = msgspec.field(default_factory=list)
    agents: dict[str, Row | None]


class AgentMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A name found in a roster. `name` is the row's; `model` is None for a skill, which is not an agent."""

    roster: str
    name: str
    row: Row
    model: str | None
    skill: bool = False


class AgentCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that starts a sub-agent."""

    agent: str
    prompt: str
    description: str
    model: str = ""


def agent_call(tool_input: dict[str, Any]) -> AgentCall | None:
    """Read the input of a call that starts an agent; None if it is not one. A model of `""` or null counts as absent."""
    agent, prompt, description = (tool_input.get(key) for key in ("subagent_type", "prompt", "description"))
    if agent is None:
        agent = tool_input.get("agent_type")  # as Copilot CLI names it
    if not (isinstance(agent, str) and isinstance(prompt, str) and isinstance(description, str)):
        return None
    model = tool_input.get("model")
    if model is None or model == "":
        return AgentCall(agent=agent, prompt=prompt, description=description)
    return AgentCall(agent=agent, prompt=prompt, description=description, model=str(model))


class Rosters:
    """The rosters of a policy set in the team's order, with the team's own aliases; the first that knows a name wins."""

    def __init__(self, rosters: dict[str, Roster], order: list[str], aliases: dict[str, str]) -> None:
        self.by_id = rosters
        self.order = tuple(name for name in order if name in rosters)
        self._aliases = aliases
        self._found: dict[str, AgentMatch | None] = {}

    def resolve(self, name: str) -> AgentMatch | None:
        """Return the agent or skill that a call's `subagent_type` names; None if it is unknown."""
        if name in self._found:
            return self._found[name]
        found = resolve(self.by_id, self.order, self._aliases.get(name, name))
        if len(self._found) < _CACHED and len(name) < _CACHED_NAME:
            self._found[name] = found
        return found

    def spawner(self, name: str) -> AgentMatch | None:
        """Return the agent or skill that starts another; case, `_` for `-` and invisible characters make no other one."""
        name = self._aliases.get(name.strip(), name.strip())
        for roster_id in self.order:
            roster = self.by_id[roster_id]
            found = _in_roster(roster, name) or _in_roster(roster, _as_written(roster, name))
            if found:
                return found
        return None

    def alone(self, roster: str) -> "Rosters":
        """Return one of the rosters alone, with the team's aliases."""
        return Rosters(self.by_id, [roster], self._aliases)

    def around(self, agent: str, spawner: str) -> "Rosters":
        """Return the rosters for a start that names none: the team's order, then the others.

        The first that knows both the agent and who starts it leads, so that a rank is judged among its own.
        """
        order = [*self.order, *sorted(self.by_id.keys() - set(self.order))]
        names = [self._aliases.get(name, name) for name in (agent, spawner)]
        knows = [one for one in order if _in_roster(self.by_id[one], names[0])] if spawner else []
        home = next((one for one in knows if _in_roster(self.by_id[one], names[1])), None) or next(
            (one for one in knows if self.alone(one).spawner(spawner)), None
        )
        return Rosters(self.by_id, order if home is None else [home, *order], self._aliases)


def resolve(rosters: dict[str, Roster], order: tuple[str, ...], name: str) -> AgentMatch | None:
    """Return a name's entry in the first roster of the order that has it."""
    for roster_id in order:
        found = _in_roster(rosters[roster_id], name)
        if found:
            return found
    return None


def folded(name: str) -> str:
    """Return a name without the differences that make no other name: case, width, `_` for `-`, what cannot be seen."""
    seen = (one for one in unicodedata.normalize("NFKC", name) if unicodedata.category(one) not in ("Cc", "Cf"))
    return "-".join("".join(seen).casefold().replace("_", " ").replace("-", " ").split())


def _as_written(roster: Roster, name: str) -> str:
    """Return how a roster writes an agent's name, "" for one that it does not have."""
    namespace, colon, rest = folded(name).rpartition(":")
    if colon and namespace not in map(folded, roster.namespaces):
        return ""
    base, dash, tier = rest.rpartition("-")
    for own in (*roster.agents, *roster.aliases):
        if own[:1] == "_":
            continue
        if folded(own) == rest:
            return own
        if roster.tiers and dash and folded(own) == base:
            return f"{own}-{tier}"
    return ""


def _in_roster(roster: Roster, full: str) -> AgentMatch | None:
    namespace, colon, rest = full.partition(":")
    named = bool(colon) and namespace in roster.namespaces
    name = rest if named else full
    name = roster.aliases.get(name, name)
    if name in roster.agents:
        row = roster.agents[name] or Row()
        return AgentMatch(roster=roster.id, name=name, row=row, model=_model(roster, row))
    if name in roster.skills or (named and name in roster.namespaced_skills):
        return AgentMatch(roster=roster.id, name=name, row=Row(), model=None, skill=True)
    base, dash, tier = name.rpartition("-")
    if not (roster.tiers and dash and tier in ("low", "medium", "high")):
        return None
    base = roster.aliases.get(base, base)
    if base not in roster.agents:
        return None
    row = roster.agents[base] or Row()
    return AgentMatch(roster=roster.id, name=base, row=row, model=_TIERS.get(tier) or _model(roster, row))


def _model(roster: Roster, row: Row) -> str:
    return roster.default_model if row.model in ("", "inherit") else row.model
