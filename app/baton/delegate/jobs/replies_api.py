"""`POST /jobs/{id}/reply`: continues an ended job's thread with a message and comments on what it changed."""

from typing import Annotated

from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from baton.delegate.core.protocol import acknowledgement
from baton.delegate.jobs.api import JobId, JobsOf
from baton.delegate.jobs.arguments import JobLimitsBody, arguments_of
from baton.delegate.jobs.bodies import JobModel
from baton.delegate.jobs.comments import LONGEST_COMMENT, LONGEST_FILE, MOST_COMMENTS, DiffComment
from baton.delegate.jobs.new_job import LONGEST_PROMPT
from baton.delegate.jobs.replies import Replies
from baton.delegate.jobs.submit_api import DelegatedModel
from baton.kernel.http.features import of
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK

router = APIRouter(tags=["jobs"])
RepliesOf = Annotated[Replies, Depends(of(Replies))]


class CommentBody(BaseModel):
    """A comment on a line of a file, as the job left it."""

    model_config = ConfigDict(extra="forbid")

    file: str = Field(min_length=1, max_length=LONGEST_FILE, description="The path in the repository.")
    line: int = Field(ge=1, le=2**31 - 1, description="The line as the job left it, from 1.")
    text: str = Field(min_length=1, max_length=LONGEST_COMMENT)


class ReplyBody(JobLimitsBody):
    """What to tell the agent: a message, comments, or both. The agent, the workspace and the rest are the thread's."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "message": "Add a test for it",
                    "comments": [{"file": "cart.py", "line": 12, "text": "what if it is empty?"}],
                }
            ]
        },
    )

    message: str = Field("", max_length=LONGEST_PROMPT, description="What to tell the agent.")
    comments: list[CommentBody] = Field([], max_length=MOST_COMMENTS, description="Comments on what the job changed.")


@router.post(
    "/jobs/{job_id}/reply",
    operation_id="reply_job",
    status_code=202,
    response_model_exclude_none=True,
    dependencies=[WORK],
)
async def reply_job(
    caller: CallerOf, jobs: JobsOf, replies: RepliesOf, job_id: JobId, body: ReplyBody
) -> DelegatedModel:
    """Continue an ended job's thread, in its workspace and on its runner, by a new job."""
    comments = tuple(DiffComment(**comment.model_dump()) for comment in body.comments)
    arguments = arguments_of(body.model_dump())
    job = await replies.submit(caller.principal, job_id, body.message, comments, arguments, caller.project)
    waiting = (await jobs.waiting([job])).get(job.id)
    return DelegatedModel(acknowledgement=acknowledgement(job.provider, job.prompt), job=JobModel.of(job, waiting))
