"""The tables of jobs, their events, and of runners."""

from datetime import datetime
from typing import Any

from sqlalchemy import Index

from baton.delegate.core.job import Job, JobEvent, Runner
from baton.kernel.base.sql import table_of, types_of

JOBS = table_of(
    "jobs",
    Job,
    Index("ix_jobs_user", "organisation", "user", "id"),
    Index("ix_jobs_session", "organisation", "user", "session_id"),
    Index("ix_jobs_state", "organisation", "state", "queued_at"),
    Index("ix_jobs_created", "organisation", "created_at"),
    Index("ux_jobs_idempotency", "organisation", "user", "idempotency_key", unique=True),
)  # delegated tasks, with one column per field of `Job`
EVENTS = table_of(
    "job_events",
    types_of(JobEvent) | {"user": str, "session_id": str},
    Index("ux_job_events_seq", "job_id", "attempt", "seq", unique=True),
    Index("ix_job_events_session", "organisation", "user", "session_id", "session_no"),
    keys=("job_id", "no"),
)
RUNNERS = table_of("runners", Runner, keys=("organisation", "user", "id"))
"""The machines that run their owners' jobs."""
COMMANDS = table_of(
    "runner_commands",
    dict.fromkeys(("user", "runner_id", "job_id", "kind"), str)
    | {"attempt": int, "body": dict[str, Any], "created_at": datetime},
    Index("ix_runner_commands_runner", "organisation", "user", "runner_id", "id"),
)
"""Commands for runners, until they are acknowledged."""
SESSIONS = table_of(
    "session_delegation", {"agent_mode": str, "next_no": int}, keys=("organisation", "user", "session_id")
)
"""The agent modes of delegating sessions, and the numbers of their next events."""
