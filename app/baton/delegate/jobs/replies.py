"""Replies to ended jobs: a new job continues the newest job of the thread."""

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Depends
from pydantic import BaseModel, ConfigDict, Field

from baton.delegate.core.job import ENDED_STATES, Job, JobArguments, JobSpec
from baton.delegate.core.protocol import acknowledgement
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs as store
from baton.delegate.jobs.api import JobId, JobsOf
from baton.delegate.jobs.arguments import JobLimitsBody, arguments_of
from baton.delegate.jobs.bodies import JobModel
from baton.delegate.jobs.new_job import LONGEST_PROMPT
from baton.delegate.jobs.service import Jobs
from baton.delegate.jobs.submit_api import DelegatedModel
from baton.kernel.base.errors import Conflict, Forbidden, Invalid
from baton.kernel.base.sql import Database
from baton.kernel.http.features import of
from baton.kernel.http.fields import request_body
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK
from baton.rules.call.call import Principal

# Comments on a job's changes by file and line, with the quoted line for the agent.

MOST_COMMENTS = 100
LONGEST_COMMENT = 8_192
LONGEST_FILE = 1_024
_LONGEST_QUOTE = 300
_HUNK = re.compile(r"^@@ -\d+(?:,\d+)? \+(\d+)")


class DiffComment(msgspec.Struct, frozen=True, kw_only=True):
    """A comment on a line of a file in the job's version. Lines count from 1."""

    file: str
    line: int
    text: str


def checked(comments: Sequence[DiffComment]) -> None:
    """Check the file names of comments. Raise Invalid, naming the comment."""
    for number, comment in enumerate(comments):
        parts = comment.file.split("/")
        if not all(parts) or ".." in parts or not comment.file.isprintable():
            raise Invalid(
                f"comments.{number}.file",
                f"is `{comment.file[:100]}`; name a file by its path in the repository, such as `src/cart.py`",
            )


def worded(message: str, comments: Sequence[DiffComment], diff: str) -> str:
    """Return a message to the agent, with comments on its changes."""
    if not comments:
        return message
    lines = _new_lines(diff, {comment.file for comment in comments})
    said = [message, ""] if message else []
    said.append("Comments on your changes:")
    for comment in comments:
        said.append(f"- {comment.file}:{comment.line}: {comment.text}")
        quoted = lines.get((comment.file, comment.line))
        if quoted is not None:
            said.append(f"  (the line is: `{quoted[:_LONGEST_QUOTE]}`)")
    return "\n".join(said)


def diff_of(body: dict[str, Any]) -> str:
    """Return the diff of a `workspace.diff` event, or "" for other runner versions."""
    diff = body.get("diff")
    return diff if isinstance(diff, str) else ""


def _new_lines(diff: str, files: Iterable[str]) -> dict[tuple[str, int], str]:
    headers = {f"+++ b/{file}": file for file in files}
    found: dict[tuple[str, int], str] = {}
    file, number = "", 0
    for text in diff.split("\n"):
        if text.startswith("diff --git "):
            file, number = "", 0
        elif not number and text.startswith("+++ "):
            file = headers.get(text.rstrip("\t"), "")
        elif hunk := _HUNK.match(text):
            number = int(hunk[1])
        elif file and number and text[:1] in {"+", " "}:
            found[file, number] = text[1:]
            number += 1
    return found


_SAME = ("provider", "workspace", "isolation", "session_id", "agent_type", "tier", "system_prompt", "thinking_budget")
"""Fields copied from the continued job."""
_LONGEST_TITLE = 120


class Replies:
    """Continues the threads of jobs."""

    def __init__(self, database: Database, jobs: Jobs) -> None:
        self._database = database
        self._jobs = jobs

    async def submit(
        self,
        principal: Principal,
        job_id: str,
        message: str,
        comments: tuple[DiffComment, ...],
        arguments: JobArguments,
        project: str = "",
    ) -> Job:
        """Submit a reply as a new job of the thread. It goes to the thread's newest job.

        `message` may be empty with `comments`. `arguments` change model and timeouts; the rest is the thread's. Raise
        Conflict if the thread's newest job has not ended or never had an agent, Forbidden for another person's job,
        Invalid, NotFound or StoreUnavailable.
        """
        checked(comments)
        if not message.strip() and not comments:
            raise Invalid("message", "is blank, and there are no comments")
        job = await self._jobs.get(principal, job_id)
        if job.user != principal.user:
            raise Forbidden(f"job `{job.id}` is of `{job.user}`; only this user may reply to its agent")
        newest, diff = await self._newest(job)
        which = f"job `{newest.id}`" if newest.id == job.id else f"job `{newest.id}`, which continues `{job.id}`,"
        if newest.state not in ENDED_STATES:
            raise Conflict(f"{which} is `{newest.state}`; reply when it has ended, or cancel it first")
        if not newest.agent_session:
            raise Conflict(f"{which} is `{newest.state}` but its agent never started; use `retry` instead")
        new = JobSpec(
            **msgspec.structs.asdict(arguments)
            | {name: getattr(newest, name) for name in _SAME}
            | {"thread": newest.id, "model": arguments.model or newest.model},
            prompt=worded(message.strip(), comments, diff),
            description=_title(message, comments),
            project=project,
        )
        return await self._jobs.submit(principal, new)

    async def _newest(self, job: Job) -> tuple[Job, str]:
        async with self._database.transaction("jobs cannot be read now; nothing was made, try again") as connection:
            while (later := await store.continued_by(connection, job)) is not None:
                job = later
            change = await events_store.last_of_type(connection, job.id, "workspace.diff")
        return job, diff_of(change.body) if change else ""


def _title(message: str, comments: tuple[DiffComment, ...]) -> str:
    text = message.strip() or f"{comments[0].file}:{comments[0].line}: {comments[0].text}"
    return f"Reply: {text.splitlines()[0]}"[:_LONGEST_TITLE]


router = APIRouter(tags=["jobs"])
RepliesOf = Annotated[Replies, Depends(of(Replies))]


class CommentBody(BaseModel):
    """A comment on a line of a file in the job's version."""

    model_config = ConfigDict(extra="forbid")

    file: str = Field(min_length=1, max_length=LONGEST_FILE, description="The path in the repository.")
    line: int = Field(ge=1, le=2**31 - 1, description="The line as the job left it, from 1.")
    text: str = Field(min_length=1, max_length=LONGEST_COMMENT)


class ReplyBody(JobLimitsBody):
    """A message to the agent, comments, or both. Other options are the thread's."""

    model_config = request_body(
        {"message": "Add a test for it", "comments": [{"file": "cart.py", "line": 12, "text": "what if it is empty?"}]}
    )

    message: str = Field("", max_length=LONGEST_PROMPT, description="Message to the agent.")
    comments: list[CommentBody] = Field([], max_length=MOST_COMMENTS, description="Comments on the job's changes.")


@router.post("/jobs/{job_id}/reply", status_code=202, response_model_exclude_none=True, dependencies=[WORK])
async def reply_job(
    caller: CallerOf, jobs: JobsOf, replies: RepliesOf, job_id: JobId, body: ReplyBody
) -> DelegatedModel:
    """Continue an ended job's thread with a new job, in its workspace and on its runner."""
    comments = tuple(DiffComment(**comment.model_dump()) for comment in body.comments)
    arguments = arguments_of(body.model_dump())
    job = await replies.submit(caller.principal, job_id, body.message, comments, arguments, caller.project)
    waiting = (await jobs.waiting([job])).get(job.id)
    return DelegatedModel(acknowledgement=acknowledgement(job.provider, job.prompt), job=JobModel.build(job, waiting))
