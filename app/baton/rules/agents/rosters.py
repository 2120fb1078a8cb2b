"""Rosters (agents tables): the known agents, and the model of each one."""

import re
import unicodedata
from typing import Annotated, Any, Literal

import msgspec

from baton.rules.call.call import MODELS

DEFAULT_AGENTS = {"claude-code": "general-purpose", "api": "general-purpose"}
"""The agent of a call without a type, by client; other clients require the type."""
INHERIT = "inherit"  # in an agent's own file: the caller's model. In a row: the roster's default.
LEAVE_ALONE = "leave-alone"  # in a row, or as a roster's default: the client's call stays unchanged
DEFAULT = "_default"  # the row with defaults for an agent without a display model

RowStep = Literal["team-row", "shipped-roster", "default"]

_FAMILY = re.compile(r"(?<![a-z])(haiku|sonnet|opus|fable)(?![a-z])")
_CACHED = 4096
_CACHED_NAME = 200
_TIERS = {"low": "haiku", "high": "opus"}


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Row(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """One agent. `model` is the model for an agent call: an alias, a full id, or `leave-alone`.

    If missing or `inherit`, it is `cli_model`, else the roster's `default_model`; a row with only a `display_model`
    leaves the call unchanged.
    """

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
    """One file under `policies/agents/`. `namespaces` are stripped for the search (`ultrapower:explore`).

    `namespaced_skills` are skills with too common bare names. `tiers`: the suffixes -low, -medium and -high choose
    another model for an agent.
    """

    id: str
    description: Annotated[str, msgspec.Meta(min_length=1)]
    namespaces: list[str] = msgspec.field(default_factory=list)
    default_model: Literal["haiku", "sonnet", "opus", "fable", "leave-alone"] = "sonnet"
    tiers: bool = False
    aliases: dict[str, str] = msgspec.field(default_factory=dict)
    skills: list[str] = msgspec.field(default_factory=list)
    namespaced_skills: list[str] = msgspec.field(default_factory=list)
    agents: dict[str, Row | None]


class RosterMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A name found in a roster. `name` is the row's.

    `model` is for an agent call: "" leaves it unchanged, None marks a skill, which is not an agent. `full` is the row's
    own spelling of the model, `step` its source.
    """

    roster: str
    name: str
    row: Row
    model: str | None
    full: str = ""
    step: RowStep = "shipped-roster"
    skill: bool = False


class AgentCall(msgspec.Struct, frozen=True, kw_only=True):
    """A call that starts a sub-agent."""

    agent: str
    prompt: str
    description: str
    model: str = ""
    own_model: str = ""  # the model in the agent's own file, or ""


def agent_name(tool_input: dict[str, Any], client: str) -> str | None:
    """Return the agent in a call's input, else the client's default agent; None for another tool's input."""
    agent = tool_input.get("subagent_type")
    if agent is None:
        agent = tool_input.get("agent_type")  # for Copilot CLI
    if agent is None and tool_input.get("description") is None:
        agent = tool_input.get("agent_name")  # for clients without a description
    if not agent and isinstance(agent, str | None) and {"prompt", "description"} <= tool_input.keys():
        agent = DEFAULT_AGENTS.get(client)
    return agent if isinstance(agent, str) else None


def agent_call(tool_input: dict[str, Any], client: str) -> AgentCall | None:
    """Read the input of a call starting an agent, or None. A model of `""` or null counts as absent."""
    agent, prompt, description = agent_name(tool_input, client), tool_input.get("prompt"), tool_input.get("description")
    if description is None and tool_input.get("subagent_type") is None and tool_input.get("agent_type") is None:
        description = ""
    if agent is None or not (isinstance(prompt, str) and isinstance(description, str)):
        return None
    model = tool_input.get("model")
    if model is None or model == "":
        return AgentCall(agent=agent, prompt=prompt, description=description)
    return AgentCall(agent=agent, prompt=prompt, description=description, model=str(model))


def family(model: str) -> str:
    """Return a model's alias for a client's call, from any provider's id; "" if there is none.

    `us.anthropic.claude-haiku-4-5-20251001-v1:0` (Bedrock), `claude-opus-4-1@20250805` (Vertex),
    `anthropic/claude-sonnet-4.5` and `sonnet[1m]` have one; an ARN without the model's name has none.
    """
    name = model.strip().lower().removesuffix("[1m]")
    if name in MODELS:
        return name
    found = _FAMILY.search(name) if "claude" in name else None
    return found[1] if found else ""


class Rosters:
    """The rosters of a policy set, with the team's own aliases; the first with a name wins.

    `own` are the rosters from the team's layers, `changed` the rows with a model overridden by a layer, as
    `roster/agent`.
    """

    def __init__(
        self,
        rosters: dict[str, Roster],
        order: list[str],
        aliases: dict[str, str],
        *,
        own: frozenset[str] = frozenset(),
        changed: frozenset[str] = frozenset(),
    ) -> None:
        self.by_id = rosters
        self.order = tuple(name for name in order if name in rosters)
        self.own = own
        self._changed = changed
        self._aliases = aliases
        self._found: dict[str, RosterMatch | None] = {}

    def resolve(self, name: str) -> RosterMatch | None:
        """Return the agent or skill of a call's `subagent_type`; None if unknown."""
        if name in self._found:
            return self._found[name]
        found = resolve(self.by_id, self.order, self._aliases.get(name, name))
        if (
            found is not None
            and not found.skill
            and (found.roster in self.own or f"{found.roster}/{found.name}" in self._changed)
        ):
            step: RowStep = "default" if found.step == "default" else "team-row"
            found = msgspec.structs.replace(found, step=step)
        if len(self._found) < _CACHED and len(name) < _CACHED_NAME:
            self._found[name] = found
        return found

    def spawner(self, name: str) -> RosterMatch | None:
        """Return the agent or skill starting another; case, `_` for `-` and invisible characters are ignored."""
        name = self._aliases.get(name.strip(), name.strip())
        for roster_id in self.order:
            roster = self.by_id[roster_id]
            found = _in_roster(roster, name) or _in_roster(roster, _as_written(roster, name))
            if found:
                return found
        return None

    def alone(self, roster: str) -> "Rosters":
        """Return one of the rosters alone, with the team's aliases."""
        return self._with([roster])

    def around(self, agent: str, spawner: str) -> "Rosters":
        """Return the rosters for a start without a named roster: the team's order, then the others.

        The first roster with both the agent and its spawner leads, so a rank is judged within its own roster.
        """
        order = [*self.order, *sorted(self.by_id.keys() - set(self.order))]
        names = [self._aliases.get(name, name) for name in (agent, spawner)]
        knows = [one for one in order if _in_roster(self.by_id[one], names[0])] if spawner else []
        home = next((one for one in knows if _in_roster(self.by_id[one], names[1])), None) or next(
            (one for one in knows if self.alone(one).spawner(spawner)), None
        )
        return self._with(order if home is None else [home, *order])

    def _with(self, order: list[str]) -> "Rosters":
        return Rosters(self.by_id, order, self._aliases, own=self.own, changed=self._changed)


def resolve(rosters: dict[str, Roster], order: tuple[str, ...], name: str) -> RosterMatch | None:
    """Return a name's entry in the first roster with it."""
    for roster_id in order:
        found = _in_roster(rosters[roster_id], name)
        if found:
            return found
    return None


def folded(name: str) -> str:
    """Normalize a name: fold case and width, map `_` to `-`, drop invisible characters."""
    seen = (one for one in unicodedata.normalize("NFKC", name) if unicodedata.category(one) not in ("Cc", "Cf"))
    return "-".join("".join(seen).casefold().replace("_", " ").replace("-", " ").split())


def _as_written(roster: Roster, name: str) -> str:
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


def filled(roster: Roster, row: Row) -> Row:
    """Complete a row without a display model from the row `_default`, if the roster has one."""
    default = roster.agents.get(DEFAULT)
    if row.display_model or default is None:
        return row
    return msgspec.structs.replace(
        row,
        model=row.model or default.model,
        display_model=default.display_model,
        tier=row.tier or default.tier,
        cli_model=row.cli_model or default.cli_model,
    )


def _in_roster(roster: Roster, full: str) -> RosterMatch | None:
    namespace, colon, rest = full.partition(":")
    named = bool(colon) and namespace in roster.namespaces
    name = rest if named else full
    name = roster.aliases.get(name, name)
    if name in roster.agents:
        return _match(roster, name)
    if name in roster.skills or (named and name in roster.namespaced_skills):
        return RosterMatch(roster=roster.id, name=name, row=Row(), model=None, skill=True)
    base, dash, tier = name.rpartition("-")
    if not (roster.tiers and dash and tier in ("low", "medium", "high")):
        return None
    base = roster.aliases.get(base, base)
    return _match(roster, base, _TIERS.get(tier, "")) if base in roster.agents else None


def _match(roster: Roster, name: str, tier_model: str = "") -> RosterMatch:
    row = roster.agents[name] or Row()
    whole = filled(roster, row)
    said = tier_model or ("" if whole.model == INHERIT else whole.model) or whole.cli_model
    # A row with a display model but no model runs on the client's own: a wrapper for another model's work.
    full = said or (LEAVE_ALONE if whole.display_model else roster.default_model)
    return RosterMatch(
        roster=roster.id,
        name=name,
        row=row,
        model="" if full == LEAVE_ALONE else family(full),
        full=full,
        step="shipped-roster" if said or whole.display_model else "default",
    )
