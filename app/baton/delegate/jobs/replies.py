"""Replies to ended jobs: a new job goes on with the agent's thread, where the last one of the thread left it."""

import msgspec

from baton.delegate.core.job import ENDED_STATES, Job, JobArguments, JobSpec
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs as store
from baton.delegate.jobs.comments import DiffComment, checked, diff_of, worded
from baton.delegate.jobs.service import Jobs
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Conflict, Forbidden, Invalid, StoreUnavailable
from baton.kernel.base.sql import Database, DatabaseUnavailable

_SAME = ("provider", "workspace", "isolation", "session_id", "agent_type", "tier", "system_prompt", "thinking_budget")
"""What a reply takes over from the job that it continues."""
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
        """Submit the job that brings a reply to a job's agent; a reply to an earlier job of the thread goes to the newest.

        Args:
            principal: Who replies.
            job_id: A job of the thread.
            message: What to tell the agent; may be empty if there are comments.
            comments: Comments on what the job changed.
            arguments: The model and the times, where they are to be others than before; the rest is the thread's.
            project: The caller's project.

        Raises:
            Conflict: If the thread's newest job has not ended, or never had an agent.
            Forbidden: If the job is another person's.
            Invalid: If a field is not valid; nothing was made.
            NotFound: If there is no such job that the principal may see.
            StoreUnavailable: If the database is away; nothing was made.
        """
        checked(comments)
        if not message.strip() and not comments:
            raise Invalid("message", "is blank, and there are no comments")
        job = await self._jobs.get(principal, job_id)
        if job.user != principal.user:
            raise Forbidden(f"job `{job.id}` is of `{job.user}`, who alone may reply to its agent")
        newest, diff = await self._newest(job)
        which = f"job `{newest.id}`" if newest.id == job.id else f"job `{newest.id}`, which continues `{job.id}`,"
        if newest.state not in ENDED_STATES:
            raise Conflict(f"{which} is `{newest.state}`; reply when it has ended, or cancel it first")
        if not newest.agent_session:
            raise Conflict(
                f"{which} is `{newest.state}` and its agent never began, so there is no thread; use `retry` instead"
            )
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
        """Return the newest job of a thread, and the difference that it left."""
        try:
            async with self._database.transaction() as connection:
                while (later := await store.continued_by(connection, job)) is not None:
                    job = later
                change = await events_store.last_of_type(connection, job.id, "workspace.diff")
        except DatabaseUnavailable:
            raise StoreUnavailable("jobs cannot be read now; nothing was made, try again") from None
        return job, diff_of(change.body) if change else ""


def _title(message: str, comments: tuple[DiffComment, ...]) -> str:
    """Return the line by which people recognise a reply."""
    text = message.strip() or f"{comments[0].file}:{comments[0].line}: {comments[0].text}"
    return f"Reply: {text.splitlines()[0]}"[:_LONGEST_TITLE]
