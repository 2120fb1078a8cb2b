"""Metrics of delegation: jobs by state, age of the queue, live runners."""

from collections.abc import Iterator

import msgspec
from prometheus_client.core import GaugeMetricFamily, Metric

from baton.delegate.core.job import STATES
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores import runners as runners_store
from baton.delegate.core.waiting import ALIVE
from baton.kernel.base import clock
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.people.users import RowScope


class JobLoad(msgspec.Struct, frozen=True, kw_only=True):
    """Delegated jobs by state, the wait of the oldest queued one in seconds, and the runners of the last minute."""

    jobs: dict[str, int]
    queue_age_s: float
    runners_alive: int


class JobCounts:
    """Counts jobs and runners in SQL."""

    def __init__(self, database: Database, organisation: str) -> None:
        self._database = database
        self._organisation = organisation

    async def count(self) -> JobLoad | None:
        """Return the current totals; None while the database is unavailable."""
        try:
            async with self._database.transaction() as connection:
                now = await clock.now(connection)
                by_state, oldest = await jobs.counts(connection, self._organisation)
                known = await runners_store.find_runners(connection, self._organisation, RowScope())
        except DatabaseUnavailable:
            return None
        return JobLoad(
            jobs=dict.fromkeys(STATES, 0) | by_state,
            queue_age_s=max(0.0, (now - oldest).total_seconds()) if oldest is not None else 0.0,
            runners_alive=sum(now - runner.last_seen < ALIVE for runner in known),
        )


def families(totals: JobLoad) -> Iterator[Metric]:
    """Yield the totals as Prometheus metrics."""
    jobs = GaugeMetricFamily("baton_jobs", "Stored delegated tasks, by state.", labels=["state"])
    for state, count in sorted(totals.jobs.items()):
        jobs.add_metric([state], count)
    yield jobs
    yield GaugeMetricFamily(
        "baton_job_queue_age_seconds", "How long the oldest queued task has waited.", totals.queue_age_s
    )
    yield GaugeMetricFamily("baton_runners_alive", "Runners seen within the last minute.", totals.runners_alive)
