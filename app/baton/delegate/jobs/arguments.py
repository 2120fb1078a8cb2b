"""The arguments of a job as HTTP takes them: `/delegate`, `/spawn` and the starts of graphs' tasks have the same."""

from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, BaseModel, Field

from baton.delegate.core.job import CONTINUE, JobArguments
from baton.delegate.jobs.new_job import LONGEST_EXPIRY_S, LONGEST_S
from baton.kernel.http.body_fields import MaybeText

LONGEST_MODEL = 200


def _or(default: Any) -> AfterValidator:
    """Read null as the default: agents' tools send null for arguments that they leave out."""
    return AfterValidator(lambda value: default if value is None else value)


_Model = Annotated[str, Field(max_length=LONGEST_MODEL, pattern=r"^([A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*)?$")]
MaybeModel = Annotated[_Model | None, _or("")]
"""A model's name; it becomes an argument of a command, so it must not look like an option."""


class JobLimitsBody(BaseModel):
    """What a job may cost: its agent's model, and times."""

    model: MaybeModel = Field("", description="The agent's model; the agent's own default if absent.")
    timeout_s: int | None = Field(
        None,
        ge=1,
        le=LONGEST_S,
        description="How long the agent may take, in seconds; `BATON_JOB_TIMEOUT_S` if absent.",
    )
    inactivity_timeout_s: int | None = Field(
        None,
        ge=0,
        le=LONGEST_S,
        description="How long the agent may show nothing, in seconds, while it asks nobody for permission; 0 for no"
        " limit, `BATON_JOB_INACTIVITY_S` if absent.",
    )
    queue_expiry_s: int | None = Field(
        None,
        ge=0,
        le=LONGEST_EXPIRY_S,
        description="How long it may wait while no live runner could take it, in seconds; then it fails"
        " (`queue_expired`). 0 for no limit, `BATON_QUEUE_EXPIRY` if absent.",
    )


class JobArgumentsBody(JobLimitsBody):
    """How a job is to be run; everything may be left out."""

    workspace: MaybeText = Field("", description="An alias that your runners know; a runner's first one if absent.")
    isolation: Annotated[Literal["in_place", "worktree"] | None, _or("in_place")] = Field(
        "in_place", description="`worktree` works on a copy."
    )
    thread: Annotated[MaybeText, AfterValidator(lambda thread: thread or CONTINUE)] = Field(
        CONTINUE,
        description="`continue` goes on with what the agent knows of the session's job before, where its runner still"
        " has it; `fresh` begins anew; the id of an ended job of yours goes on with that job's agent, on its runner.",
    )
    concurrent: Annotated[bool | None, _or(default=False)] = Field(
        default=False,
        description="Work in place although another job does in the same folder; else it waits for that one.",
    )


ARGUMENTS = tuple(JobArguments.__struct_fields__)
"""The names of the arguments."""


def arguments_of(fields: dict[str, Any]) -> JobArguments:
    """Return the arguments among a body's fields."""
    return msgspec.convert({name: fields[name] for name in ARGUMENTS if name in fields}, JobArguments)
