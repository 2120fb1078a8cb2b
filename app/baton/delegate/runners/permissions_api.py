"""`/permissions` and `/jobs/{id}/permissions`: the permission requests of delegated agents that the rules left to a person."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends, Path, Query
from msgspec.structs import asdict
from pydantic import BaseModel, ConfigDict, Field

from baton.delegate.core.call_reading import CallReading
from baton.delegate.core.job import JobPermission, PendingQuestion
from baton.delegate.jobs.api import JobId
from baton.delegate.jobs.bodies import title_of
from baton.delegate.jobs.service import Jobs
from baton.delegate.runners.permissions import JobPermissions, may_answer
from baton.engine.call.principal import Principal
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


class ReadProgramModel(BaseModel):
    """One program that the call runs, as it was read; `depth` is 0 in the line itself and grows with each nesting."""

    text: str
    categories: list[str]
    depth: int
    risky: bool = Field(description="Whether it stands out: it does more than read, build or test.")


class EditDiffModel(BaseModel):
    """What an edit changes in a file, as a unified diff; empty where it is too long to compare."""

    path: str
    diff: str


class PendingQuestionModel(BaseModel):
    """A permission request that waits for a person: who asks, what exactly, and why; no answer until `deadline` is a denial.

    How the call was read is as the rules had it when they were asked.
    """

    id: str
    job: str
    job_title: str
    workspace: str
    project: str
    session_id: str
    user: str = Field(description="Who gave the task.")
    team: str
    agent: str
    runner_user: str = Field(
        description="On whose machine the agent runs, who alone answers; empty if nobody has it now."
    )
    may_answer: bool
    tool: str
    request: dict[str, object] = Field(description="What the agent sent, with secrets masked.")
    command: str = Field(description="The shell line that it would run; empty for another call.")
    programs: list[ReadProgramModel]
    risky: list[list[int]] = Field(
        description="Pairs of character positions in `command`: where a risky part begins and ends."
    )
    unparsed: str = Field(description="Why the command could not be read whole; empty if it was.")
    edits: list[EditDiffModel]
    rule: str = Field(description="The rule that asks; empty if no rule has an opinion.")
    why: str
    decision_id: str
    created_at: datetime
    deadline: datetime

    @classmethod
    def of(cls, question: PendingQuestion, principal: Principal) -> "PendingQuestionModel":
        """Return a request as the API shows it to a principal."""
        permission = question.permission
        reading = msgspec.convert(permission.reading, CallReading)
        fields = {name: getattr(reading, name) for name in ("command", "unparsed", "rule", "why")}
        return cls.model_validate(
            fields
            | {
                "id": permission.id,
                "job": permission.job_id,
                "job_title": title_of(question.description, question.prompt),
                "workspace": question.workspace,
                "project": question.project,
                "session_id": question.session_id,
                "user": permission.user,
                "team": question.team,
                "agent": question.agent_type or question.provider,
                "runner_user": question.runner_user,
                "may_answer": may_answer(principal, question),
                "tool": reading.tool or permission.request.get("tool_name", ""),
                "request": permission.request,
                "programs": [asdict(one) for one in reading.programs],
                "risky": [list(one) for one in reading.risky],
                "edits": [asdict(one) for one in reading.edits],
                "decision_id": permission.decision_id,
                "created_at": permission.created_at,
                "deadline": permission.deadline,
            }
        )


class PendingQuestionsModel(BaseModel):
    """The requests that wait, the oldest first; at most 200."""

    items: list[PendingQuestionModel]


class PendingQuery(BaseModel):
    """Which requests are listed."""

    state: Literal["pending"] = Field("pending", description="Only those that wait are listed across jobs.")


class PermissionAnswerBody(BaseModel):
    """A person's answer."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"answer": "allow", "reason": "the folder is a scratch folder"}]},
    )

    answer: Literal["allow", "deny"]
    reason: str = Field("", max_length=1_000)


@router.get("/permissions", operation_id="list_permissions")
async def list_permissions(
    caller: CallerOf, permissions: JobPermissionsOf, _: Annotated[PendingQuery, Query()]
) -> PendingQuestionsModel:
    """List what agents wait for a person with, across the jobs that you may see and those on your own machine."""
    found = await permissions.pending(caller.principal)
    return PendingQuestionsModel(items=[PendingQuestionModel.of(one, caller.principal) for one in found])


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
