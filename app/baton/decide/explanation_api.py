"""`GET /decisions/{id}/explanation` and `/rule-test`: why a call was decided so, and a rule's test made of it."""

from typing import Annotated

from fastapi import APIRouter, Depends

from baton.decide.explanation import Explanations
from baton.decide.explanation_bodies import ExplanationModel, RuleTestModel
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import EXPENSIVE

router = APIRouter(tags=["decisions"])
ExplanationsOf = Annotated[Explanations, Depends(of(Explanations))]


@router.get(
    "/decisions/{decision_id}/explanation",
    operation_id="explain_decision",
    response_model_exclude_none=True,
    dependencies=[EXPENSIVE],
)
async def explain_decision(caller: CallerOf, explanations: ExplanationsOf, decision_id: str) -> ExplanationModel:
    """Explain a recorded decision: every rule with why it matched or not, the line as it was read, mode and timings.

    The rules of its revision are asked once more about what is stored of the call. Where that is not enough, `missing`
    says so, and only what was recorded is shown. Another developer's decision is not found.
    """
    return ExplanationModel.of(await explanations.get(caller.principal, decision_id))


@router.get(
    "/decisions/{decision_id}/rule-test",
    operation_id="make_rule_test",
    response_model_exclude_none=True,
    dependencies=[EXPENSIVE],
)
async def make_rule_test(caller: CallerOf, explanations: ExplanationsOf, decision_id: str) -> RuleTestModel:
    """Make a rule's test of a recorded decision, and a rule to start from that has it. Nothing is stored."""
    return RuleTestModel.of(decision_id, await explanations.draft(caller.principal, decision_id))
