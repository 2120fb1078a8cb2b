"""Events of jobs for the rest of the system: state changes and questions, without prompt, call and output."""

from typing import Any, Literal

from baton.delegate.core.job import Job
from baton.events.emission import Emitter, natural_id
from baton.events.payloads import JobChanged, QuestionChanged
from baton.kernel.base import trace
from baton.records.pipeline.telemetry import EndedAttempt
from baton.rules.call.call import Principal


def emit_state(events: Emitter, organisation: str, job: Job, number: int) -> None:
    """Emit a job's change of state, its event `number`."""
    owner = Principal(organisation=organisation, team=job.team, user=job.user)
    changed = JobChanged(
        session_id=job.session_id,
        correlation_id=job.id,
        job_id=job.id,
        state=job.state,
        agent=job.agent_type,
        provider=job.provider,
        model=job.model,
        project=job.project,
        attempt=job.attempt,
        reason=job.error_code,
        runner_user=job.runner_user,
    )
    events.emit(owner, changed, event_id=natural_id("jobs", job.id, str(number)))


def question_changed(
    job: Job, question_id: str, state: Literal["opened", "answered", "expired"], **values: Any
) -> QuestionChanged:
    """Return the event of a question of a job's agent, with further fields from `values`."""
    return QuestionChanged(
        session_id=job.session_id,
        correlation_id=job.id,
        question_id=question_id,
        job_id=job.id,
        state=state,
        agent=job.agent_type or job.provider,
        project=job.project,
        runner_user=job.runner_user,
        **values,
    )


def emit_question(events: Emitter, organisation: str, job: Job, changed: QuestionChanged) -> None:
    """Emit an opened, answered or expired question."""
    owner = Principal(organisation=organisation, team=job.team, user=job.user)
    events.emit(owner, changed, event_id=natural_id("questions", changed.question_id, changed.state))


# Traces of jobs: an attempt's span contains its agent's calls.


def job_end(job: Job) -> EndedAttempt:
    """Return the trace data of an ended job."""
    ended_at = job.ended_at or job.created_at
    same = {name: getattr(job, name) for name in EndedAttempt.__struct_fields__ if name in Job.__struct_fields__}
    return EndedAttempt(**same | {"ended_at": ended_at}, began_at=min(job.started_at or job.created_at, ended_at))


def traceparent_for_agent(job: Job, *, is_traced: bool) -> str:
    """Return the `traceparent` for a job's agent, or "". If `is_traced`, untraced jobs join the session's trace."""
    parent = trace.parts(job.traceparent)
    if parent is None and not is_traced:
        return ""
    trace_id = parent[0] if parent else trace.trace_id(job.organisation, job.user, job.session_id)
    span_id = trace.span_id("job", job.id, str(job.attempt))
    return trace.traceparent_of(trace_id, span_id, sampled=parent is None or parent[2])
