"""`/jobs/{id}/permissions`: the permission requests of delegated agents that the rules left to a person."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path
from pydantic import BaseModel, ConfigDict, Field

from baton.delegate.core.job import JobPermission
from baton.delegate.jobs.api import JobId
from baton.delegate.jobs.service import Jobs
from baton.delegate.runners.permissions import JobPermissions
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK

router = APIRouter(tags=["jobs"])
JobPermissionsOf = Annotated[JobPermissions, Depends(of(JobPermissions))]
JobsOf = Annotated[Jobs, Depends(of(Jobs))]


class JobPermissionModel(BaseModel):
    """A permission request of an agent; no answer until `deadline` is a denial."""

    id: str
    job: str
    attempt: int
    request: dict[str, object]
    state: Literal["pending", "allowed", "denied"]
    decided_by: str
    decided_user: str
    decision_id: str
    reason: str
    created_at: datetime
    deadline: datetime
    decided_at: datetime | None = None

    @classmethod
    def of(cls, permission: JobPermission) -> "JobPermissionModel":
        """Return a permission request as the API shows it."""
        fields = {name: getattr(permission, name) for name in permission.__struct_fields__}
        return cls.model_validate(fields | {"job": permission.job_id})


class JobPermissionsModel(BaseModel):
    """The permission requests of a job, the oldest first."""

    items: list[JobPermissionModel]


class PermissionAnswerBody(BaseModel):
    """A person's answer."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"answer": "allow", "reason": "the folder is a scratch folder"}]},
    )

    answer: Literal["allow", "deny"]
    reason: str = Field("", max_length=1_000)


@router.get("/jobs/{job_id}/permissions", operation_id="list_job_permissions", response_model_exclude_none=True)
async def list_job_permissions(
    caller: CallerOf, jobs: JobsOf, permissions: JobPermissionsOf, job_id: JobId
) -> JobPermissionsModel:
    """List the permission requests of a job's agent."""
    job = await jobs.get(caller.principal, job_id)
    found = await permissions.find(job)
    return JobPermissionsModel(items=[JobPermissionModel.of(one) for one in found])


@router.post(
    "/jobs/{job_id}/permissions/{permission_id}",
    operation_id="answer_job_permission",
    response_model_exclude_none=True,
    dependencies=[WORK],
)
async def answer_job_permission(
    caller: CallerOf,
    permissions: JobPermissionsOf,
    job_id: JobId,
    permission_id: Annotated[str, Path(max_length=200)],
    body: PermissionAnswerBody,
) -> JobPermissionModel:
    """Allow or deny a permission request of an agent."""
    found = await permissions.answer(
        caller.principal, job_id, permission_id, allow=body.answer == "allow", reason=body.reason
    )
    return JobPermissionModel.of(found)
