"""Plan how an agent is started: its models, tier, instructions and command.

A runner carries a plan out, or whoever asked for it does.
"""

from typing import Any

import msgspec

from baton.engine.agents.models import choose
from baton.engine.agents.rosters import AgentMatch, Roster, Row, filled
from baton.engine.call.agent_model import OwnAgent

COLOURS = {"CHEAP": "green", "MEDIUM": "blue", "EXPENSIVE": "purple"}
"""The colour that a cost tier is shown in."""
PROVIDER = "claude_code"
"""Who runs a planned agent; a thin wrapper hands its task on from there."""
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "invoke_gemini": {},
    "invoke_gemini_agentic": {"max_turns": 10},
    "invoke_openai": {"reasoning_effort": "high"},
}
_WRAPPER = {
    "invoke_gemini": "one completion without tools",
    "invoke_gemini_agentic": "a loop of its own with full tool access",
    "invoke_openai": "a reasoning model",
}


class Delegation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a thin wrapper calls: the target's model, the tool, and the tool's fixed arguments."""

    target: str
    call: str = ""
    max_turns: int = 0
    reasoning_effort: str = ""


class Acp(msgspec.Struct, frozen=True, kw_only=True):
    """The session parameters for an agent that is driven over ACP; `model` is "" for the agent's own default."""

    provider: str
    model: str
    mode: str = "default"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """How an agent is started. `argv` takes `stdin`, the prompt, on its standard input, with `env` beside its own.

    `cli_model` is "" where the client's own default holds, and `model_reason` says who decided that; `tools` is empty
    where all are allowed. `notes` say what could not be judged.
    """

    agent: str
    roster: str
    task_id: str
    display_model: str
    cli_model: str
    tier: str
    colour: str
    thinking_budget: int
    tools: tuple[str, ...]
    delegation: Delegation | None
    instruction: str
    system_prompt: str
    argv: tuple[str, ...]
    stdin: str
    env: dict[str, str]
    acp: Acp
    model_reason: str = ""
    notes: tuple[str, ...] = ()


def plan(
    roster: Roster,
    found: AgentMatch,
    *,
    task_id: str,
    prompt: str,
    model: str = "",
    own: OwnAgent | None = None,
    thinking_budget: int = 0,
    notes: tuple[str, ...] = (),
) -> Plan:
    """Plan the start of an agent of a roster.

    Its model is the one that a client's call of the same agent gets. `model` is what the request says, `own` the agent's
    own file, if the caller's session has one.
    """
    row = filled(roster, found.row)
    choice = choose(model, own, found)
    # A row may name another model for the command line than for a call; what a person or a file says comes before both.
    cli_model = choice.full if choice.step in ("call", "agent-file") else row.cli_model or choice.full
    if not row.display_model:
        row = msgspec.structs.replace(row, display_model=cli_model)
    delegation = _delegation(row)
    told = instruction(row)
    system_prompt = _system_prompt(found.name, row, task_id, told)
    argv = ["claude", "-p", "--output-format", "text", "--append-system-prompt", system_prompt]
    return Plan(
        agent=found.name,
        roster=roster.id,
        task_id=task_id,
        display_model=row.display_model,
        cli_model=cli_model,
        tier=row.tier,
        colour=COLOURS.get(row.tier, ""),
        thinking_budget=thinking_budget,
        tools=tools_of(row),
        delegation=delegation,
        instruction=told,
        system_prompt=system_prompt,
        argv=tuple([*argv, "--model", cli_model] if cli_model else argv),
        stdin=prompt,
        env={"MAX_THINKING_TOKENS": str(thinking_budget)} if thinking_budget else {},
        acp=Acp(provider=PROVIDER, model=cli_model),
        model_reason=choice.reason,
        notes=notes,
    )


def instruction(row: Row) -> str:
    """Return what a row tells its agent about delegating: its own `prompt`, or the wrapper's; "" for neither."""
    if row.prompt:
        return row.prompt.replace("{target}", row.delegation_target)
    if not row.delegation_call:
        return ""
    fixed = {"model": row.delegation_target} | _ARGUMENTS.get(row.delegation_call, {})
    arguments = ", ".join(f"{key}={msgspec.json.encode(value).decode()}" for key, value in fixed.items())
    kind = _WRAPPER.get(row.delegation_call, "another tool")
    return (
        f"You are a THIN WRAPPER: the work is done by {row.delegation_target}, not by you.\n"
        f"IMMEDIATELY call {row.delegation_call} ({kind}) with prompt=<the whole task as you were given it>, {arguments}.\n"
        "Call nothing before it. Give back its answer as it is, without a word of your own; if it fails, say how."
    )


def tools_of(row: Row) -> tuple[str, ...]:
    """Return the tools of an agent, with the one that its delegation calls; empty means all."""
    call = (row.delegation_call,) if row.delegation_call and row.delegation_call not in row.tools else ()
    return (*row.tools, *call) if row.tools else ()


def _delegation(row: Row) -> Delegation | None:
    if not (row.delegation_target or row.delegation_call):
        return None
    fixed = _ARGUMENTS.get(row.delegation_call, {})
    return Delegation(target=row.delegation_target, call=row.delegation_call, **fixed)


def _system_prompt(agent: str, row: Row, task_id: str, told: str) -> str:
    whole = [
        f"You are the agent `{agent}`. {row.description}".rstrip(),
        f"Agent type: {agent}\nDisplay model: {row.display_model}\nTask id: {task_id}",
        told,
    ]
    return "\n\n".join(part for part in whole if part)
