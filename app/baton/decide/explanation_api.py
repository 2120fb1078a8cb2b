"""`GET /decisions/{id}/explanation` and `/rule-test`: why a call was decided so, and a rule's test made of it."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from baton.decide.explanation import Explanation, Explanations, ProgramInLine, ReadLine
from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel
from baton.modes.bodies import ShownSetting
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE
from baton.rules.policy.drafts import RuleDraft, Way

# The HTTP models of an explanation.


class SpanModel(BaseModel):
    """A part of a line: start and exclusive end, in Unicode code points."""

    model_config = ConfigDict(from_attributes=True)

    start: int
    end: int


ShownProgram = Annotated[ProgramInLine, ApiModel("LineProgramModel", span=SpanModel | None)]


class LineModel(BaseModel):
    """A parsed shell line. `risky` are the parts found by the deciding rule."""

    text: str
    programs: list[ShownProgram]
    risky: list[SpanModel]
    writes: list[str]
    categories: list[str]
    unparsed: bool
    unparsed_reason: str | None = None

    @classmethod
    def build(cls, line: ReadLine) -> "LineModel":
        """Show a line as the API does."""
        shell = line.shell
        return cls(
            text=line.text,
            programs=line.programs,
            risky=[SpanModel(start=one.start, end=one.end) for one in line.risky],
            writes=shell.writes,
            categories=list(shell.categories),
            unparsed=shell.unparsed,
            unparsed_reason=None if shell.unparsed_reason is msgspec.UNSET else shell.unparsed_reason,
        )


class ExplainedRuleModel(BaseModel):
    """A rule and its result for the call. `effect` was recorded. Without it, `why` names the first failed condition."""

    id: str
    decision: str
    effect: Literal["deny", "ask", "rewrite", "allow", "guidance", "shadow", "lifted"] | None = None
    why: str | None = None
    shadow: bool
    when: str | None = Field(None, description="The rule's expression, as written.")


class TimingsModel(BaseModel):
    """How long the decision took and how long the call ran, in milliseconds. `ran_ms` is absent if not reported."""

    decided_ms: float
    ran_ms: int | None = None


class DecidedModeModel(BaseModel):
    """The orchestrator mode of the decision, and the present settings for the call, wide to narrow.

    A setting with a `set_at` after the decision had no part in it.
    """

    enabled: bool
    level: str
    scope: str
    settings: list[ShownSetting]


class ExplanationModel(BaseModel):
    """A decision explained by the rules of its revision, asked again about the stored call.

    `missing` lists the unexplained parts, with reasons. The rules with an effect are recorded and always there.
    """

    decision_id: str
    at: datetime
    effect: str
    revision: str
    rules: list[ExplainedRuleModel]
    missing: list[str]
    reason: str | None = Field(None, description="Message to the agent: the reason for refusing or asking.")
    guidance: str | None = None
    suggestion: str | None = None
    message: str | None = Field(None, description="Changes of the input.")
    line: LineModel | None = None
    mode: DecidedModeModel
    timings: TimingsModel
    client: str
    client_version: str | None = None
    outcome: str | None = None

    @classmethod
    def build(cls, found: Explanation) -> "ExplanationModel":
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
            line=LineModel.build(found.line) if found.line is not None else None,
            mode=DecidedModeModel(
                enabled=record.mode_enabled,
                level=record.mode_level,
                scope=record.mode_scope,
                settings=list(found.mode_settings),
            ),
            timings=TimingsModel(decided_ms=record.elapsed_us / 1000, ran_ms=record.duration_ms),
            client=record.client,
            client_version=record.client_version or None,
            outcome=record.outcome or None,
        )


class RuleTest(RuleDraft, frozen=True, kw_only=True):
    """A rule test for a decision, and a starting file with that test.

    `group` is the test's section. A new rule must `match` the call. A changed copy of the rule (`replaces`) must
    `not_match` a call that was stopped; its test fails until it does not. The `test` is as a rule's file has it, a Bash
    command or a mapping; `text` is the rule's file as YAML, and `path` its place in a layer.
    """

    decision_id: str


router = APIRouter(tags=["decisions"])
ExplanationsOf = Annotated[Explanations, Depends(of(Explanations))]


@router.get("/decisions/{decision_id}/explanation", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def explain_decision(caller: CallerOf, explanations: ExplanationsOf, decision_id: str) -> ExplanationModel:
    """Explain a recorded decision: every rule's reason, the parsed line, mode and timings.

    The rules of its revision are asked again about the stored call. If too little is stored, `missing` says so, and
    only recorded facts are shown. Another developer's decision is not found.
    """
    return ExplanationModel.build(await explanations.get(caller.principal, decision_id))


@router.get("/decisions/{decision_id}/rule-test", response_model_exclude_none=True, dependencies=[EXPENSIVE])
async def make_rule_test(
    caller: CallerOf, explanations: ExplanationsOf, decision_id: str, way: Way = "change"
) -> Annotated[RuleTest, ApiModel(blank=("replaces",))]:
    """Make a rule test for a recorded decision, and a starting rule with that test. Nothing is stored.

    `change` starts from the rule that stopped the call, unless it is locked. `own` makes a new rule refusing the call;
    `test` makes one in shadow, which only keeps the test.
    """
    made = await explanations.draft(caller.principal, decision_id, way)
    return RuleTest(**msgspec.structs.asdict(made), decision_id=decision_id)
