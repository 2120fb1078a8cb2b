"""Starting agents: judged by the rosters that hold for the caller, planned, and run as a job if that is asked.

It knows no task graphs: `graph_spawns` does.
"""

from collections.abc import Mapping

import msgspec
from uuid_utils import uuid4

from baton.engine.agents.judge import Refusal, RefusalCode, judge
from baton.engine.agents.plan import Plan
from baton.engine.agents.rosters import Rosters
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import FieldError, Invalid, ParallelExecutionError, SpawnRefused
from baton.people.permissions import require
from baton.policies.in_force import Policies
from baton.spawn.jobs import Asked, SpawnJobs

_PATIENCE_S = 5.0
"""How long a start, unlike a call, waits until the policies of its caller are combined, in seconds."""
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


class Spawned(msgspec.Struct, frozen=True, kw_only=True):
    """An agent whose start was allowed: how, and the job that runs it, if one does. `violation` is what was let pass."""

    plan: Plan
    job_id: str = ""
    job_state: str = ""
    task: str = ""
    violation: str = ""


class Spawns:
    """Judges and plans starts, and has them run."""

    def __init__(self, policies: Policies, jobs: SpawnJobs) -> None:
        self._policies = policies
        self._jobs = jobs

    async def spawn(self, principal: Principal, asked: Asked) -> Spawned:
        """Start an agent outside any graph.

        Raises:
            Forbidden: the role may start none.
            Invalid: there is no such roster.
            SpawnRefused: the rosters forbid it; nothing was started.
            StoreUnavailable: the database is away; nothing was started.
        """
        require(principal, "spawns.make")
        plan = await self.judge(principal, asked)
        if asked.execute != "run":
            return Spawned(plan=plan)
        job = await self._jobs.start(principal, asked, plan)
        return Spawned(plan=plan, job_id=job.id, job_state=job.state)

    async def judge(self, principal: Principal, asked: Asked) -> Plan:
        """Judge a start and plan it.

        Raises:
            Invalid: there is no such roster.
            SpawnRefused: the rosters forbid it.
        """
        spawn = asked.spawn
        rosters = await self.rosters(principal, asked.project, asked.roster, spawn.agent_type, spawn.spawning_agent)
        found = judge(rosters, spawn, f"agent_{uuid4().hex}")
        if isinstance(found, Refusal):
            raise refused(found)
        return found

    async def rosters(
        self, principal: Principal, project: str, roster: str, agent: str = "", spawner: str = ""
    ) -> Rosters:
        """Give the rosters to ask: one by name, or the team's list and after it the others, as the start needs them.

        Raises:
            Invalid: there is no roster of that name.
        """
        rosters = (await self._policies.prepare(principal, project, wait_s=_PATIENCE_S)).policies.rosters
        if not roster:
            return rosters.around(agent, spawner)
        if roster not in rosters.by_id:
            raise Invalid("roster", f"is `{roster}`, which is no roster", sorted(rosters.by_id))
        return rosters.alone(roster)


def refused(refusal: Refusal, prefix: str = "") -> SpawnRefused:
    """Turn what the engine says into the error that the caller gets; `prefix` stands before each field's name."""
    kind = ParallelExecutionError if refusal.code in ("wrong_wave", "parallel_window") else SpawnRefused
    allowed = list(refusal.allowed)
    missing = refusal.code == "missing_metadata"
    errors = [
        FieldError(prefix + field, "is missing or blank" if missing else refusal.detail, [] if missing else allowed)
        for field in refusal.fields
    ]
    return kind(refusal.code, _STATUS[refusal.code], refusal.detail, *errors, given=refusal.given, allowed=allowed)
