"""The HTTP models of an explanation."""

from datetime import datetime
from typing import Any, Literal

import msgspec
from pydantic import BaseModel, Field

from baton.decide.explanation import Explanation, ReadLine
from baton.engine.policy.drafts import RuleDraft
from baton.engine.shell.spans import Span
from baton.modes.bodies import ModeSettingModel


class SpanModel(BaseModel):
    """A part of a line: from which character to which, the last one excluded. A character is a Unicode code point."""

    start: int
    end: int

    @classmethod
    def of(cls, span: Span) -> "SpanModel":
        """Show a span as the API does."""
        return cls(start=span.start, end=span.end)


class LineProgramModel(BaseModel):
    """A program that the line would run; `span` is absent for one that stands nowhere in it, such as a variable's value."""

    argv: list[str]
    depth: int = Field(description="0 in the line itself; it grows with each wrapper, substitution and nested script.")
    categories: list[str]
    guess: bool = Field(description="True for what may be run by a program that no table knows.")
    span: SpanModel | None = None


class LineModel(BaseModel):
    """A shell line as it was read. `risky` are the parts that the deciding rule found in it."""

    text: str
    programs: list[LineProgramModel]
    risky: list[SpanModel]
    writes: list[str]
    categories: list[str]
    unparsed: bool
    unparsed_reason: str | None = None

    @classmethod
    def of(cls, line: ReadLine) -> "LineModel":
        """Show a line as the API does."""
        shell = line.shell
        programs = [
            LineProgramModel(
                argv=list(one.argv),
                depth=one.depth,
                categories=list(one.categories),
                guess=one.guess,
                span=SpanModel.of(one.span) if one.span is not None else None,
            )
            for one in line.programs
        ]
        return cls(
            text=line.text,
            programs=programs,
            risky=[SpanModel.of(one) for one in line.risky],
            writes=shell.writes,
            categories=list(shell.categories),
            unparsed=shell.unparsed,
            unparsed_reason=None if shell.unparsed_reason is msgspec.UNSET else shell.unparsed_reason,
        )


class ExplainedRuleModel(BaseModel):
    """A rule and what it made of the call. `effect` was recorded; `why` says what failed first in a rule without one."""

    id: str
    decision: str
    effect: Literal["deny", "ask", "rewrite", "allow", "guidance", "shadow", "lifted"] | None = None
    why: str | None = None
    shadow: bool
    when: str | None = Field(None, description="The rule's expression, as written.")


class TimingsModel(BaseModel):
    """How long the decision took and how long the call ran, in milliseconds; `ran_ms` is absent where nobody reported it."""

    decided_ms: float
    ran_ms: int | None = None


class DecidedModeModel(BaseModel):
    """The orchestrator mode under which was decided, and the settings that concern the call as they are now, wide to narrow.

    A setting whose `set_at` is later than the decision had no part in it.
    """

    enabled: bool
    level: str
    scope: str
    settings: list[ModeSettingModel]


class ExplanationModel(BaseModel):
    """A decision explained by the rules of its revision, asked once more about what is stored of the call.

    `missing` says what could not be explained and why; the rules with an effect are recorded and always there.
    """

    decision_id: str
    at: datetime
    effect: str
    revision: str
    rules: list[ExplainedRuleModel]
    missing: list[str]
    reason: str | None = Field(None, description="What the agent was told: why the call was refused or asked about.")
    guidance: str | None = None
    suggestion: str | None = None
    message: str | None = Field(None, description="What was changed in the input.")
    line: LineModel | None = None
    mode: DecidedModeModel
    timings: TimingsModel
    client: str
    client_version: str | None = None
    outcome: str | None = None

    @classmethod
    def of(cls, found: Explanation) -> "ExplanationModel":
        """Show an explanation as the API does."""
        record, verdict = found.record, found.verdict
        rules = [
            ExplainedRuleModel(
                id=one.trace.id,
                decision=one.trace.decision,
                effect=one.effect or None,
                why=None if one.effect else one.trace.why or None,
                shadow=one.trace.shadow,
                when=one.trace.when or None,
            )
            for one in found.rules
        ]
        return cls(
            decision_id=record.id,
            at=record.at,
            effect=record.effect,
            revision=record.revision,
            rules=rules,
            missing=found.missing,
            reason=(verdict.reason or None) if verdict else None,
            guidance=(verdict.guidance or None) if verdict else None,
            suggestion=(verdict.suggestion or None) if verdict else None,
            message=(verdict.message or None) if verdict else None,
            line=LineModel.of(found.line) if found.line is not None else None,
            mode=DecidedModeModel(
                enabled=record.mode_enabled,
                level=record.mode_level,
                scope=record.mode_scope,
                settings=[ModeSettingModel.of(one) for one in found.mode_settings],
            ),
            timings=TimingsModel(decided_ms=record.elapsed_us / 1000, ran_ms=record.duration_ms),
            client=record.client,
            client_version=record.client_version or None,
            outcome=record.outcome or None,
        )


class RuleTestModel(BaseModel):
    """A rule's test made of a decision, and a file to start from that has it.

    `group` says where the test belongs: a call that was let through is one that the new rule must `match`; one that was
    stopped is one that a changed copy of the rule (`replaces`) must `not_match`, and its test fails until it does not.
    """

    decision_id: str
    group: Literal["match", "not_match"]
    test: str | dict[str, Any] = Field(description="The test as a rule's file has it: a Bash command, or a mapping.")
    path: str = Field(description="The path of the rule's file in a layer.")
    text: str = Field(description="The rule's file, as YAML.")
    replaces: str | None = Field(None, description="The rule that stopped the call.")

    @classmethod
    def of(cls, decision_id: str, made: RuleDraft) -> "RuleTestModel":
        """Show a draft as the API does."""
        return cls(
            decision_id=decision_id,
            group=made.group,
            test=made.test,
            path=made.path,
            text=made.text,
            replaces=made.replaces or None,
        )
