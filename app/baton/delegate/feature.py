"""Builds delegation: jobs, the runners that work on them, their streams."""

import msgspec

from baton.delegate.core.bell import Bell
from baton.delegate.core.states import JobMachine
from baton.delegate.jobs.active_agent import AgentModes
from baton.delegate.jobs.control import JobControl
from baton.delegate.jobs.costs import JobAnalytics
from baton.delegate.jobs.prices import read
from baton.delegate.jobs.service import Jobs, OwnsGraph
from baton.delegate.jobs.streams import JobStreams
from baton.delegate.runners.counts import JobCounts
from baton.delegate.runners.exemption import DelegatedSessions, Exempting
from baton.delegate.runners.permissions import Decider, JobPermissions
from baton.delegate.runners.progress import JobReports
from baton.delegate.runners.service import Runners
from baton.delegate.runners.sweeper import JobSweeper
from baton.kernel.kernel import Kernel
from baton.people.users import Users


class DelegateFeature(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks that are handed to other agents."""

    agent_modes: AgentModes
    analytics: JobAnalytics
    bell: Bell
    control: JobControl
    counts: JobCounts
    jobs: Jobs
    permissions: JobPermissions
    reports: JobReports
    runners: Runners
    streams: JobStreams
    sweeper: JobSweeper


def build(kernel: Kernel, *, users: Users, rules: Decider, modes: Exempting, owns_graph: OwnsGraph) -> DelegateFeature:
    """Build the services.

    `rules` decides what agents ask permission for, `modes` lets them work, `owns_graph` tells whose a task graph is.
    """
    settings, database = kernel.settings, kernel.database
    bell = Bell(kernel.redis, kernel.organisation)
    machine = JobMachine(database, bell, kernel.organisation)
    reports = JobReports(machine, DelegatedSessions(database, modes))
    permissions = JobPermissions(machine, reports, rules, wait_s=settings.permission_s)
    kernel.run(bell.run)
    sweeper = JobSweeper(database, machine, permissions, kernel.organisation)
    kernel.run(sweeper.run)
    return DelegateFeature(
        agent_modes=AgentModes(database, users),
        analytics=JobAnalytics(database, read(settings.prices)),
        bell=bell,
        control=JobControl(machine),
        counts=JobCounts(database, kernel.organisation),
        jobs=Jobs(database, machine, bell, owns_graph),
        permissions=permissions,
        reports=reports,
        runners=Runners(database, machine, bell, longest_wait_s=settings.poll_s),
        streams=JobStreams(database, bell),
        sweeper=sweeper,
    )
