"""`POST /compliance/results`: the findings of an external evaluator."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from baton.context.compliance.evaluator import MOST_PATTERNS
from baton.context.compliance.service import Compliance, PatternViolation
from baton.context.patterns.pattern import LONGEST_MESSAGE
from baton.kernel.http.features import of
from baton.kernel.http.fields import request_body
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK

router = APIRouter(tags=["patterns"])
ComplianceOf = Annotated[Compliance, Depends(of(Compliance))]


class ViolationBody(BaseModel):
    """The finding on one pattern of the request."""

    model_config = ConfigDict(extra="ignore")  # other fields of the event are accepted; they are the server's own words

    pattern_id: str = Field(min_length=1, max_length=100)
    violated: bool
    message: str = Field("", max_length=4 * LONGEST_MESSAGE)
    """The message to the agent, cut to 300 characters."""


class ComplianceResultBody(BaseModel):
    """The result of an evaluation requested by the topic `compliance-evaluate`."""

    model_config = request_body(
        {"correlation_id": "019b8d5e-3f00-7000-8000-000000000001",
        "violations": [{"pattern_id": "019b8d5e-3f00-7000-8000-000000000002", "violated": True,
        "message": "`get` has no timeout"}]}
    )  # fmt: skip

    correlation_id: str = Field(min_length=1, max_length=100)
    """The request's id."""
    violations: Annotated[list[ViolationBody], Field(max_length=MOST_PATTERNS)]


class ComplianceTaken(BaseModel):
    """The effect of a result."""

    taken: bool
    """False if no evaluation of this id waits: its result arrived before, or more than an hour ago. Resending is
    harmless.
    """
    advisories: int
    """Number of advisories now waiting for the session's next prompt."""


@router.post("/compliance/results", dependencies=[WORK])
async def report_compliance(caller: CallerOf, compliance: ComplianceOf, body: ComplianceResultBody) -> ComplianceTaken:
    """Report an evaluation's findings. The session's next prompt mentions violations once."""
    violations = [PatternViolation(**one.model_dump()) for one in body.violations]
    advisories = await compliance.report(caller.principal, body.correlation_id, violations)
    return ComplianceTaken(taken=advisories is not None, advisories=advisories or 0)
