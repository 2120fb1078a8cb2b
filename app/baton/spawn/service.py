"""Starts agents: judges a request by the caller's rosters, plans the start, and submits its job if requested.

`spawn.graphs` adds the start times of task graphs.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection
from uuid_utils import uuid4

from baton.delegate.core.job import Job, JobArguments, JobSpec
from baton.delegate.core.waiting import Waiting
from baton.delegate.jobs.service import Jobs
from baton.kernel.base.errors import FieldError, Invalid, ParallelExecutionError, SpawnRefused
from baton.machines.inventories import PROVIDER, Inventories
from baton.people.users import require
from baton.policies.in_force import Policies
from baton.rules.agents.judge import Refusal, RefusalCode, Spawn, judge
from baton.rules.agents.plan import Plan
from baton.rules.agents.rosters import Rosters
from baton.rules.call.call import Principal

# Turns a planned start into a job for one of its owner's runners.

Execute = Literal["plan", "run"]


class SpawnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to start an agent. `roster` names one roster, "" the team's list; without `execute` nothing runs.

    `arguments` are its job's; the model is the plan's.
    """

    spawn: Spawn
    execute: Execute | None = None
    session_id: str = ""
    project: str = ""
    arguments: JobArguments = JobArguments()
    roster: str = ""


async def start_job(
    jobs: Jobs,
    principal: Principal,
    request: SpawnRequest,
    plan: Plan,
    *,
    connection: AsyncConnection | None = None,
    graph_task: tuple[str, str] = ("", ""),
) -> Job:
    """Submit the job of a plan; `graph_task` is the graph's id and the task's name. Raises like `Jobs.submit`.

    With a `connection` the job is made in the caller's transaction; the caller awaits `Jobs.announce` after its commit.
    """
    graph_id, task = graph_task
    spec = JobSpec(
        **(msgspec.structs.asdict(request.arguments) | {"model": plan.cli_model}),
        prompt=plan.stdin,
        provider=plan.acp.provider,
        description=request.spawn.description,
        session_id=request.session_id,
        project=request.project,
        graph_id=graph_id,
        task=task,
        agent_type=plan.agent,
        tier=plan.tier,
        system_prompt=plan.system_prompt,
        thinking_budget=plan.thinking_budget or None,
    )
    return await jobs.submit(principal, spec, connection=connection)


_PATIENCE_S = 5.0
"""Timeout of a start for combining the caller's policies, in seconds; a tool call does not wait."""
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
    """An allowed start: its plan, its job, if any, and the broken rule of the waves, or "".

    `waiting` is the job's reason to wait in its queue, None if a runner may take it at once.
    """

    plan: Plan
    job_id: str = ""
    job_state: str = ""
    waiting: Waiting | None = None
    task: str = ""
    violation: str = ""


class Spawns:
    """Judges, plans and submits starts."""

    def __init__(self, policies: Policies, jobs: Jobs, inventories: Inventories) -> None:
        self._policies = policies
        self._inventories = inventories
        self._jobs = jobs

    async def spawn(self, principal: Principal, request: SpawnRequest) -> SpawnResult:
        """Start an agent outside any graph.

        Raises:
            Forbidden: If the role may not start agents.
            Invalid: If the roster is unknown.
            SpawnRefused: If the rosters forbid the start; nothing was started.
            StoreUnavailable: If the database is unavailable; nothing was started.
        """
        require(principal, "spawns.make")
        plan = await self.judge(principal, request)
        if request.execute != "run":
            return SpawnResult(plan=plan)
        job = await start_job(self._jobs, principal, request, plan)
        waiting = (await self._jobs.waiting([job])).get(job.id)
        return SpawnResult(plan=plan, job_id=job.id, job_state=job.state, waiting=waiting)

    async def judge(self, principal: Principal, request: SpawnRequest) -> Plan:
        """Judge a start and return its plan.

        Raises:
            Invalid: If the roster is unknown.
            SpawnRefused: If the rosters forbid the start.
        """
        spawn = request.spawn
        rosters = await self.rosters(principal, request.project, request.roster, spawn.agent_type, spawn.spawning_agent)
        agents, _ = await self._inventories.of_session(principal, request.session_id, PROVIDER, request.project)
        own = agents.agent(spawn.agent_type) if agents else None
        found = judge(rosters, spawn, f"agent_{uuid4().hex}", own)
        if isinstance(found, Refusal):
            raise refusal_error(found)
        return found

    async def rosters(
        self, principal: Principal, project: str, roster: str, agent: str = "", spawner: str = ""
    ) -> Rosters:
        """Return the rosters for judging a start: one by name, or the team's list, then the others.

        Raises:
            Invalid: If no roster has this name.
        """
        rosters = (await self._policies.prepare(principal, project, wait_s=_PATIENCE_S)).policies.rosters
        if not roster:
            return rosters.around(agent, spawner)
        if roster not in rosters.by_id:
            raise Invalid("roster", f"is `{roster}`, an unknown roster", sorted(rosters.by_id))
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
