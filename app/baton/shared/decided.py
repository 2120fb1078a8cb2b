"""The decision on a call: the verdict, and the data for its answer and its record."""

from datetime import UTC, datetime
from typing import Literal

import msgspec

from baton.clients.event import HookAnswer
from baton.clients.registry import can_ask, words_of
from baton.clients.tool_inputs import runs_lines
from baton.rules.call.call import ToolCall
from baton.rules.call.commands import SHELL_KEYS, command_of
from baton.rules.call.edited_files import edited_paths, without_content
from baton.rules.call.outcome import injected_model
from baton.rules.call.record import Record
from baton.rules.call.verdict import Verdict
from baton.rules.policy.evaluate import is_refused
from baton.shared.caller import Caller
from baton.shared.kept_texts import KeptTexts
from baton.shared.record_ids import moment_of

DELIVERED = (
    "client", "project", "session_id", "agent_id", "agent_type", "tool", "tool_use_id", "effect", "decision", "rules",
    "mode_enabled", "mode_level", "mode_scope", "revision", "elapsed_us", "degraded", "command", "paths", "model_injected",
    "overridden", "outcome", "started_agent", "client_version",
)  # fmt: skip
"""Fields of a record that a relay delivers beside the id."""
_WORDS: dict[str, Literal["ask", "block"]] = {"deny": "block", "ask": "ask"}
_encode = msgspec.msgpack.Encoder().encode


class ModeInForce(msgspec.Struct, frozen=True, kw_only=True):
    """The orchestrator mode of a decision."""

    enabled: bool
    level: str
    scope: str


class Decision(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The decision on one call. `degraded` names unavailable services; `elapsed_us` is in microseconds.

    `overridden` is True if Baton was switched off for the session, so that no rule ran, or if a matching rule was
    lifted for it. `wants` is what its hook may wait for.
    """

    id: str
    verdict: Verdict
    mode: ModeInForce
    revision: str
    degraded: tuple[str, ...] = ()
    elapsed_us: int = 0
    overridden: bool = False
    wants: str = ""


class DecidedCall(msgspec.Struct, frozen=True, kw_only=True):
    """The data for a decided call's record, built after its answer.

    `prompt` is its sub-agent's prompt, if the team keeps prompts; `started` the agent started by the call, "" for none;
    `traceparent` its request's trace.
    """

    caller: Caller
    call: ToolCall
    decision: Decision
    prompt: str = ""
    started: str = ""
    traceparent: str = ""


def decision_record(decided: DecidedCall) -> Record:
    """Return the record of a decided call."""
    caller, call, decision = decided.caller, decided.call, decided.decision
    principal, verdict = caller.principal, decision.verdict
    return Record(
        id=decision.id,
        # Ids contain the time for searches, so a retry decided again keeps the first timestamp.
        at=moment_of(decision.id),
        organisation=principal.organisation,
        team=principal.team,
        user=principal.user,
        role=principal.role,
        client=call.client,
        event="PreToolUse",
        project=call.project,
        session_id=call.session_id,
        agent_id=call.agent_id,
        agent_type=call.agent_type,
        tool=call.tool_name,
        tool_use_id=call.tool_use_id,
        effect=verdict.effect,
        decision=_WORDS.get(verdict.effect, "allow"),
        rules=verdict.hits,
        mode_enabled=decision.mode.enabled,
        mode_level=decision.mode.level,
        mode_scope=decision.mode.scope,
        revision=decision.revision,
        elapsed_us=min(decision.elapsed_us, 2**31 - 1),
        degraded=decision.degraded,
        command=_command(call),
        paths=edited_paths(call),
        model_injected=injected_model(call, verdict.updated_input),
        prompt=decided.prompt,
        overridden=decision.overridden,
        outcome="refused" if is_refused(call.client, verdict.effect) else "unknown",
        started_agent=decided.started,
        traceparent=decided.traceparent,
        client_version=caller.client_version,
    )


masked = KeptTexts(Record).masked
_NOTHING = Record(
    id="", at=datetime.fromtimestamp(0, UTC), organisation="", team="", user="", client="", event="PreToolUse"
)


def shown_call(call: ToolCall) -> str:
    """Return what the record of a call shows of it, secrets masked."""
    texts = {"tool": call.tool_name, "command": _command(call), "paths": edited_paths(call)}
    return masked(msgspec.structs.replace(_NOTHING, **texts)).shown


def _command(call: ToolCall) -> str:
    """Return the command of a call without file contents, as these are never stored."""
    tool, command = call.tool_name, call.tool_input.get("command")
    if runs_lines(tool) and not call.tool_input.keys() <= SHELL_KEYS:
        command = command_of(tool, call.tool_input)
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    # The command of `apply_patch` is the patch itself: nothing but file contents.
    if not isinstance(command, str) or tool == "apply_patch":
        return ""
    return without_content(command)


def packed_record(record: Record | DecidedCall) -> bytes:
    """Build, bound, mask and encode a record."""
    return _encode(masked(decision_record(record) if isinstance(record, DecidedCall) else record))


def answer_of(verdict: Verdict) -> HookAnswer:
    """Return a verdict as a hook's answer. An allow becomes no opinion: it must not skip the client's own prompt."""
    softened = any(hit.effect == "guidance" for hit in verdict.hits)
    context = "\n".join(filter(None, (verdict.guidance, verdict.suggestion))) if softened else ""
    return HookAnswer(
        effect=verdict.effect if verdict.effect in ("deny", "ask") else "none",
        reason=verdict.reason,
        updated_input=verdict.updated_input,
        context=context,
        system_message=verdict.notice,
    )


def answer_of_unread(client: str, event: str, why: str, *, blocks: bool, asks: bool = True) -> HookAnswer:
    """Answer an event that cannot be read. `event` is its native name, or "" if unknown."""
    if blocks and event in {"", "PreToolUse", "PermissionRequest", "PreSkillShellCommand"}:
        return HookAnswer(
            effect="deny",
            reason=f"Baton blocked this call because it could not read it: {why}. This project blocks undecided calls"
            " (BATON_ON_FAILURE=block). Make the call smaller or simpler, or ask the person to run `baton status`.",
        )
    unchecked = f"Baton did not check this call: {why}."
    if event not in {"", "PreToolUse"}:
        return HookAnswer()
    if asks and event and can_ask(client):
        return HookAnswer(effect="ask", reason=f"{unchecked} Look at it yourself before you allow it.")
    return HookAnswer(system_message=unchecked)


def refused_question(verdict: Verdict, client: str, what: str) -> Verdict:
    """Return a question as a refusal; `what` says who decides instead."""
    ending = words_of(client).no_question or "The person decides."
    text = verdict.reason.replace(ending, what) if ending in verdict.reason else f"{verdict.reason} {what}"
    return msgspec.structs.replace(verdict, effect="deny" if can_ask(client) else verdict.effect, reason=text)
