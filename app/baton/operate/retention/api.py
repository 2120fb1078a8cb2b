"""`/retention`: shows and sets how long the organisation keeps rows."""

from typing import Annotated

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, ConfigDict, Field

from baton.kernel.http.etags import IfMatch, etag
from baton.kernel.http.features import of
from baton.operate.retention.service import LEAST_AUDIT_DAYS, LONGEST_DAYS, Retention, RetentionDays
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN

router = APIRouter(tags=["retention"])
RetentionOf = Annotated[Retention, Depends(of(Retention))]


class RetentionModel(BaseModel):
    """Days that rows are kept."""

    decisions_days: int
    reports_days: int
    audit_days: int
    jobs_days: int

    @classmethod
    def of(cls, days: RetentionDays) -> "RetentionModel":
        """Build the model of a retention."""
        return cls.model_validate(days, from_attributes=True)


class RetentionBody(BaseModel):
    """Days to keep rows for, and the reason; audit entries are kept for at least a year."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "decisions_days": 90,
                    "reports_days": 365,
                    "jobs_days": 30,
                    "audit_days": 730,
                    "reason": "agreed with the works council",
                }
            ]
        },
    )

    decisions_days: int = Field(ge=1, le=LONGEST_DAYS)
    reports_days: int = Field(ge=1, le=LONGEST_DAYS)
    jobs_days: int = Field(30, ge=1, le=LONGEST_DAYS)
    audit_days: int = Field(ge=LEAST_AUDIT_DAYS, le=LONGEST_DAYS)
    reason: str = Field("", max_length=1_000)


@router.get("/retention", operation_id="get_retention")
async def get_retention(caller: CallerOf, retention: RetentionOf, response: Response) -> RetentionModel:
    """Show how long decisions, reports, jobs and audit entries are kept."""
    days, version = await retention.get(caller.principal)
    response.headers["ETag"] = etag(version)
    return RetentionModel.of(days)


@router.put("/retention", operation_id="put_retention", dependencies=[ADMIN])
async def put_retention(
    caller: CallerOf, retention: RetentionOf, body: RetentionBody, response: Response, if_match: IfMatch = None
) -> RetentionModel:
    """Set how long rows are kept; older ones are removed within the hour. `If-Match` must name the current version."""
    days = RetentionDays(**body.model_dump(exclude={"reason"}))
    stored, version = await retention.put(caller.principal, days, version=if_match, reason=body.reason)
    response.headers["ETag"] = etag(version)
    return RetentionModel.of(stored)
