"""Metrics of delegation: jobs by state, the age of the queue, runners that are alive."""

from collections.abc import Iterator

import msgspec
from prometheus_client.core import GaugeMetricFamily, Metric

from baton.delegate.core.job import STATES
from baton.delegate.core.stores import jobs
from baton.delegate.core.stores import runners as runners_store
from baton.delegate.core.waiting import ALIVE
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.base.time import clock
from baton.people.row_scope import RowScope


class JobTotals(msgspec.Struct, frozen=True, kw_only=True):
    """Jobs by state, how long the oldest queued one has waited in seconds, runners heard of within a minute."""

    jobs: dict[str, int]
    queue_age_s: float
    runners_alive: int


class JobCounts:
    """Counts jobs and runners in SQL."""

    def __init__(self, database: Database, organisation: str) -> None:
        self._database = database
        self._organisation = organisation

    async def count(self) -> JobTotals | None:
        """Return the totals now, None while the database is away."""
        try:
            async with self._database.transaction() as connection:
                now = await clock.now(connection)
                by_state, oldest = await jobs.counts(connection, self._organisation)
                known = await runners_store.find(connection, self._organisation, RowScope())
        except DatabaseUnavailable:
            return None
        return JobTotals(
            jobs=dict.fromkeys(STATES, 0) | by_state,
            queue_age_s=max(0.0, (now - oldest).total_seconds()) if oldest is not None else 0.0,
            runners_alive=sum(now - runner.last_seen < ALIVE for runner in known),
        )


def families(totals: JobTotals) -> Iterator[Metric]:
    """Yield the totals as Prometheus metrics."""
    jobs = GaugeMetricFamily("baton_jobs", "Delegated tasks that are kept, by state.", labels=["state"])
    for state, count in sorted(totals.jobs.items()):
        jobs.add_metric([state], count)
    yield jobs
    yield GaugeMetricFamily(
        "baton_job_queue_age_seconds", "How long the oldest queued task has waited.", totals.queue_age_s
    )
    yield GaugeMetricFamily(
        "baton_runners_alive", "Runners that were heard of within the last minute.", totals.runners_alive
    )
