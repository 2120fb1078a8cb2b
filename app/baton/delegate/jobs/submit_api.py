"""`POST /delegate`: submits a task for an agent on one of the user's runners."""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Header
from pydantic import BaseModel, Field

from baton.delegate.core.job import JobSpec
from baton.delegate.core.protocol import acknowledgement
from baton.delegate.jobs.api import JobsOf
from baton.delegate.jobs.arguments import ARGUMENTS, JobArgumentsBody, arguments_of
from baton.delegate.jobs.bodies import JobModel
from baton.delegate.jobs.new_job import LONGEST_KEY, LONGEST_PROMPT, LONGEST_TEXT, MOST_ATTEMPTS, MOST_DEPENDENCIES
from baton.kernel.http.fields import MaybeText, request_body
from baton.people.callers import CallerOf
from baton.people.rate_limits import WORK
from baton.shared.providers import PROVIDERS

router = APIRouter(tags=["jobs"])
IdempotencyKey = Annotated[
    str,
    Header(
        alias="Idempotency-Key",
        max_length=LONGEST_KEY,
        description="The same key with the same task returns the existing job; with another task it is refused.",
    ),
]

_PROVIDERS = ", ".join(f"`{one}`" for one in PROVIDERS)


class DelegateBody(JobArgumentsBody):
    """The task. Default session: its own. Default workspace: the runner's first one."""

    model_config = request_body(
        {"user_prompt": "Find every caller of `parse` and list the files", "provider": "claude_code",
        "description": "callers of parse", "session_id": "5b1f0c9e", "timeout_s": 300}
    )  # fmt: skip

    user_prompt: str = Field(
        min_length=1, max_length=LONGEST_PROMPT, description="The exact instruction to pass to the delegated agent."
    )
    provider: Annotated[str, Field(max_length=100)] | None = Field(
        None,
        description=f"Which agent: {_PROVIDERS} or another one served by a runner, in any case, with `-` or `_`. Default: the agent of the job in `thread`, else `codex`.",
    )
    description: MaybeText = Field("", description="One line for people.")
    session_id: str = Field("", max_length=LONGEST_TEXT, description="The delegating session.")
    approval: Literal["none", "ask"] = Field("none", description="`ask` waits for a person's approval.")
    depends_on: list[str] = Field([], max_length=MOST_DEPENDENCIES, description="Your jobs to wait for.")
    graph: str = Field("", max_length=200, description="The job's task graph.")
    max_attempts: int = Field(
        1, ge=1, le=MOST_ATTEMPTS, description="Attempts if the runner is lost; above 1 only in a worktree."
    )


class DelegatedModel(BaseModel):
    """The confirmation of the delegation, and the job."""

    acknowledgement: str
    job: JobModel


@router.post("/delegate", status_code=202, response_model_exclude_none=True, dependencies=[WORK])
async def delegate(
    caller: CallerOf, jobs: JobsOf, body: DelegateBody, idempotency_key: IdempotencyKey = ""
) -> DelegatedModel:
    """Route a coding task to a specialised agent. Its answers stream from `/jobs/{id}/events`."""
    fields = body.model_dump(exclude={"user_prompt", "graph", "depends_on", "provider"} | set(ARGUMENTS))
    new = JobSpec(
        **msgspec.structs.asdict(arguments_of(body.model_dump())),
        **fields,
        provider=body.provider or "",
        prompt=body.user_prompt,
        graph_id=body.graph,
        depends_on=tuple(body.depends_on),
        project=caller.project,
    )
    job = await jobs.submit(caller.principal, new, idempotency_key=idempotency_key)
    waiting = (await jobs.waiting([job])).get(job.id)
    return DelegatedModel(acknowledgement=acknowledgement(job.provider, job.prompt), job=JobModel.build(job, waiting))
