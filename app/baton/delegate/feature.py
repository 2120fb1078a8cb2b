"""Builds delegation: jobs, runners, streams."""

import contextlib
from datetime import UTC, datetime

import msgspec
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.delegate.core.notifier import JobNotifier
from baton.delegate.core.states import AgentsHook, JobStates
from baton.delegate.jobs.arguments import AgentModes
from baton.delegate.jobs.control import JobControl
from baton.delegate.jobs.costs import JobAnalytics, parse_prices
from baton.delegate.jobs.new_job import JobDefaults
from baton.delegate.jobs.replies import Replies
from baton.delegate.jobs.service import Jobs, OwnsGraph
from baton.delegate.jobs.streams import JobStreams
from baton.delegate.results.diff_pages import DiffPages
from baton.delegate.results.service import JobResults
from baton.delegate.runners.agent_tokens import KIND, AgentTokens, ModeExemptions
from baton.delegate.runners.counts import JobCounts
from baton.delegate.runners.permissions import Decider, JobPermissions
from baton.delegate.runners.progress import JobProgress
from baton.delegate.runners.service import Runners
from baton.delegate.runners.sweeper import JobSweeper
from baton.events.emission import Emitter
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes import numbers
from baton.kernel.kernel import Kernel, PeriodicTask
from baton.modes.freezes import Freezes
from baton.people.users import Users
from baton.records.pipeline.telemetry import JobTraces


class DelegateFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The services of delegation."""

    agent_modes: AgentModes
    agent_tokens: AgentTokens
    analytics: JobAnalytics
    notifier: JobNotifier
    control: JobControl
    diff_pages: DiffPages
    counts: JobCounts
    jobs: Jobs
    permissions: JobPermissions
    progress: JobProgress
    replies: Replies
    results: JobResults
    runners: Runners
    streams: JobStreams
    sweeper: JobSweeper


def build(
    kernel: Kernel,
    *,
    users: Users,
    rules: Decider,
    modes: ModeExemptions,
    freezes: Freezes,
    owns_graph: OwnsGraph,
    events: Emitter,
) -> DelegateFeature:
    """Build the services. `rules` decides agents' permission requests."""
    settings, database = kernel.settings, kernel.database
    agent_tokens = AgentTokens(database, kernel.changes, users, kernel.organisation)
    traces = JobTraces(kernel.redis, is_on=settings.otel_endpoint != "")
    notifier = JobNotifier(kernel.redis, kernel.organisation)
    states = JobStates(database, notifier, kernel.organisation, _agents_hook(kernel, agent_tokens), events, traces)
    progress = JobProgress(states, modes)
    permissions = JobPermissions(states, progress, rules, wait_s=settings.permission_s)
    kernel.run(notifier.run)
    sweeper = JobSweeper(database, states, permissions, kernel.organisation, longest_disconnect_s=settings.disconnect_s)
    kernel.every(PeriodicTask("look for due jobs", 2, lambda _: sweeper.take_turn(datetime.now(UTC))))
    defaults = JobDefaults(
        timeout_s=settings.job_timeout_s,
        inactivity_timeout_s=settings.job_inactivity_s,
        queue_expiry_s=settings.queue_expiry,
    )
    jobs = Jobs(database, states, notifier, freezes, owns_graph, defaults)
    return DelegateFeature(
        agent_modes=AgentModes(database, users),
        agent_tokens=agent_tokens,
        analytics=JobAnalytics(database, parse_prices(settings.prices)),
        notifier=notifier,
        control=JobControl(states),
        diff_pages=DiffPages(states, notifier, kernel.redis),
        counts=JobCounts(database, kernel.organisation),
        jobs=jobs,
        permissions=permissions,
        progress=progress,
        replies=Replies(database, jobs),
        results=JobResults(database, states, notifier),
        runners=Runners(
            database, states, notifier, freezes, longest_wait_s=settings.poll_s, is_traced=settings.otel_endpoint != ""
        ),
        streams=JobStreams(database, notifier),
        sweeper=sweeper,
    )


def _agents_hook(kernel: Kernel, tokens: AgentTokens) -> AgentsHook:
    async def changed(connection: AsyncConnection | None) -> None:
        if connection is not None:
            await numbers.raise_number(connection, kernel.organisation, KIND)
            return
        kernel.changes.announce(KIND)
        with contextlib.suppress(DatabaseUnavailable):  # `Changes.catch_up` reloads them later
            await tokens.load()

    return changed
