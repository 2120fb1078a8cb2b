"""A thread's summary, for an agent that cannot resume it."""

from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import CONTINUE, FRESH, Job
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs as store

MOST_JOBS = 6  # maximum number of jobs in a summary: the first and the last ones
_LONGEST_WORDS = 4_000  # maximum length of each prompt and answer, in characters
_MOST_FILES = 50
_LONGEST_THREAD = 50


async def recap_of(connection: AsyncConnection, job: Job) -> str:
    """Return the summary of the thread continued by a job, or ""."""
    thread: list[Job] = []
    name = job.thread
    while name not in {CONTINUE, FRESH} and len(thread) < _LONGEST_THREAD:
        before = await store.get(connection, job.organisation, name)
        if before is None:  # deleted by retention
            break
        thread.append(before)
        name = before.thread
    told = thread if len(thread) <= MOST_JOBS else [*thread[: MOST_JOBS - 1], thread[-1]]
    return "\n\n".join([await _told(connection, one) for one in reversed(told)])


async def _told(connection: AsyncConnection, job: Job) -> str:
    parts = [f"You were asked:\n{_cut(job.prompt)}"]
    change = await events_store.last_of_type(connection, job.id, "workspace.diff")
    files = change.body.get("files") if change else None
    if isinstance(files, list):
        names = [str(file.get("path", "")) for file in files[:_MOST_FILES] if isinstance(file, dict)]
        if names:
            parts.append(f"You changed: {', '.join(names)}")
    parts.append(f"You answered:\n{_cut(job.output)}" if job.output else f"You gave no answer: the task {job.state}.")
    return "\n".join(parts)


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_WORDS:
        return text
    half = _LONGEST_WORDS // 2
    return f"{text[:half]}\n[…]\n{text[-half:]}"
