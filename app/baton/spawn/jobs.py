"""Turns a planned start into a job, which one of its owner's runners takes."""

from collections.abc import Sequence
from typing import Literal

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.job import Job, JobArguments, JobSpec
from baton.delegate.core.waiting import Waiting
from baton.delegate.jobs.service import Jobs
from baton.engine.agents.judge import Spawn
from baton.engine.agents.plan import Plan
from baton.engine.call.principal import Principal

Execute = Literal["plan", "run"]


class SpawnRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request to start an agent. `roster` names one roster, "" the team's list; without `execute` nothing runs.

    `arguments` are those of its job; its model is the plan's.
    """

    spawn: Spawn
    execute: Execute | None = None
    session_id: str = ""
    project: str = ""
    arguments: JobArguments = JobArguments()
    roster: str = ""


class SpawnJobs:
    """The jobs of started agents."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def start(
        self,
        principal: Principal,
        request: SpawnRequest,
        plan: Plan,
        *,
        connection: AsyncConnection | None = None,
        graph_task: tuple[str, str] = ("", ""),
    ) -> Job:
        """Submit the job of a plan; `graph_task` is the graph's id and the task's name. Raises as `Jobs.submit`.

        With a `connection` the job is made in the caller's transaction; the caller awaits `announce` after its commit.
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
        return await self._jobs.submit(principal, spec, connection=connection)

    async def announce(self, job: Job) -> None:
        """Wake the tasks that wait for a job, once it is committed."""
        await self._jobs.announce(job)

    async def waiting(self, jobs: Sequence[Job]) -> dict[str, Waiting]:
        """Return why those of these jobs that are queued wait, by their ids; nothing while the database is away."""
        return await self._jobs.waiting(jobs)
