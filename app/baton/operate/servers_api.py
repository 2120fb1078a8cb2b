"""`GET /status/servers`, `GET /status/settings`: what runs, since when, and with which settings; for admins and auditors."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field

from baton.delegate.runners.counts import JobCounts
from baton.kernel.base.settings import Settings
from baton.kernel.http.features import of
from baton.operate.health import Health
from baton.operate.servers import Servers
from baton.operate.settings_in_force import settings_in_force, shown
from baton.people.callers import CallerOf
from baton.people.permissions import require

router = APIRouter(tags=["health"])
HealthOf = Annotated[Health, Depends(of(Health))]
JobCountsOf = Annotated[JobCounts, Depends(of(JobCounts))]
ServersOf = Annotated[Servers, Depends(of(Servers))]
SettingsOf = Annotated[Settings, Depends(of(Settings))]


class WorkerModel(BaseModel):
    """A worker process."""

    pid: int
    version: str
    started_at: datetime
    seen_at: datetime
    phase: str
    revision: str = Field(description="The policy revision in force there.")


class ServerModel(BaseModel):
    """A server: the processes that one `baton serve` started."""

    host: str
    pid: int
    workers: list[WorkerModel]


class DependencyModel(BaseModel):
    """A dependency as the process that answers sees it."""

    name: Literal["redis", "database"]
    state: Literal["up", "down"]
    since: datetime
    place: str = Field(description="Where it is, without credentials.")


class JobQueueModel(BaseModel):
    """Delegated jobs of the organisation, by state."""

    jobs: dict[str, int]
    oldest_s: float = Field(description="How long the oldest queued job has waited, in seconds.")
    runners_alive: int = Field(description="Runners that were heard of within a minute.")


class ServersModel(BaseModel):
    """What runs. `queue` is absent while the database is down."""

    servers: list[ServerModel]
    dependencies: list[DependencyModel]
    queue: JobQueueModel | None = None


class SettingModel(BaseModel):
    """A setting in force. The value of a secret is never shown."""

    name: str
    value: str
    is_default: bool
    is_secret: bool = Field(description="True if a secret is set.")
    description: str


class SettingsModel(BaseModel):
    """All settings of the server that answers."""

    items: list[SettingModel]


@router.get("/status/servers", operation_id="get_servers", response_model_exclude_none=True)
async def get_servers(
    caller: CallerOf, servers: ServersOf, health: HealthOf, jobs: JobCountsOf, settings: SettingsOf
) -> ServersModel:
    """Show the servers and workers that run, the dependencies, and the queue of jobs."""
    require(caller.principal, "metrics.read")
    await health.check()
    places = {
        "redis": shown(settings.redis_url) or "the bundled Valkey",
        "database": shown(settings.database_url) or "SQLite in the home folder",
    }
    totals = await jobs.count()
    return ServersModel(
        servers=[ServerModel.model_validate(one, from_attributes=True) for one in await servers.find()],
        dependencies=[
            DependencyModel(name=one.name, state=one.state, since=one.since, place=places[one.name])
            for one in health.dependencies()
        ],
        queue=totals
        and JobQueueModel(jobs=totals.jobs, oldest_s=totals.queue_age_s, runners_alive=totals.runners_alive),
    )


@router.get("/status/settings", operation_id="get_settings")
async def get_settings(caller: CallerOf, settings: SettingsOf) -> SettingsModel:
    """Show the settings in force, without secrets."""
    require(caller.principal, "metrics.read")
    return SettingsModel(
        items=[SettingModel.model_validate(one, from_attributes=True) for one in settings_in_force(settings)]
    )
