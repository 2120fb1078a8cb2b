"""The organisation's running servers and their workers: each writes a line to Redis every few seconds."""

import asyncio
import contextlib
import json
import os
import socket
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends
from pydantic import BaseModel, Field, SecretStr
from pydantic.fields import FieldInfo

from baton.delegate.runners.counts import JobCounts, JobLoad
from baton.kernel.base.oidc_settings import OidcSettings
from baton.kernel.base.settings import Settings
from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel
from baton.kernel.redis.client import Redis, RedisRefused, RedisUnavailable, digest
from baton.lib.text.masking import mask
from baton.operate.health import DependencySince, Health
from baton.people.callers import CallerOf
from baton.people.users import require
from baton.policies.in_force import Policies

# A server's settings as shown to an admin: without any secret.


class SettingInForce(msgspec.Struct, frozen=True, kw_only=True):
    """One setting by its variable. `value` is in its environment form, and empty for a secret.

    `is_default` is False for a value other than Baton's default; `is_secret` is True if a secret is set.
    """

    name: str
    value: str
    is_default: bool
    is_secret: bool
    description: str


def settings_in_force(settings: Settings) -> list[SettingInForce]:
    """Return all settings, in the order of docs/operations.md."""
    given = settings.model_fields_set
    return [
        SettingInForce(
            name="PORT" if name == "port" else f"BATON_{name.upper()}",
            value=shown(value := getattr(settings, name)),
            is_default=name not in given or value == field.default,
            is_secret=isinstance(value, SecretStr) and value.get_secret_value() != "",
            description=field.description or "",
        )
        for name, field in listed(type(settings))
    ]


def listed(settings: type[Settings]) -> list[tuple[str, FieldInfo]]:
    """Return all settings by their fields' names, in reading order.

    The group inherited by `Settings` comes last: few need it, and pydantic puts it first.
    """
    return sorted(settings.model_fields.items(), key=lambda one: one[0] in OidcSettings.model_fields)


def shown(value: object) -> str:
    """Return a value as text; secrets and passwords in it are masked."""
    if isinstance(value, SecretStr) or value is None:
        return ""
    if isinstance(value, (str, Path)):
        return mask(str(value))
    return mask(json.dumps(_plain(value)))


def _plain(value: object) -> object:
    """Return a value in its JSON form; models show their secrets as stars."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value


GONE_AFTER = timedelta(seconds=30)
"""Maximum age of the line of a running worker."""
FORGOTTEN_S = 3_600
"""Retention of the lines in Redis after all servers have ended, in seconds."""


class WorkerState(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process's own report. `revision` is the policy revision in force there."""

    host: str
    server_pid: int  # its supervisor's, or its own for a single process
    pid: int
    version: str
    started_at: datetime
    seen_at: datetime
    phase: str
    revision: str  # servers that differ for long are out of sync


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A server: the processes started by one `baton serve`, the longest running first."""

    host: str
    pid: int
    workers: list[WorkerState]


class Servers:
    """The workers of all servers sharing a Redis; only this one while Redis is unavailable."""

    def __init__(self, redis: Redis, health: Health, policies: Policies, organisation: str, *, is_worker: bool) -> None:
        self._redis = redis
        self._health = health
        self._policies = policies
        self._key = b"{baton}:servers:" + digest(organisation)
        self._host = socket.gethostname()
        self._server_pid = os.getppid() if is_worker else os.getpid()
        self._field = f"{self._host} {os.getpid()}".encode()

    async def leave(self) -> None:
        """Remove this worker's line. Without Redis it expires by its age."""
        with contextlib.suppress(RedisUnavailable):
            await self._redis.call(b"HDEL", self._key, self._field)

    async def list_servers(self) -> list[Server]:
        """List the running servers, by host and process; only this one while Redis is unavailable."""
        own = self._own()
        lines = {self._field: own}
        try:
            reply = await self._redis.call(b"HGETALL", self._key)
        except (RedisUnavailable, RedisRefused):
            reply = []
        for field, line in zip(reply[::2], reply[1::2], strict=True):
            try:
                state = msgspec.json.decode(line, type=WorkerState)
            except msgspec.DecodeError:  # of another version of Baton
                continue
            if own.seen_at - state.seen_at < GONE_AFTER:
                lines.setdefault(bytes(field), state)
        by_server: defaultdict[tuple[str, int], list[WorkerState]] = defaultdict(list)
        for state in sorted(lines.values(), key=lambda one: (one.host, one.server_pid, one.started_at)):
            by_server[state.host, state.server_pid].append(state)
        return [Server(host=host, pid=pid, workers=workers) for (host, pid), workers in by_server.items()]

    async def write(self, _stop: asyncio.Event) -> None:
        """Write this worker's line. Raise RedisUnavailable."""
        line = msgspec.json.encode(self._own())
        await self._redis.pipeline([(b"HSET", self._key, self._field, line), (b"EXPIRE", self._key, FORGOTTEN_S)])

    def _own(self) -> WorkerState:
        return WorkerState(
            host=self._host,
            server_pid=self._server_pid,
            pid=os.getpid(),
            version=self._health.version,
            started_at=self._health.started_at,
            seen_at=datetime.now(UTC),
            phase=self._health.phase,
            revision=self._policies.status.revision,
        )


# `GET /status/servers`, `GET /status/settings`: running servers, start times and settings; for admins and auditors.

router = APIRouter(tags=["health"])
HealthOf = Annotated[Health, Depends(of(Health))]
JobCountsOf = Annotated[JobCounts, Depends(of(JobCounts))]
ServersOf = Annotated[Servers, Depends(of(Servers))]
SettingsOf = Annotated[Settings, Depends(of(Settings))]


ShownWorker = Annotated[WorkerState, ApiModel("WorkerModel", without=("host", "server_pid"))]


_QUEUE = ApiModel(
    "JobQueueModel", without=("queue_age_s",), oldest_s=Annotated[float, Field(validation_alias="queue_age_s")]
)


class ServersModel(BaseModel):
    """Running servers. `queue` is absent while the database is down."""

    servers: list[Annotated[Server, ApiModel(workers=list[ShownWorker])]]
    dependencies: list[Annotated[DependencySince, ApiModel("DependencyModel")]]
    queue: Annotated[JobLoad, _QUEUE] | None = None


class SettingsModel(BaseModel):
    """All settings of the answering server."""

    items: list[Annotated[SettingInForce, ApiModel("SettingModel")]]


@router.get("/status/servers", response_model_exclude_none=True)
async def get_servers(caller: CallerOf, servers: ServersOf, health: HealthOf, jobs: JobCountsOf) -> ServersModel:
    """Show the running servers and workers, the dependencies, and the queue of jobs."""
    require(caller.principal, "metrics.read")
    return ServersModel(
        servers=await servers.list_servers(),
        dependencies=health.dependencies(),
        queue=await health.recent("jobs", jobs.count),
    )


@router.get("/status/settings")
async def get_settings(caller: CallerOf, settings: SettingsOf) -> SettingsModel:
    """Show the settings in force, without secrets."""
    require(caller.principal, "metrics.read")
    return SettingsModel(items=settings_in_force(settings))
