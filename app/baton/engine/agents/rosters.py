"""Rosters (agents tables): which agents there are, and which model each one runs on."""

import re
import unicodedata
from typing import Annotated, Any, Literal

import msgspec

MODELS = frozenset({"haiku", "sonnet", "opus", "fable"})
"""The only values that a client's agent call accepts."""
INHERIT = "inherit"
"""In an agent's own file: the caller's model. In a row: the roster's default."""
LEAVE_ALONE = "leave-alone"
"""In a row, or as a roster's default: the client's call stays as it is."""
DEFAULT = "_default"
"""The row that fills what an agent without a display model leaves out."""

RowStep = Literal["team-row", "shipped-roster", "default"]
"""Whose word the model of a row is."""

_FAMILY = re.compile(r"(?<![a-z])(haiku|sonnet|opus|fable)(?![a-z])")
_CACHED = 4096
_CACHED_NAME = 200
_TIERS = {"low": "haiku", "high": "opus"}


class _Strict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    pass


class Row(_Strict, frozen=True, kw_only=True, omit_defaults=True):
    """One agent. `model` is what an agent call gets: an alias, a full id, or `leave-alone`.

    A missing one or `inherit` is `cli_model`, else the roster's `default_model`; a row with a `display_model` and neither
    of them leaves the call alone.
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
    """One file under `policies/agents/`. `namespaces` are stripped for the look-up (`ultrapower:explore`).

    `namespaced_skills` are skills whose bare names are too common to be taken for them. `tiers` tells that the suffixes
    -low, -medium and -high choose another model for an agent.
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


class AgentMatch(msgspec.Struct, frozen=True, kw_only=True):
    """A name found in a roster. `name` is the row's.

    `model` is what an agent call gets, "" if it is left alone, None for a skill, which is not an agent. `full` is the
    model as the row says it, `step` whose word that is.
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
    own_model: str = ""
    """The model that the agent's own file names, "" if it names none or is not known."""


def agent_name(tool_input: dict[str, Any]) -> str | None:
    """Return which agent the input of a call names; None if it names none."""
    agent = tool_input.get("subagent_type")
    if agent is None:
        agent = tool_input.get("agent_type")  # as Copilot CLI names it
    if agent is None and tool_input.get("description") is None:
        agent = tool_input.get("agent_name")  # as Gemini CLI names it
    return agent if isinstance(agent, str) else None


def agent_call(tool_input: dict[str, Any]) -> AgentCall | None:
    """Read the input of a call that starts an agent; None if it is not one. A model of `""` or null counts as absent."""
    agent, prompt, description = agent_name(tool_input), tool_input.get("prompt"), tool_input.get("description")
    if description is None and tool_input.get("subagent_type") is None and tool_input.get("agent_type") is None:
        description = ""  # Gemini CLI's tool has none
    if agent is None or not (isinstance(prompt, str) and isinstance(description, str)):
        return None
    model = tool_input.get("model")
    if model is None or model == "":
        return AgentCall(agent=agent, prompt=prompt, description=description)
    return AgentCall(agent=agent, prompt=prompt, description=description, model=str(model))


def family(model: str) -> str:
    """Return the alias that a client's call takes for a model, whichever provider's id it is; "" if there is none.

    `us.anthropic.claude-haiku-4-5-20251001-v1:0` (Bedrock), `claude-opus-4-1@20250805` (Vertex),
    `anthropic/claude-sonnet-4.5` and `sonnet[1m]` have one; an ARN that does not name its model has none.
    """
    name = model.strip().lower().removesuffix("[1m]")
    if name in MODELS:
        return name
    found = _FAMILY.search(name) if "claude" in name else None
    return found[1] if found else ""


class Rosters:
    """The rosters of a policy set, with the team's own aliases; the first that knows a name wins.

    `own` are the rosters that the team's layers brought, `changed` the rows whose model a layer overrides, as
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
        self._found: dict[str, AgentMatch | None] = {}

    def resolve(self, name: str) -> AgentMatch | None:
        """Return the agent or skill that a call's `subagent_type` names; None if it is unknown."""
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
        return self._with([roster])

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
        return self._with(order if home is None else [home, *order])

    def _with(self, order: list[str]) -> "Rosters":
        return Rosters(self.by_id, order, self._aliases, own=self.own, changed=self._changed)


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


def filled(roster: Roster, row: Row) -> Row:
    """Complete a row without a display model from the row `_default`, where the roster has one."""
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


def _in_roster(roster: Roster, full: str) -> AgentMatch | None:
    namespace, colon, rest = full.partition(":")
    named = bool(colon) and namespace in roster.namespaces
    name = rest if named else full
    name = roster.aliases.get(name, name)
    if name in roster.agents:
        return _match(roster, name)
    if name in roster.skills or (named and name in roster.namespaced_skills):
        return AgentMatch(roster=roster.id, name=name, row=Row(), model=None, skill=True)
    base, dash, tier = name.rpartition("-")
    if not (roster.tiers and dash and tier in ("low", "medium", "high")):
        return None
    base = roster.aliases.get(base, base)
    return _match(roster, base, _TIERS.get(tier, "")) if base in roster.agents else None


def _match(roster: Roster, name: str, tier_model: str = "") -> AgentMatch:
    row = roster.agents[name] or Row()
    whole = filled(roster, row)
    said = tier_model or ("" if whole.model == INHERIT else whole.model) or whole.cli_model
    # A row that shows a model and names none runs on the client's own: a wrapper, whose work another model does.
    full = said or (LEAVE_ALONE if whole.display_model else roster.default_model)
    return AgentMatch(
        roster=roster.id,
        name=name,
        row=row,
        model="" if full == LEAVE_ALONE else family(full),
        full=full,
        step="shipped-roster" if said or whole.display_model else "default",
    )
