"""What the rest of the system hears of jobs: each change of state, without the prompt and the output."""

from baton.delegate.core.job import Job, State
from baton.engine.call.principal import Principal
from baton.events.emission import Emitter, natural_id
from baton.events.payloads.base import Ids
from baton.events.payloads.sessions import AgentStatus
from baton.events.payloads.tools import JobChanged

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
