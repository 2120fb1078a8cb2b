"""Records for tests, and a recorder with the drain that its server keeps in a process of its own."""

import asyncio
from datetime import UTC, datetime

from uuid_utils import uuid7

from baton.engine.call.record import Record
from baton.kernel.base.driver import driver
from baton.kernel.base.sql import driver_target
from baton.kernel.redis.client import Redis
from baton.records.pipeline import store as decisions
from baton.records.pipeline.drain import Drain
from baton.records.pipeline.recorder import Recorder
from baton.records.pipeline.store import Filters
from baton.records.pipeline.stream import RecordStream


def record(**fields):
    given = {"organisation": "default", "team": "t", "user": "ann", "client": "codex", "event": "PreToolUse"}
    return Record(id=str(uuid7()), at=datetime.now(UTC), **(given | fields))


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def stored(database):
    return sum((await decisions.counts(database, "default", Filters())).values())


class Both:
    """A recorder, and the drain that its server keeps in a process of its own."""

    def __init__(self, settings, url, database):
        self.recorder = Recorder(settings, url, database)
        self.put = self.recorder.put
        self._redis = Redis(url, timeout_s=5)
        target = driver_target(database.engine.url)
        self._driver = driver(target)
        self.drain = Drain(RecordStream(self._redis), self._driver, target.dialect)

    async def start(self):
        await self._redis.start()
        await self.recorder.start()
        self._task = asyncio.create_task(self.drain.run())

    async def stop(self):
        await self.recorder.stop()
        self.drain.finish()
        await self._task
        await self._driver.close()
        await self._redis.close()

    def stats(self):
        return self.recorder.counts() | {"stored": self.drain.stored, "set_aside": self.drain.set_aside}
