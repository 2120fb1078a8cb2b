"""Judge whether an agent may be started: metadata, tools, hierarchy, in this order.

The tables are the rosters' rows. `waves` judges the start time of a graph's task.
"""

import re
from typing import Any, Literal

import msgspec

from baton.lib.text.globs import any_of
from baton.lib.text.yaml_lines import did_you_mean, nearly
from baton.rules.agents.plan import Plan, plan, tools_of
from baton.rules.agents.rosters import AgentCall, RosterMatch, Rosters, folded
from baton.rules.call.call import OwnAgent

METADATA = ("delegation_reason", "expected_outcome", "required_tools")
"""Required statements of an orchestrator for every agent it starts."""
ORCHESTRATOR = "orchestrator"
WORKER = "worker"

RefusalCode = Literal[
    "already_spawned", "conflict", "hierarchy", "missing_metadata", "parallel_window", "tool_not_allowed",
    "unknown_agent", "wrong_wave",
]  # fmt: skip


class Spawn(msgspec.Struct, frozen=True, kw_only=True):
    """An agent to start, and its spawner. `model` overrides the roster's, `thinking_budget` is in tokens (0: none)."""

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
    """A refused start: a stable code, a message, the fields at fault, the given and allowed values."""

    code: RefusalCode
    detail: str
    fields: tuple[str, ...] = ()
    given: dict[str, Any] = msgspec.field(default_factory=dict)
    allowed: tuple[str, ...] = ()


def judge(rosters: Rosters, spawn: Spawn, task_id: str, own: OwnAgent | None = None) -> Refusal | Plan:
    """Return the plan of a start, or the refusal; `own` is the agent's own file, if known."""
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


def refuse(rosters: Rosters, spawn: Spawn, found: RosterMatch) -> Refusal | None:
    """Return the refusal for a known agent, or None."""
    spawner = rosters.spawner(spawn.spawning_agent)
    role = spawner.row.role if spawner else ""
    return (
        (_metadata(spawn) if role == ORCHESTRATOR else None)
        or _tools(spawn, found)
        or (_hierarchy(rosters, spawn, found) if role == WORKER else None)
    )


def target(rosters: Rosters, agent_type: str) -> RosterMatch | Refusal:
    """Return the agent to start, or a refusal if no roster has it."""
    found = known(rosters, agent_type)
    if found is not None:
        return found
    names = agents(rosters)
    asked = ", ".join(f"`{name}`" for name in rosters.order)
    if _resolved(rosters, agent_type) is not None:
        detail = f"`{agent_type}` is a skill, not an agent; run it in the thread itself"
    else:
        detail = f"agent `{agent_type}` is in none of the rosters searched ({asked}){did_you_mean(agent_type, names)}"
    return Refusal(
        code="unknown_agent",
        detail=detail,
        fields=("agent_type",),
        given={"agent_type": agent_type, "rosters": list(rosters.order)},
        allowed=tuple(names),
    )


def known(rosters: Rosters, agent_type: str) -> RosterMatch | None:
    """Return the agent of a name; None if unknown, or only a skill."""
    found = _resolved(rosters, agent_type)
    return None if found is None or found.skill else found


def agents(rosters: Rosters) -> list[str]:
    """Return the names of the startable agents, sorted."""
    return sorted({name for roster in rosters.order for name in rosters.by_id[roster].agents if name[:1] != "_"})


def _resolved(rosters: Rosters, name: str) -> RosterMatch | None:
    return rosters.resolve(name) if name and not name.startswith("_") else None


def _misspelt_spawner(rosters: Rosters, spawn: Spawn) -> Refusal | None:
    """Refuse a spawner in no roster whose name is nearly a ranked agent's: a misspelling has no rank."""
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
        detail=f"spawner `{name}` is in none of the rosters searched; did you mean `{near}`? If it is an agent of"
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
    return any(character.isprintable() and not character.isspace() for character in text)


def _tools(spawn: Spawn, found: RosterMatch) -> Refusal | None:
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


def _hierarchy(rosters: Rosters, spawn: Spawn, found: RosterMatch) -> Refusal:
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
    return (f"`{spawner}` is in none of the rosters searched; neither its metadata nor its rank was judged",)


# Read a client's agent call as a spawn, with its stated purpose. No client's agent tool has fields for a purpose. So it
# may be in the prompt, each part on its own line (`Expected outcome: a list of files`), or in the input under the names
# of `/spawn`.

_LOOKED_AT = 20_000  # characters at the start of a prompt that are searched for a purpose
_SAID = re.compile(
    r"^[ \t>*#-]{0,8}(delegation[ _]reason|expected[ _]outcome|required[ _]tools)[*]{0,2}:[*]{0,2}[ \t]*(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)


def spawn_of(call: AgentCall, tool_input: dict[str, Any], spawning_agent: str) -> Spawn:
    """Read an agent call; `spawning_agent` is the type of the calling agent, or ""."""
    said: dict[str, Any] = {}
    for name, text in _SAID.findall(call.prompt[:_LOOKED_AT]):
        said.setdefault(name.lower().replace(" ", "_"), text.strip())
    said |= {name: tool_input[name] for name in METADATA if name in tool_input}
    return Spawn(
        agent_type=call.agent,
        prompt=call.prompt,
        description=call.description,
        spawning_agent=spawning_agent,
        delegation_reason=_text(said.get("delegation_reason")),
        expected_outcome=_text(said.get("expected_outcome")),
        required_tools=_list(said.get("required_tools")),
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _list(value: object) -> tuple[str, ...]:
    if isinstance(value, str):
        return tuple(word.strip("`'\"[]. ") for word in value.split(",") if word.strip("`'\"[]. "))
    return tuple(one for one in value if isinstance(one, str)) if isinstance(value, list) else ()
