"""Jobs in traces: the span of an attempt, under which its agent's own calls stand."""

from baton.delegate.core.job import Job
from baton.kernel.base import trace
from baton.records.pipeline.telemetry import JobEnd


def job_end(job: Job) -> JobEnd:
    """Return what is traced of a job that has ended."""
    ended_at = job.ended_at or job.created_at
    same = {name: getattr(job, name) for name in JobEnd.__struct_fields__ if name in Job.__struct_fields__}
    return JobEnd(**same | {"ended_at": ended_at}, began_at=min(job.started_at or job.created_at, ended_at))


def traceparent_for_agent(job: Job, *, is_traced: bool) -> str:
    """Return the `traceparent` that a job's agent gets, so that its calls belong to the job's span.

    Args:
        job: The leased job, with the attempt that begins.
        is_traced: Whether the server sends spans: then a job that came without a trace belongs to its session's.

    Returns:
        The text, "" where there is no trace.
    """
    parent = trace.parts(job.traceparent)
    if parent is None and not is_traced:
        return ""
    trace_id = parent[0] if parent else trace.trace_id(job.organisation, job.user, job.session_id)
    span_id = trace.span_id("job", job.id, str(job.attempt))
    return trace.traceparent_of(trace_id, span_id, sampled=parent is None or parent[2])
