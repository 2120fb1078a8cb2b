"""`POST /policies/evaluate`: a dry run. What the rules in force say of a call, and why each matched or not."""

from typing import get_args

import msgspec

from baton.decide.api import read_call
from baton.decide.bodies import Judgement, judgement_fields
from baton.decide.service import PreToolUse
from baton.engine.call.verdict import Facts, Level
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.explain import RuleTrace, explain
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Invalid
from baton.kernel.http.asgi import Request, Response
from baton.kernel.http.fields import optional_text
from baton.kernel.http.json_io import decode_object, encode
from baton.policies.in_force import Policies
from baton.records.pipeline.decision import ModeInForce


class EvaluateAnswer(Judgement, frozen=True, kw_only=True):
    """What the rules say of a call, and why, rule by rule."""

    trace: tuple[RuleTrace, ...]


class EvaluateEndpoint:
    """Judge a call without recording it, and explain the verdict."""

    def __init__(self, service: PreToolUse, policies: Policies) -> None:
        self._service = service
        self._policies = policies

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Answer a dry run. `level` and `history` in the body replace the mode and the session's history."""
        payload = decode_object(request.body)
        call = read_call(payload, caller)
        facts = await self._service.facts_without_history(caller, call)
        facts = msgspec.structs.replace(facts, history=_history(payload), level=_level(payload) or facts.level)
        policies = (await self._policies.prepare(caller.principal, facts.call.project, wait_s=None)).policies
        verdict = evaluate(policies, facts)
        answer = EvaluateAnswer(
            **judgement_fields(verdict, call.tool_input),
            mode=_mode(facts),
            policy_revision=policies.revision,
            trace=tuple(explain(policies, facts)),
        )
        return Response(encode(answer))


def _mode(facts: Facts) -> ModeInForce:
    on = facts.level != "off"
    return ModeInForce(enabled=on, level=facts.level if on else "guidance", scope="evaluation")


def _level(payload: dict[str, object]) -> Level | None:
    level = optional_text(payload, "level")
    allowed = list(get_args(Level))
    if level and level not in allowed:
        raise Invalid("level", f"is `{level}`", allowed)
    return level or None  # type: ignore[return-value]


def _history(payload: dict[str, object]) -> tuple[str, ...]:
    history = payload.get("history") or []
    if not isinstance(history, list) or not all(isinstance(tool, str) for tool in history):
        raise Invalid("history", "must be a list of tool names, oldest first")
    return tuple(history)
