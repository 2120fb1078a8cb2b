"""What `/pre-tool-use` answers, in the words of its users' design documents: decision, reason, guidance, suggestion."""

from typing import Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from baton.engine.call.agent_model import ModelChoice, Step
from baton.engine.call.verdict import RuleHit, Verdict
from baton.engine.shell.model import SOMEWHERE, Category, Shell
from baton.records.pipeline.decision import Decision, ModeInForce

_DECISIONS: dict[str, Literal["allow", "ask", "block"]] = {"deny": "block", "ask": "ask"}


class ShellView(msgspec.Struct, frozen=True, kw_only=True):
    """What was read in the shell command."""

    programs: list[tuple[str, ...]]
    """Every program that the line would run, at any nesting level, outermost first, without quotes."""
    writes: list[str]
    """Files that redirections and programs write to."""
    categories: list[Category]
    unparsed: bool
    """True if a part of the line could not be read."""
    unparsed_reason: str | UnsetType = UNSET


class ModelView(msgspec.Struct, frozen=True, kw_only=True):
    """The model of an agent: `name` is what the call is given, absent where it is left alone."""

    name: str | UnsetType = UNSET
    step: Step
    """What decided, first to last: the call, the agent's own file, the team's row, the shipped roster, its default."""
    reason: str


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """What the rules say of a call. A field without a value is absent, never null."""

    decision: Literal["allow", "ask", "block"]
    continue_: bool = msgspec.field(name="continue")
    """False only with `block`."""
    reason: str | UnsetType = UNSET
    """Why the call is blocked or needs a person: what was found, what to do instead, how to get out."""
    guidance: str | UnsetType = UNSET
    suggestion: str | UnsetType = UNSET
    """A Task call to make instead, ready to copy."""
    message: str | UnsetType = UNSET
    """What was changed in the input."""
    modified_input: dict[str, Any] = msgspec.field(name="modifiedInput")
    """The whole tool input, as it is to be used."""
    model: ModelView | UnsetType = UNSET
    """The model of the agent that the call starts."""
    rules: tuple[RuleHit, ...]
    """Every rule that matched; effect `guidance` is a deny that the guidance level softened."""
    mode: ModeInForce
    shell: ShellView | UnsetType = UNSET
    policy_revision: str


class PreToolUseAnswer(Judgement, frozen=True, kw_only=True):
    """A recorded decision."""

    decision_id: str
    degraded: tuple[str, ...]
    """The parts of Baton that were unavailable while it decided, such as `history`."""
    elapsed_ms: float
    overridden: bool | UnsetType = UNSET
    """True if a person switched Baton off for the session, or lifted a rule that matched."""


def shell_view(shell: Shell) -> ShellView:
    """Return the reading of a command as the API shows it."""
    return ShellView(
        programs=[program.argv for program in shell.programs],
        writes=list(dict.fromkeys(write.target for write in shell.writes if write.target != SOMEWHERE)),
        categories=list(shell.categories),
        unparsed=shell.unparsed != "",
        unparsed_reason=shell.unparsed or UNSET,
    )


def judgement_fields(verdict: Verdict, tool_input: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a `Judgement` that come from the verdict on a call with this input."""
    word = _DECISIONS.get(verdict.effect, "allow")
    return {
        "decision": word,
        "continue_": word != "block",
        "reason": verdict.reason or UNSET,
        "guidance": verdict.guidance or UNSET,
        "suggestion": verdict.suggestion or UNSET,
        "message": verdict.message or UNSET,
        "modified_input": tool_input if verdict.updated_input is None else verdict.updated_input,
        "model": UNSET if verdict.model is None else _model_view(verdict.model),
        "rules": verdict.hits,
        "shell": UNSET if verdict.shell is None else shell_view(verdict.shell),
    }


def _model_view(choice: ModelChoice) -> ModelView:
    return ModelView(name=choice.name or UNSET, step=choice.step, reason=choice.reason)


def render(decision: Decision, tool_input: dict[str, Any]) -> PreToolUseAnswer:
    """Return the answer for a decision about a call with this input."""
    return PreToolUseAnswer(
        **judgement_fields(decision.verdict, tool_input),
        decision_id=decision.id,
        mode=decision.mode,
        policy_revision=decision.revision,
        degraded=decision.degraded,
        elapsed_ms=decision.elapsed_us / 1000,
        overridden=decision.overridden or UNSET,
    )
