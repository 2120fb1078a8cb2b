"""Starts agents: judges a request by the caller's rosters, plans the start, and submits its job if it is to run.

Task graphs, which add when a task may start, are in `spawn.graphs`.
"""

from collections.abc import Mapping

import msgspec
from uuid_utils import uuid4

from baton.clients.inventories import PROVIDER, Inventories
from baton.delegate.core.waiting import Waiting
from baton.engine.agents.judge import Refusal, RefusalCode, judge
from baton.engine.agents.plan import Plan
from baton.engine.agents.rosters import Rosters
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import FieldError, Invalid, ParallelExecutionError, SpawnRefused
from baton.people.permissions import require
from baton.policies.in_force import Policies
from baton.spawn.jobs import SpawnJobs, SpawnRequest

_PATIENCE_S = 5.0
"""How long a start waits until the caller's policies are combined, in seconds; a tool call does not wait."""
_STATUS: Mapping[RefusalCode, int] = {
    "already_spawned": 409,
    "conflict": 409,
    "hierarchy": 403,
    "missing_metadata": 422,
    "parallel_window": 409,
    "tool_not_allowed": 403,
    "unknown_agent": 422,
    "wrong_wave": 409,
}


class SpawnResult(msgspec.Struct, frozen=True, kw_only=True):
    """An allowed start: its plan, the job that runs it, if any, and the rule of the waves that it broke, "" for none.

    `waiting` says why the job waits in its queue, None if a runner may take it at once.
    """

    plan: Plan
    job_id: str = ""
    job_state: str = ""
    waiting: Waiting | None = None
    task: str = ""
    violation: str = ""


class Spawns:
    """Judges, plans and submits starts."""

    def __init__(self, policies: Policies, jobs: SpawnJobs, inventories: Inventories) -> None:
        self._policies = policies
        self._inventories = inventories
        self._jobs = jobs

    async def spawn(self, principal: Principal, request: SpawnRequest) -> SpawnResult:
        """Start an agent outside any graph.

        Raises:
            Forbidden: If the role may not start agents.
            Invalid: If there is no such roster.
            SpawnRefused: If the rosters forbid the start; nothing was started.
            StoreUnavailable: If the database is away; nothing was started.
        """
        require(principal, "spawns.make")
        plan = await self.judge(principal, request)
        if request.execute != "run":
            return SpawnResult(plan=plan)
        job = await self._jobs.start(principal, request, plan)
        waiting = (await self._jobs.waiting([job])).get(job.id)
        return SpawnResult(plan=plan, job_id=job.id, job_state=job.state, waiting=waiting)

    async def judge(self, principal: Principal, request: SpawnRequest) -> Plan:
        """Judge a start and return its plan.

        Raises:
            Invalid: If there is no such roster.
            SpawnRefused: If the rosters forbid the start.
        """
        spawn = request.spawn
        rosters = await self.rosters(principal, request.project, request.roster, spawn.agent_type, spawn.spawning_agent)
        agents, _ = await self._inventories.of_session(principal, request.session_id, PROVIDER, request.project)
        own = agents.find(spawn.agent_type) if agents else None
        found = judge(rosters, spawn, f"agent_{uuid4().hex}", own)
        if isinstance(found, Refusal):
            raise refusal_error(found)
        return found

    async def rosters(
        self, principal: Principal, project: str, roster: str, agent: str = "", spawner: str = ""
    ) -> Rosters:
        """Return the rosters that judge a start: one by name, or the team's list, and after it the others.

        Raises:
            Invalid: If there is no roster of that name.
        """
        rosters = (await self._policies.prepare(principal, project, wait_s=_PATIENCE_S)).policies.rosters
        if not roster:
            return rosters.around(agent, spawner)
        if roster not in rosters.by_id:
            raise Invalid("roster", f"is `{roster}`, which is not a roster", sorted(rosters.by_id))
        return rosters.alone(roster)


def refusal_error(refusal: Refusal, prefix: str = "") -> SpawnRefused:
    """Return the engine's refusal as an error; `prefix` is put before each field's name."""
    kind = ParallelExecutionError if refusal.code in ("wrong_wave", "parallel_window") else SpawnRefused
    allowed = list(refusal.allowed)
    missing = refusal.code == "missing_metadata"
    errors = [
        FieldError(prefix + field, "is missing or blank" if missing else refusal.detail, [] if missing else allowed)
        for field in refusal.fields
    ]
    return kind(refusal.code, _STATUS[refusal.code], refusal.detail, *errors, given=refusal.given, allowed=allowed)
