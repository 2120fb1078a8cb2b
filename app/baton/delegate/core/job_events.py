"""What the rest of the system hears of jobs: each change of state and each question, without prompt, call and output."""

from typing import Any, Literal

from baton.delegate.core.job import Job, State
from baton.engine.call.principal import Principal
from baton.events.emitting.emission import Emitter, natural_id
from baton.events.payloads.base import Ids
from baton.events.payloads.sessions import AgentStatus
from baton.events.payloads.tools import JobChanged, QuestionChanged

_WAITS_FOR: dict[State, str] = {
    "awaiting_permission": "a person's answer to a permission request",
    "blocked": "a job that it depends on",
    "pending_approval": "a person's approval",
}


def emit_state(events: Emitter, organisation: str, job: Job, number: int) -> None:
    """Emit a job's change of state, which is the event `number` of the job."""
    owner = Principal(organisation=organisation, team=job.team, user=job.user)
    ids = Ids(session_id=job.session_id, correlation_id=job.id)
    changed = JobChanged(
        **ids,
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
    status = AgentStatus(
        **ids,
        agent_name=job.agent_type or job.provider,
        state=job.state,
        current_phase=f"attempt {job.attempt}" if job.attempt else "",
        current_task=job.id,
        blocking_reason=_WAITS_FOR.get(job.state, ""),
    )
    events.emit(owner, status, event_id=natural_id("agent-status", job.id, str(number)))


def question_changed(
    job: Job, question_id: str, state: Literal["opened", "answered", "expired"], **values: Any
) -> QuestionChanged:
    """Return the event of a question of a job's agent; `values` are further fields of it."""
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
    """Emit that a question was opened, answered or expired."""
    owner = Principal(organisation=organisation, team=job.team, user=job.user)
    events.emit(owner, changed, event_id=natural_id("questions", changed.question_id, changed.state))
