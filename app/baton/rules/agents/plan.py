"""Plan the start of an agent: its models, tier, instructions and command.

A runner or the caller carries out the plan.
"""

from typing import Any

import msgspec

from baton.lib.text.yaml_lines import did_you_mean
from baton.rules.agents.rosters import INHERIT, LEAVE_ALONE, Roster, RosterMatch, Row, filled
from baton.rules.call.call import MODELS, UNREPORTED, Aliases, ModelChoice, OwnAgent, SessionModels

# The model of an agent, and its source: the call, its own file, the team's row, the shipped roster, its default.

_SHOWN = 100


def wrong_model(model: str) -> str:
    """Return the fault of a row's model, or "": a misspelled alias must not count as a full id."""
    known = sorted({INHERIT, LEAVE_ALONE, *MODELS})
    if model in {"", *known} or (model.isprintable() and any(c.isdigit() for c in model) and " " not in model):
        return ""
    allowed = ", ".join(f"`{one}`" for one in known)
    return f"is `{model[:_SHOWN]}`{did_you_mean(model, known)}; allowed: {allowed}, or a model's full id"


def choose(
    asked: str,
    own: OwnAgent | None,
    found: RosterMatch | None,
    session: SessionModels = UNREPORTED,
    aliases: Aliases = "known",
) -> ModelChoice:
    """Return the model of an agent.

    Args:
        asked: The model in the call or request, or "".
        own: The agent's own file, None if unknown.
        found: The agent's row in the rosters, None if unknown.
        session: The client's report of its session's model.
        aliases: Where an alias is set: see `Config.model_aliases`.
    """
    if asked:
        return ModelChoice(full=asked, step="call", reason=f"the call says `{asked[:_SHOWN]}`")
    if own is not None and own.model:
        # The client itself follows the file: a rewrite could only contradict it, and a full id makes a call fail.
        full = "" if own.model == INHERIT else own.model
        whose = f"the {own.source}'s file" if own.source != "managed" else "the machine's file"
        return ModelChoice(
            full=full,
            step="agent-file",
            reason=f"{whose} of `{own.name}` says `model: {own.model}`, which the client follows",
        )
    if found is None or found.skill:
        return ModelChoice(reason="no file and no roster names a model for this agent; the client decides")
    row = f"`{found.roster}/{found.name}`"
    if found.step == "default":
        who = f"the default of the roster `{found.roster}`"
    else:
        who = f"the team's row {row}" if found.step == "team-row" else f"the shipped row {row}"
    if found.full == LEAVE_ALONE:
        return ModelChoice(step=found.step, reason=f"{who} says `{LEAVE_ALONE}`; the client decides")
    name = found.model or ""
    if not name:
        return ModelChoice(
            full=found.full, step=found.step, reason=f"{who} says `{found.full}`, which no call of the client takes"
        )
    if aliases == "never":
        return ModelChoice(
            full=found.full, step=found.step, reason=f"{who} says `{name}`, but `model_aliases` is `never`"
        )
    if aliases == "known" and not session.has(name):
        ran = f"the model `{session.model[:_SHOWN]}`" if session.model else "another provider than Anthropic"
        why = f"the session runs on {ran}, whose provider maps no `{name}`; `model_aliases: always` sets it anyway"
        return ModelChoice(full=found.full, step=found.step, reason=f"{who} says `{name}`, but {why}")
    meant = "" if found.full == name else f" (`{found.full}`)"
    return ModelChoice(name=name, full=found.full, step=found.step, reason=f"{who} says `{name}`{meant}")


COLOURS = {"CHEAP": "green", "MEDIUM": "blue", "EXPENSIVE": "purple"}
PROVIDER = "claude_code"  # runs a planned agent; a thin wrapper delegates its task further
WRAPPERS: dict[str, tuple[str, dict[str, Any]]] = {
    "invoke_gemini": ("one completion without tools", {}),
    "invoke_gemini_agentic": ("a loop of its own with full tool access", {"max_turns": 10}),
    "invoke_openai": ("a reasoning model", {"reasoning_effort": "high"}),
}  # the tools of thin wrappers: what each is, and its fixed arguments
_NO_WRAPPER: tuple[str, dict[str, Any]] = ("another tool", {})


class Delegation(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The first call of a thin wrapper: the target's model, the tool, and the tool's fixed arguments."""

    target: str
    call: str = ""
    max_turns: int = 0
    reasoning_effort: str = ""


class Acp(msgspec.Struct, frozen=True, kw_only=True):
    """The session parameters for an agent controlled over the Agent Client Protocol (ACP); `model` may be its own."""

    provider: str
    model: str
    mode: str = "default"


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """The start of an agent. `argv` gets `stdin`, the prompt, on its standard input, with `env` added to its own.

    `cli_model` is "" for the client's own default, and `model_reason` names its source. `tools` is empty if all are
    allowed. `notes` list checks that were impossible.
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
    found: RosterMatch,
    *,
    task_id: str,
    prompt: str,
    model: str = "",
    own: OwnAgent | None = None,
    thinking_budget: int = 0,
    notes: tuple[str, ...] = (),
) -> Plan:
    """Plan the start of an agent of a roster.

    Its model equals the one for a client's call of the same agent. `model` is the request's, `own` the agent's own
    file, if the caller's session has one.
    """
    row = filled(roster, found.row)
    choice = choose(model, own, found)
    # A row may set another model for the command line than for a call; a person's or a file's choice precedes both.
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
    """Return a row's instruction about delegating: its own `prompt`, or the wrapper's; otherwise ""."""
    if row.prompt:
        return row.prompt.replace("{target}", row.delegation_target)
    if not row.delegation_call:
        return ""
    kind, own = WRAPPERS.get(row.delegation_call, _NO_WRAPPER)
    fixed = {"model": row.delegation_target} | own
    arguments = ", ".join(f"{key}={msgspec.json.encode(value).decode()}" for key, value in fixed.items())
    return (
        f"You are a THIN WRAPPER: the work is done by {row.delegation_target}, not by you.\n"
        f"IMMEDIATELY call {row.delegation_call} ({kind}) with prompt=<the whole task as you were given it>, {arguments}.\n"
        "Call nothing before it. Give back its answer as it is, without a word of your own; if it fails, say how."
    )


def tools_of(row: Row) -> tuple[str, ...]:
    """Return the tools of an agent, with its delegation's tool; empty means all."""
    call = (row.delegation_call,) if row.delegation_call and row.delegation_call not in row.tools else ()
    return (*row.tools, *call) if row.tools else ()


def _delegation(row: Row) -> Delegation | None:
    if not (row.delegation_target or row.delegation_call):
        return None
    _, fixed = WRAPPERS.get(row.delegation_call, _NO_WRAPPER)
    return Delegation(target=row.delegation_target, call=row.delegation_call, **fixed)


def _system_prompt(agent: str, row: Row, task_id: str, told: str) -> str:
    whole = [
        f"You are the agent `{agent}`. {row.description}".rstrip(),
        f"Agent type: {agent}\nDisplay model: {row.display_model}\nTask id: {task_id}",
        told,
    ]
    return "\n\n".join(part for part in whole if part)
