"""Judge whether an agent may be started: metadata, tools, hierarchy, in this order.

The tables are the rows of the rosters. `waves` judges when a task of a graph may start.
"""

from typing import Any, Literal

import msgspec

from baton.engine.agents.plan import Plan, plan, tools_of
from baton.engine.agents.rosters import AgentMatch, Rosters, folded
from baton.engine.call.agent_model import OwnAgent
from baton.engine.text.globs import any_of
from baton.engine.text.yaml_lines import did_you_mean, nearly

METADATA = ("delegation_reason", "expected_outcome", "required_tools")
"""What an orchestrator must state for every agent that it starts."""
ORCHESTRATOR = "orchestrator"
WORKER = "worker"

RefusalCode = Literal[
    "already_spawned",
    "conflict",
    "hierarchy",
    "missing_metadata",
    "parallel_window",
    "tool_not_allowed",
    "unknown_agent",
    "wrong_wave",
]


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """An agent to start, and by whom. `model` stands in for the roster's, `thinking_budget` is in tokens (0: none)."""

    agent_type: str
    prompt: str = ""
    description: str = ""
    spawning_agent: str = ""
    delegation_reason: str = ""
    expected_outcome: str = ""
    required_tools: tuple[str, ...] = ()
    model: str = ""
    thinking_budget: int = 0


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """Why an agent may not be started: a stable code, a text, the fields at fault, what was given and is allowed."""

    code: RefusalCode
    detail: str
    fields: tuple[str, ...] = ()
    given: dict[str, Any] = msgspec.field(default_factory=dict)
    allowed: tuple[str, ...] = ()


def judge(rosters: Rosters, spawn: Spawn, task_id: str, own: OwnAgent | None = None) -> Refusal | Plan:
    """Return the plan of a start, or the refusal, by the rosters given; `own` is the agent's own file, if it is known."""
    found = target(rosters, spawn.agent_type)
    if isinstance(found, Refusal):
        return found
    refusal = _misspelt_spawner(rosters, spawn) or refuse(rosters, spawn, found)
    if refusal is not None:
        return refusal
    return plan(
        rosters.by_id[found.roster],
        found,
        task_id=task_id,
        prompt=spawn.prompt,
        model=spawn.model,
        own=own,
        thinking_budget=spawn.thinking_budget,
        notes=_notes(rosters, spawn.spawning_agent),
    )


def refuse(rosters: Rosters, spawn: Spawn, found: AgentMatch) -> Refusal | None:
    """Return why a known agent may not be started; None if it may."""
    spawner = rosters.spawner(spawn.spawning_agent)
    role = spawner.row.role if spawner else ""
    return (
        (_metadata(spawn) if role == ORCHESTRATOR else None)
        or _tools(spawn, found)
        or (_hierarchy(rosters, spawn, found) if role == WORKER else None)
    )


def target(rosters: Rosters, agent_type: str) -> AgentMatch | Refusal:
    """Return the agent to be started, or a refusal if none of the rosters has it."""
    found = known(rosters, agent_type)
    if found is not None:
        return found
    names = agents(rosters)
    asked = ", ".join(f"`{name}`" for name in rosters.order)
    if _resolved(rosters, agent_type) is not None:
        detail = f"`{agent_type}` is a skill, not an agent; run it in the thread itself"
    else:
        detail = f"agent `{agent_type}` stands in no roster that was asked ({asked}){did_you_mean(agent_type, names)}"
    return Refusal(
        code="unknown_agent",
        detail=detail,
        fields=("agent_type",),
        given={"agent_type": agent_type, "rosters": list(rosters.order)},
        allowed=tuple(names),
    )


def known(rosters: Rosters, agent_type: str) -> AgentMatch | None:
    """Return the agent of that name; None if the rosters have none, or only a skill."""
    found = _resolved(rosters, agent_type)
    return None if found is None or found.skill else found


def agents(rosters: Rosters) -> list[str]:
    """Return the names of the agents that can be started, sorted."""
    return sorted({name for roster in rosters.order for name in rosters.by_id[roster].agents if name[:1] != "_"})


def _resolved(rosters: Rosters, name: str) -> AgentMatch | None:
    return rosters.resolve(name) if name and not name.startswith("_") else None


def _misspelt_spawner(rosters: Rosters, spawn: Spawn) -> Refusal | None:
    """Return a refusal if the spawner is in no roster, and nearly an agent with a rank: a typing error has none."""
    name = spawn.spawning_agent
    everywhere = Rosters(rosters.by_id, list(rosters.by_id), {})
    if not name.strip() or rosters.spawner(name) is not None or everywhere.spawner(name) is not None:
        return None
    rows = [(own, row) for roster in rosters.order for own, row in rosters.by_id[roster].agents.items()]
    ranked = sorted({own for own, row in rows if row and row.role})
    namespace, _, wrong = folded(name).rpartition(":")
    spaces = {folded(one) for roster in rosters.order for one in rosters.by_id[roster].namespaces}
    near = next((own for own in ranked if nearly(wrong, folded(own))), None)
    if near is None or (namespace and not any(nearly(namespace, one) for one in spaces)):
        return None
    return Refusal(
        code="unknown_agent",
        detail=f"spawner `{name}` stands in no roster that was asked; did you mean `{near}`? If it is an agent of"
        " your own, give it a row in the roster",
        fields=("spawning_agent",),
        given={"spawning_agent": name, "rosters": list(rosters.order)},
        allowed=tuple(ranked),
    )


def _metadata(spawn: Spawn) -> Refusal | None:
    given: dict[str, Any] = {
        "delegation_reason": spawn.delegation_reason,
        "expected_outcome": spawn.expected_outcome,
        "required_tools": [tool for tool in spawn.required_tools if _says(tool)],
    }
    missing = tuple(name for name, value in given.items() if not (_says(value) if isinstance(value, str) else value))
    if not missing:
        return None
    named = ", ".join(f"`{name}`" for name in missing)
    return Refusal(
        code="missing_metadata",
        detail=f"orchestrator `{spawn.spawning_agent}` must say why it starts `{spawn.agent_type}`; missing: {named}",
        fields=missing,
        given={"spawning_agent": spawn.spawning_agent} | given,
        allowed=METADATA,
    )


def _says(text: str) -> bool:
    """Return whether a text has a visible character."""
    return any(character.isprintable() and not character.isspace() for character in text)


def _tools(spawn: Spawn, found: AgentMatch) -> Refusal | None:
    allowed = tools_of(found.row)
    if not allowed:
        return None
    match = any_of(allowed)
    outside = [tool for tool in spawn.required_tools if _says(tool) and not match(tool)]
    if not outside:
        return None
    named, has = (", ".join(f"`{tool}`" for tool in tools) for tools in (outside, allowed))
    return Refusal(
        code="tool_not_allowed",
        detail=f"agent `{found.name}` has no {named}; allowed: {has}",
        fields=("required_tools",),
        given={"agent_type": spawn.agent_type, "required_tools": list(spawn.required_tools)},
        allowed=allowed,
    )


def _hierarchy(rosters: Rosters, spawn: Spawn, found: AgentMatch) -> Refusal:
    rows = ((name, row) for roster in rosters.order for name, row in rosters.by_id[roster].agents.items())
    orchestrators = tuple(sorted({name for name, row in rows if row and row.role == ORCHESTRATOR}))
    named = ", ".join(f"`{name}`" for name in orchestrators)
    kind = found.row.role or "agent"
    return Refusal(
        code="hierarchy",
        detail=f"worker `{spawn.spawning_agent}` cannot spawn {kind} `{found.name}`; allowed: {named}",
        fields=("spawning_agent",),
        given={"spawning_agent": spawn.spawning_agent, "agent_type": spawn.agent_type},
        allowed=orchestrators,
    )


def _notes(rosters: Rosters, spawner: str) -> tuple[str, ...]:
    if not spawner.strip() or rosters.spawner(spawner) is not None:
        return ()
    return (f"`{spawner}` stands in no roster that was asked; neither its metadata nor its rank was judged",)
