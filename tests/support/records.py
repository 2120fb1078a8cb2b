"""Records for tests, and a recorder with its server's separate drain process."""

import asyncio
from collections import Counter
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory

from baton.events.log import Log
from baton.events.writer import LogWriter
from baton.kernel.base.driver import driver
from baton.kernel.base.sql import driver_target
from baton.kernel.redis.client import Redis
from baton.records.pipeline.drain import Drain
from baton.records.pipeline.recorder import Recorder
from baton.records.pipeline.search import Filters
from baton.records.pipeline.spool import Spool
from baton.records.review import decision_counts as decision_counts_store
from baton.rules.call.record import Record
from baton.shared.record_ids import least_id

_numbers = count()


def id_at(moment):
    """Return a UUIDv7 of a moment; of two of the same millisecond the second is the greater."""
    whole_ms = moment.replace(microsecond=moment.microsecond // 1000 * 1000)
    return f"{least_id(whole_ms)[:13]}-7000-8000-{next(_numbers):012x}"


def record(**fields):
    given = {
        "at": datetime.now(UTC), "organisation": "default", "team": "t", "user": "ann", "client": "codex",
        "event": "PreToolUse",
    }  # fmt: skip
    given |= fields
    return Record(**({"id": id_at(given["at"])} | given))


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def counts(database, organisation, wanted):
    """Return how many of the wanted decisions are stored of each effect, as their columns and rows count them."""
    _, rows = await decision_counts_store.counts(database, organisation, wanted, "day", "effect")
    return dict(sorted(sum((Counter({row.group: row.count}) for row in rows), Counter()).items()))


async def stored(database):
    return sum((await counts(database, "default", Filters())).values())


class Both:
    """A recorder, and the drain that its server keeps in a process of its own."""

    def __init__(self, settings, url, database):
        self._folder = TemporaryDirectory()
        self.writer = LogWriter(url, Path(self._folder.name), most_bytes=settings.records_redis_mb << 20)
        self.recorder = Recorder(self.writer, database)
        self.put, self.put_outcome = self.recorder.put, self.recorder.put_outcome
        self._redis = Redis(url, timeout_s=5)
        target = driver_target(database.engine.url)
        self._driver = driver(target)
        self.spool = Spool(Path(self._folder.name) / "spool", settings.records_spool_mb << 20)
        self.drain = Drain(
            Log(self._redis),
            self._driver,
            target.dialect,
            self.spool,
            most_bytes=settings.records_redis_mb << 20,
            most_age_s=3_600,
        )

    async def start(self):
        await self._redis.start()
        await self.recorder.start()
        self._task = asyncio.create_task(self.drain.run())

    async def stop(self):
        await self.recorder.stop()
        self.drain.finish()
        await self._task
        await self._driver.close()
        self.spool.close()
        self._folder.cleanup()
        await self._redis.close()

    def stats(self):
        return self.recorder.counts() | {"stored": self.drain.stored, "set_aside": self.drain.set_aside}
