"""Build the records of decisions and events. The recorder masks and stores them after the answer is sent."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from uuid_utils import uuid7

from baton.clients.event import HookEvent
from baton.engine.call.call import ToolCall
from baton.engine.call.edited_paths import edited_paths
from baton.engine.call.here_documents import without_content
from baton.engine.call.modes import Mode
from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.kernel.base import trace
from baton.kernel.base.caller import Caller
from baton.kernel.base.uuid7 import moment_of
from baton.records.pipeline.decision import Decision, RouteOutcome
from baton.shared.client_abilities import can_ask

ADVISORIES = "PatternAdvisories"
"""The event of a record that says which advisories a prompt showed."""
_WORDS: dict[str, Literal["ask", "block"]] = {"deny": "block", "ask": "ask"}


class DecidedCall(msgspec.Struct, frozen=True, kw_only=True):
    """All that the record of a decided call is built from, once its answer is on its way.

    `prompt` is what its sub-agent is asked to do, where the team keeps prompts; `started` the agent that the call
    starts, "" for none; `traceparent` the trace of its request.
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
    command = call.tool_input.get("command")
    return Record(
        id=decision.id,
        # Decisions are found by time through their ids, so a retry that is decided again keeps the first moment.
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
        elapsed_us=decision.elapsed_us,
        degraded=decision.degraded,
        command=_command(call.tool_name, command),
        paths=edited_paths(call),
        model_injected=_injected(call, decision),
        prompt=decided.prompt,
        overridden=decision.overridden,
        outcome="refused" if is_refused(call.client, verdict.effect) else "unknown",
        started_agent=decided.started,
        traceparent=decided.traceparent,
        client_version=caller.client_version,
    )


def is_refused(client: str, effect: str) -> bool:
    """Return whether a verdict keeps the client from running the call: a question does, where nobody can be asked."""
    return effect == "deny" or (effect == "ask" and not can_ask(client))


def event_record(
    caller: Caller, event: HookEvent, project: str, mode: Mode, revision: str, route: RouteOutcome | None = None
) -> Record:
    """Return the record of an event without a tool call: a session that starts with Baton off, or a prompt."""
    principal = caller.principal
    record_id = str(uuid7()) if route is None else route.id
    return Record(
        id=record_id,
        at=moment_of(record_id),
        organisation=principal.organisation,
        team=principal.team,
        user=principal.user,
        role=principal.role,
        project=project,
        session_id=event.session_id,
        client=event.client,
        event=event.name,
        mode_enabled=mode.enabled,
        mode_level=mode.level,
        mode_scope=mode.scope,
        revision=revision,
        prompt=event.prompt if event.name == "UserPromptSubmit" else "",
        overridden=caller.disabled or (caller.mode_off and event.name == "SessionStart"),
        elapsed_us=0 if route is None else route.elapsed_us,
        degraded=() if route is None else route.degraded,
        routed_to="" if route is None else route.agent,
        routed_by="" if route is None else route.tier,
        routed_as="" if route is None else route.told,
        confidence=0.0 if route is None else route.confidence,
        traceparent=trace.parent.get(),
        client_version=caller.client_version,
    )


def advisories_record(principal: Principal, session_id: str, lines: Sequence[str]) -> Record:
    """Return the record of the advisories that a session's prompt shows, a line each."""
    record_id = str(uuid7())
    return Record(
        id=record_id,
        at=moment_of(record_id),
        organisation=principal.organisation,
        team=principal.team,
        user=principal.user,
        role=principal.role,
        client="",
        event=ADVISORIES,
        session_id=session_id,
        command="\n".join(lines),
    )


def _command(tool: str, command: object) -> str:
    """Return the command of a call without file contents, which are never stored."""
    if isinstance(command, list):
        command = " ".join(str(word) for word in command)
    # The command of `apply_patch` is the patch itself: nothing but file contents.
    if not isinstance(command, str) or tool == "apply_patch":
        return ""
    return without_content(command)


def _injected(call: ToolCall, decision: Decision) -> str:
    updated = decision.verdict.updated_input or {}
    model = updated.get("model")
    return model if isinstance(model, str) and model != call.tool_input.get("model") else ""
