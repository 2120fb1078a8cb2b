"""Which servers of the organisation run, and their worker processes: each writes a line to Redis every few seconds."""

import asyncio
import os
import socket
from collections import defaultdict
from datetime import UTC, datetime, timedelta

import msgspec

from baton.kernel.base.pause import pause
from baton.kernel.redis.client import Redis, RedisRefused, RedisUnavailable
from baton.kernel.redis.session_keys import digest
from baton.operate.health import Health
from baton.policies.in_force import Policies

EVERY_S = 5.0
"""How often a worker writes its line."""
GONE_AFTER = timedelta(seconds=30)
"""A worker that wrote no line for so long is taken for one that has ended."""
FORGOTTEN_S = 3_600
"""How long Redis keeps the lines when all servers are gone."""


class WorkerState(msgspec.Struct, frozen=True, kw_only=True):
    """One worker process as it wrote itself down. `server_pid` is its supervisor's, or its own where there is one process."""

    host: str
    server_pid: int
    pid: int
    version: str
    started_at: datetime
    seen_at: datetime
    phase: str
    revision: str
    """The policy revision in force; servers that differ for more than a moment are out of step."""


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A server and its workers, the one that has run for longest first."""

    host: str
    pid: int
    workers: list[WorkerState]


class Servers:
    """The workers of all servers that share a Redis; while it is away, this one alone."""

    def __init__(self, redis: Redis, health: Health, policies: Policies, organisation: str, *, is_worker: bool) -> None:
        self._redis = redis
        self._health = health
        self._policies = policies
        self._key = b"baton:servers:" + digest(organisation)
        self._host = socket.gethostname()
        self._server_pid = os.getppid() if is_worker else os.getpid()
        self._field = f"{self._host} {os.getpid()}".encode()

    async def run(self, stop: asyncio.Event) -> None:
        """Write this worker's line every few seconds, and remove it at the end."""
        while not stop.is_set():
            await self._health.check()  # so that a dependency's `since` is right to a few seconds
            await self._write()
            await pause(stop, EVERY_S)
        try:
            await self._redis.call(b"HDEL", self._key, self._field)
        except RedisUnavailable:
            return  # the line ends by its age

    async def find(self) -> list[Server]:
        """List the servers that are running, by host and process; this one first where Redis is away."""
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

    async def _write(self) -> None:
        line = msgspec.json.encode(self._own())
        try:
            await self._redis.pipeline(
                [(b"HSET", self._key, self._field, line), (b"EXPIRE", self._key, FORGOTTEN_S)],
            )
        except RedisUnavailable:
            return  # the next turn tries again

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
