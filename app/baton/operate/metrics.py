"""Publishes the combined counts of all workers of this machine, for Prometheus.

With several workers prometheus-client stores each worker's numbers in files of one folder, prepared by
`baton.serve.workers`; the requested worker adds them up. Each worker copies its counts there once a second, so
decisions do not wait for it; a killed worker loses the counts of its last second.
"""

import asyncio
from collections import Counter as Counts
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sized
from itertools import accumulate
from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Response
from fastapi.responses import PlainTextResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest, values
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from baton.delegate.runners.counts import JobCounts, families
from baton.kernel.http.features import of
from baton.operate.health import DEPENDENCIES, Health, HealthState
from baton.people.callers import CallerOf
from baton.people.users import require
from baton.policies.in_force import Policies
from baton.records.pipeline.recorder import BUCKETS_MS, Counters, Recorder
from baton.records.pipeline.telemetry import TelemetryStats

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_TOOK = "baton_decision_seconds"
_LONGER = "+Inf"
_WHO = "refused_tokens_by_whom"
_KEYS = ("cause", "client", "version", "outcome", "answer", "code", "who")
"""Labels, in the order of their values in a key of the totals."""


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """The counts of all workers of this machine since the start; `queued` in `records` is the current number.

    `failures` are hook calls answered without a decision, by `client answer code`; `disobeyed` calls that ran
    differently than decided, by `client version outcome`; `refused` those with a refused token, by `token ID` or
    `address IP`.
    """

    degraded: dict[str, int]
    failures: dict[str, int]
    disobeyed: dict[str, int]
    refused: dict[str, int]
    records: dict[str, int]


class Metrics:
    """The metrics of one application, of all workers sharing its folder."""

    def __init__(
        self,
        *,
        counters: Counters,
        recorder: Recorder,
        policies: Policies,
        health: Health,
        jobs: JobCounts,
        telemetry: TelemetryStats,
        unreached: Callable[[], Awaitable[Sized]],
    ) -> None:
        self._counters = counters
        self._recorder = recorder
        self._policies = policies
        self._health = health
        self._jobs = jobs
        self._telemetry = telemetry
        self._unreached = unreached
        self._flushed: defaultdict[tuple[Counter, tuple[str, ...]], float] = defaultdict(float)
        self._own = CollectorRegistry()
        counter = self._counter
        self._decisions = counter("decisions", "Decisions by deciding rule, effect and mode.", "rule", "effect", "mode")
        self._matches = counter("rule_matches", "Matches of rules, including those without effect.", "rule", "effect")
        self._took = counter("decision_time", "Decisions by the bucket of their time.", "le")
        self._took_s = counter("decision_time_sum", "Seconds of all decisions together.")
        self._degraded = counter("degraded", "Degraded decisions, by the missing part.", "cause")
        self._failures = counter("hook_failures", "Hook calls answered without a decision.", "client", "answer", "code")
        self._outcomes = counter("disobeyed", "Calls run against their decision.", "client", "version", "outcome")
        self._routes = counter("routes", "Prompts by the tier choosing their agent.", "tier")
        self._refused = counter("refused_tokens", "Hook calls with a refused token.", "known")
        self._refused_who = counter(_WHO, "The same by token id or address; shown to people only.", "who")
        self._appended = counter("records_appended", "Records, reports and events written to the log.")
        self._dropped = counter(
            "records_dropped", "Records, reports and events lost because no store was available in time."
        )
        self._shed = counter("records_shed", "The lost ones that were dropped while Redis was full.")
        self._model_calls = counter("model_calls", "Calls of models and routing nodes.", "breaker", "outcome")
        self._breaker_changes = counter(
            "breaker_changes", "Changes of breakers, by the phase they came to.", "breaker", "phase"
        )
        self._stream_gaps = counter("stream_gaps", "Gaps reported to readers of live streams.")
        self._queued = Gauge(
            "baton_records_queued", "Records, reports and events in memory, not yet written.", registry=self._own,
            multiprocess_mode="livesum",
        )  # fmt: skip

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"baton_{name}", text, labels, registry=self._own)

    def flush(self) -> None:
        """Add the counts since the last call to the metrics."""
        counters = self._counters
        self._add(self._decisions, counters.decisions)
        self._add(self._matches, counters.matches)
        bounds = [*(str(bound / 1000) for bound in BUCKETS_MS), _LONGER]
        self._add(self._took, {(bound,): count for bound, count in zip(bounds, counters.took, strict=True)})
        self._add(self._took_s, {(): counters.took_us / 1e6})
        self._add(self._degraded, {(cause,): count for cause, count in counters.degraded.items()})
        self._add(self._failures, {tuple(key.split(" ")): count for key, count in counters.failures.items()})
        self._add(self._outcomes, counters.outcomes)
        self._add(self._routes, {(tier,): count for tier, count in counters.routes.items()})
        known: Counts[tuple[str, ...]] = Counts()
        for who, count in counters.refused.items():
            known["yes" if who.startswith("token ") else "no",] += count
        self._add(self._refused, known)
        self._add(self._refused_who, {(who,): count for who, count in counters.refused.items()})
        self._add(self._model_calls, counters.model_calls)
        self._add(self._breaker_changes, counters.breaker_changes)
        self._add(self._stream_gaps, {(): counters.stream_gaps})
        counts = self._recorder.counts()
        self._add(self._appended, {(): counts["appended"]})
        self._add(self._dropped, {(): counts["dropped"]})
        self._add(self._shed, {(): counts["shed"]})
        self._queued.set(counts["queued"])

    def _add(self, counter: Counter, counted: Mapping[tuple[str, ...], float]) -> None:
        for labels, count in counted.items():
            key = (counter, labels)
            new = count - self._flushed[key]
            if new:
                (counter.labels(*labels) if labels else counter).inc(new)
                self._flushed[key] = count

    async def render(self) -> bytes:
        """Return all metrics in Prometheus's text format."""
        self.flush()
        recent = self._health.recent
        records, jobs, unreached, telemetry = await asyncio.gather(
            self._recorder.stats(),
            *(recent("jobs", self._jobs.count), recent("unreached", self._unreached)),
            recent("telemetry", self._telemetry.read),
        )
        of_jobs = [] if jobs is None else families(jobs)
        shown = CollectorRegistry()
        shown.register(
            _Collected(
                [
                    *self._counted(),
                    *self._state(records, self._health.state),
                    *of_jobs,
                    GaugeMetricFamily(
                        "baton_approvals_unreached", "Waiting requests nobody was told of.", len(unreached or "")
                    ),
                    _of_telemetry(telemetry or {}),
                ]
            )
        )
        return generate_latest(shown)

    def totals(self) -> Totals:
        """Return the totals of all workers for people; those of other workers are up to a second old."""
        self.flush()
        found: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for metric in self._families():
            for sample in metric.samples:
                labels = sample.labels
                key = " ".join(labels[name] for name in _KEYS if name in labels)
                found[sample.name][key] = int(sample.value)
        return Totals(
            degraded=found["baton_degraded_total"],
            failures=found["baton_hook_failures_total"],
            disobeyed=found["baton_disobeyed_total"],
            refused=found[f"baton_{_WHO}_total"],
            records={
                "queued": found["baton_records_queued"].get("", 0),
                "dropped": found["baton_records_dropped_total"].get("", 0),
                "shed": found["baton_records_shed_total"].get("", 0),
                "appended": found["baton_records_appended_total"].get("", 0),
            },
        )

    def _families(self) -> list[Metric]:
        """Return the counts: this worker's own, or of all workers if there are several."""
        if values.ValueClass is values.MutexValue:
            return list(self._own.collect())
        merged = CollectorRegistry()
        MultiProcessCollector(merged)  # type: ignore[no-untyped-call]
        return list(merged.collect())

    def _counted(self) -> Iterator[Metric]:
        """Yield the counts, with the decision times as a histogram.

        A plain counter counts the times by bucket, because prometheus-client's own histogram does not accept external
        counts.
        """
        buckets: Counts[str] = Counts()
        took_s = 0.0
        for metric in self._families():
            if metric.name == "baton_decision_time":
                buckets.update({s.labels["le"]: int(s.value) for s in metric.samples if s.name.endswith("_total")})
            elif metric.name == "baton_decision_time_sum":
                took_s = sum(s.value for s in metric.samples if s.name.endswith("_total"))
            elif metric.name != f"baton_{_WHO}":
                # A counter's creation time differs by worker, and a sum of times is meaningless.
                metric.samples = [s for s in metric.samples if not s.name.endswith("_created")]
                yield metric
        bounds = [*(str(bound / 1000) for bound in BUCKETS_MS), _LONGER]
        yield HistogramMetricFamily(
            _TOOK,
            "Time to decide, without reading the request and writing the answer.",
            buckets=list(zip(bounds, accumulate(buckets[bound] for bound in bounds), strict=True)),
            sum_value=took_s,
        )

    def _state(self, records: Mapping[str, int], health: HealthState) -> Iterator[Metric]:
        policies = self._policies.status
        revision = GaugeMetricFamily("baton_policy", "1 for the active policy revision.", labels=["revision"])
        revision.add_metric([policies.revision], 1)
        yield revision
        yield GaugeMetricFamily(
            "baton_policy_loaded_timestamp_seconds", "When it became active.", policies.loaded_at.timestamp()
        )
        yield GaugeMetricFamily(
            "baton_policy_problems", "Problems that keep a newer revision from it.", len(policies.problems)
        )
        yield GaugeMetricFamily(
            "baton_records_waiting", "Entries of the log that are not stored yet.", records["waiting"]
        )
        yield GaugeMetricFamily("baton_records_set_aside", "Records rejected by the database.", records["set_aside"])
        yield CounterMetricFamily("baton_outcomes_given_up", "Outcomes without a decision.", records["given_up"])
        spool = GaugeMetricFamily(
            "baton_records_spool_bytes", "Records on disk waiting for the database, and their limit.", labels=["what"]
        )
        spool.add_metric(["used"], records["spool_mb"] << 20)
        spool.add_metric(["most"], records["spool_most_mb"] << 20)
        yield spool
        available = GaugeMetricFamily("baton_dependency_up", "1 while it accepts writes.", labels=["dependency"])
        for name in DEPENDENCIES:
            available.add_metric([name], int(health.state(name) == "up"))
        yield available
        yield GaugeMetricFamily(
            "baton_clock_ahead_seconds",
            "Seconds this machine's clock is ahead of its stores; 0 below half a minute.",
            health.clock_ahead_s,
        )


def _of_telemetry(counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(
        "baton_telemetry", "Decisions, routes and jobs for the OpenTelemetry collector.", labels=["result"]
    )
    for result, count in sorted(counts.items()):
        family.add_metric([result], count)
    return family


class _Collected(Collector):
    def __init__(self, families: list[Metric]) -> None:
        self._families = families

    def collect(self) -> list[Metric]:
        return self._families


# `GET /metrics`: the counts of all workers of this machine, for Prometheus; without users, paths or commands.

router = APIRouter(tags=["health"])
MetricsOf = Annotated[Metrics, Depends(of(Metrics))]


@router.get("/metrics", operation_id="get_metrics", response_class=PlainTextResponse)
async def metrics(caller: CallerOf, metrics: MetricsOf) -> Response:
    """Show all metrics in Prometheus's text format; for admins and auditors."""
    require(caller.principal, "metrics.read")
    return Response(await metrics.render(), media_type=CONTENT_TYPE)
