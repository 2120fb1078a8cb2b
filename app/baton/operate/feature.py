"""Builds the services for operators: health, metrics, retention, and export or deletion of a user's data."""

import msgspec

from baton.decide.approvals import Approvals
from baton.delegate.jobs.costs import parse_prices
from baton.delegate.runners.counts import JobCounts
from baton.events.personal_events import PersonalEvents
from baton.kernel.base.settings import Settings
from baton.kernel.http.features import Lifecycle
from baton.kernel.kernel import Kernel, PeriodicTask
from baton.machines.inventories import Inventories
from baton.modes.listing import ModeList
from baton.operate.costs import AgentCosts
from baton.operate.health import Health
from baton.operate.live import LiveEvents, LiveStream
from baton.operate.metrics import Metrics
from baton.operate.retention import Retention
from baton.operate.servers import Servers
from baton.operate.user_data import UserData
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.records.feature import RecordsFeature
from baton.records.pipeline.telemetry import TelemetryStats
from baton.rules.call.call import Principal
from baton.sessions.history import History


class OperateFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The services for operators."""

    lifecycle: Lifecycle
    health: Health
    metrics: Metrics
    servers: Servers
    settings: Settings
    retention: Retention
    user_data: UserData
    costs: AgentCosts
    live: LiveStream


def build(
    kernel: Kernel,
    lifecycle: Lifecycle,
    *,
    users: Users,
    policies: Policies,
    records: RecordsFeature,
    history: History,
    inventories: Inventories,
    jobs: JobCounts,
    approvals: Approvals,
    events: PersonalEvents,
    modes: ModeList,
    is_worker: bool,
) -> OperateFeature:
    """Build the services."""
    health = Health(kernel.redis, kernel.database, lifecycle, records.recorder, kernel.settings)
    metrics = Metrics(
        counters=records.counters,
        recorder=records.recorder,
        policies=policies,
        health=health,
        jobs=jobs,
        telemetry=TelemetryStats(kernel.redis),
        unreached=lambda: approvals.unreached(Principal(organisation=kernel.organisation, role="admin")),
    )
    servers = Servers(kernel.redis, health, policies, kernel.organisation, is_worker=is_worker)
    retention = Retention(kernel.database, kernel.changes, kernel.organisation)
    kernel.run(health.run)
    kernel.on_stop(servers.leave)
    kernel.every(PeriodicTask("metrics", 1, lambda _: metrics.flush(), at_stop=True))
    kernel.every(PeriodicTask("servers", 5, servers.write))
    kernel.every(PeriodicTask("retention", 3_600, retention.purge, one_server=True))
    return OperateFeature(
        lifecycle=lifecycle,
        health=health,
        metrics=metrics,
        servers=servers,
        settings=kernel.settings,
        retention=retention,
        costs=AgentCosts(kernel.database, parse_prices(kernel.settings.prices)),
        live=LiveStream(records.feed_readers, LiveEvents(modes)),
        user_data=UserData(kernel.database, kernel.changes, users, history, inventories, events),
    )
