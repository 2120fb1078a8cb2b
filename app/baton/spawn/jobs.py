"""Turns a planned start into a job that a runner of its owner takes. It judges nothing: it is asked after that."""

from typing import Literal

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.jobs.service import Job, Jobs, NewJob
from baton.engine.agents.judge import Spawn
from baton.engine.agents.plan import Plan
from baton.engine.call.principal import Principal

Execute = Literal["plan", "run"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A start that is asked for. `roster` names one roster, "" the team's list; without `execute` nothing runs."""

    spawn: Spawn
    execute: Execute | None = None
    session_id: str = ""
    project: str = ""
    workspace: str = ""
    roster: str = ""


class SpawnJobs:
    """The jobs of started agents."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    async def start(
        self,
        principal: Principal,
        asked: Asked,
        plan: Plan,
        *,
        connection: AsyncConnection | None = None,
        graph_id: str = "",
        task: str = "",
    ) -> Job:
        """Make the job; in the caller's transaction where there is one, which `announce` must follow. Raises as `submit`."""
        new = NewJob(
            prompt=plan.stdin,
            provider=plan.acp.provider,
            description=asked.spawn.description,
            session_id=asked.session_id,
            project=asked.project,
            workspace=asked.workspace,
            graph_id=graph_id,
            task=task,
            agent_type=plan.agent,
            tier=plan.tier,
            model=plan.cli_model,
            system_prompt=plan.system_prompt,
            thinking_budget=plan.thinking_budget or None,
        )
        return await self._jobs.submit(principal, new, connection=connection)

    async def announce(self, job: Job) -> None:
        """Wake who waits for a job, once it is committed."""
        await self._jobs.announce(job)
