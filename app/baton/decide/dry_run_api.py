"""`POST /policies/evaluate`: a dry run. What rules say of a call, and why each matched or not."""

from typing import Any, get_args

from baton.decide.api import read_call
from baton.decide.bodies import Judgement, judgement_fields
from baton.decide.dry_run import Draft, DryRun, Question
from baton.engine.call.verdict import Facts, Level
from baton.engine.policy.explain import RuleTrace
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Invalid
from baton.kernel.http.asgi import Request, Response
from baton.kernel.http.fields import kind, optional_text
from baton.kernel.http.json_io import decode_object, encode
from baton.people.rate_limits import Limits
from baton.policies.layers import place
from baton.records.pipeline.decision import ModeInForce

MOST_FILES = 500
"""Files of a draft."""


class EvaluateAnswer(Judgement, frozen=True, kw_only=True):
    """What the rules say of a call, and why, rule by rule."""

    trace: tuple[RuleTrace, ...]


class EvaluateEndpoint:
    """Judge a call without recording it, and explain the verdict."""

    def __init__(self, dry_run: DryRun, limits: Limits) -> None:
        self._dry_run = dry_run
        self._limits = limits

    async def answer(self, request: Request, caller: Caller) -> Response:
        """Answer a dry run."""
        payload = decode_object(request.body)
        call = read_call(payload, caller)
        question = read_question(payload, caller)
        if question.revision or question.draft:  # other rules than those in force have to be built first
            self._limits.check("expensive", f"{caller.principal.organisation}/{caller.principal.user}")
        found = await self._dry_run.judge(caller, call, question)
        answer = EvaluateAnswer(
            **judgement_fields(found.verdict, call.tool_input),
            mode=_mode(found.facts),
            policy_revision=found.revision,
            trace=found.trace,
        )
        return Response(encode(answer))


def read_question(payload: dict[str, Any], caller: Caller) -> Question:
    """Read what a payload asks besides the call.

    Raises:
        Invalid: If a field is of a wrong type or value; the error names it.
    """
    who = _object(payload, "principal")
    draft = _object(payload, "draft")
    revision = optional_text(payload, "revision")
    if draft and revision:
        raise Invalid("draft", "cannot be asked together with `revision`; give one of them", ["draft", "revision"])
    return Question(
        level=_level(payload),
        history=_history(payload),
        revision=revision,
        draft=_draft(draft, caller) if draft else None,
        user=optional_text(who, "user"),
        team=optional_text(who, "team"),
        role=optional_text(who, "role"),
    )


def _object(payload: dict[str, Any], name: str) -> dict[str, Any]:
    value = payload.get(name)
    if value is not None and not isinstance(value, dict):
        raise Invalid(name, f"must be an object, not {kind(value)}")
    return value or {}


def _draft(draft: dict[str, Any], caller: Caller) -> Draft:
    files = draft.get("files")
    if not isinstance(files, dict) or not all(isinstance(text, str) for text in files.values()):
        raise Invalid("draft.files", "must be an object of texts by path")
    if len(files) > MOST_FILES:
        raise Invalid("draft.files", f"has {len(files)} files; at most {MOST_FILES} are allowed")
    tier = optional_text(draft, "tier") or "organisation"
    return Draft(where=place(caller.principal, tier, optional_text(draft, "name"), caller.project), files=files)


def _mode(facts: Facts) -> ModeInForce:
    on = facts.level != "off"
    return ModeInForce(enabled=on, level=facts.level if on else "guidance", scope="evaluation")


def _level(payload: dict[str, Any]) -> Level | None:
    level = optional_text(payload, "level")
    allowed = list(get_args(Level))
    if level and level not in allowed:
        raise Invalid("level", f"is `{level}`", allowed)
    return level or None  # type: ignore[return-value]


def _history(payload: dict[str, Any]) -> tuple[str, ...]:
    history = payload.get("history") or []
    if not isinstance(history, list) or not all(isinstance(tool, str) for tool in history):
        raise Invalid("history", "must be a list of tool names, oldest first")
    return tuple(history)
