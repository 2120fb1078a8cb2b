"""Execution options in requests: the same for `/delegate`, `/spawn` and graphs' tasks."""

from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, BaseModel, Field

from baton.delegate.core.job import CONTINUE, JobArguments
from baton.delegate.core.protocol import DEFAULT_MODE
from baton.delegate.core.stores import events as events_store
from baton.delegate.jobs.new_job import LONGEST_EXPIRY_S, LONGEST_S
from baton.kernel.base.errors import NotFound
from baton.kernel.base.sql import Database
from baton.kernel.http.fields import MaybeText
from baton.people.users import Users, require
from baton.rules.call.call import Principal

LONGEST_MODEL = 200


def _or(default: Any) -> AfterValidator:
    """Read null as the default: agents' tools send null for omitted arguments."""
    return AfterValidator(lambda value: default if value is None else value)


_Model = Annotated[str, Field(max_length=LONGEST_MODEL, pattern=r"^([A-Za-z0-9][A-Za-z0-9._:/@\[\]-]*)?$")]
MaybeModel = Annotated[_Model | None, _or("")]  # becomes a command's argument: not like an option


class JobLimitsBody(BaseModel):
    """Limits of a job: its agent's model, and timeouts."""

    model: MaybeModel = Field("", description="The agent's model. Default: the agent's own.")
    timeout_s: int | None = Field(
        None, ge=1, le=LONGEST_S, description="The agent's timeout, in seconds. Default: `BATON_JOB_TIMEOUT_S`."
    )
    inactivity_timeout_s: int | None = Field(
        None,
        ge=0,
        le=LONGEST_S,
        description="The agent's timeout without output or pending permission, in seconds; 0: no limit. Default:"
        " `BATON_JOB_INACTIVITY_S`.",
    )
    queue_expiry_s: int | None = Field(
        None,
        ge=0,
        le=LONGEST_EXPIRY_S,
        description="Time without a suitable live runner before it fails (`queue_expired`), in seconds; 0: no limit."
        " Default: `BATON_QUEUE_EXPIRY`.",
    )


class JobArgumentsBody(JobLimitsBody):
    """Optional execution options of a job."""

    workspace: MaybeText = Field("", description="An alias known to your runners. Default: a runner's first alias.")
    isolation: Annotated[Literal["in_place", "worktree"] | None, _or("in_place")] = Field(
        "in_place", description="`worktree` works on a copy."
    )
    thread: Annotated[MaybeText, AfterValidator(lambda thread: thread or CONTINUE)] = Field(
        CONTINUE,
        description="`continue` resumes the agent of the session's previous job, if its runner still has it; `fresh` starts a new one; the id of one of your ended jobs resumes its agent, on its runner.",
    )
    concurrent: Annotated[bool | None, _or(default=False)] = Field(
        default=False, description="Work in place even if another job works in the same folder; otherwise wait for it."
    )


ARGUMENTS = tuple(JobArguments.__struct_fields__)  # the names of the options


def arguments_of(fields: dict[str, Any]) -> JobArguments:
    """Return the execution options among a body's fields."""
    return msgspec.convert({name: fields[name] for name in ARGUMENTS if name in fields}, JobArguments)


class AgentMode(msgspec.Struct, frozen=True, kw_only=True):
    """A session's delegated agent, `default_mode` without delegation. `provider` is the last job's."""

    user: str
    session_id: str
    agent_mode: str = DEFAULT_MODE
    provider: str = ""


class AgentModes:
    """Reads the agent modes of sessions."""

    def __init__(self, database: Database, users: Users) -> None:
        self._database = database
        self._users = users

    async def get(self, principal: Principal, session_id: str, user: str = "", *, fresh: bool = True) -> AgentMode:
        """Return a session's agent mode, first the principal's own. Raise NotFound or StoreUnavailable.

        With `fresh`, a session without delegations counts as the principal's own.
        """
        require(principal, "jobs.read")
        organisation = principal.organisation
        async with self._database.transaction("sessions cannot be read now; try again") as connection:
            owners = await events_store.owners(connection, organisation, session_id)
            if fresh and not owners and user in {"", principal.user}:
                return AgentMode(user=principal.user, session_id=session_id)
            found = [
                owner
                for owner in sorted(owners, key=lambda owner: owner != principal.user)
                if user in {"", owner} and self._users.covers(principal, "jobs.read", owner)
            ]
            if not found:
                raise NotFound(f"nothing was delegated in session `{session_id[:100]}`")
            mode = await events_store.mode_of(connection, organisation, found[0], session_id)
            provider = await events_store.last_provider(connection, organisation, found[0], session_id)
        return AgentMode(user=found[0], session_id=session_id, agent_mode=mode or DEFAULT_MODE, provider=provider)
