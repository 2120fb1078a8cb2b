"""All parts of delegation, put together once. It does none of their work."""

import msgspec

from baton.delegate.core.bell import Bell
from baton.delegate.core.states import JobMachine
from baton.delegate.jobs.active_agent import AgentModes
from baton.delegate.jobs.control import JobControl
from baton.delegate.jobs.costs import JobAnalytics
from baton.delegate.jobs.prices import read
from baton.delegate.jobs.service import Jobs
from baton.delegate.jobs.streams import JobStreams
from baton.delegate.runners.counts import JobCounts
from baton.delegate.runners.exemption import DelegatedSessions, Exempting
from baton.delegate.runners.permissions import Decider, JobPermissions
from baton.delegate.runners.progress import JobReports
from baton.delegate.runners.service import Runners
from baton.delegate.runners.sweeper import JobSweeper
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.redis.client import Redis
from baton.people.users import Users


class Delegation(msgspec.Struct, frozen=True, kw_only=True):
    """What the API, the graphs and the background call; `bell` and `sweeper` are to run while the server does."""

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


def delegation(
    settings: Settings, database: Database, redis: Redis, users: Users, rules: Decider, modes: Exempting
) -> Delegation:
    """Put the parts together; `rules` decides what agents ask leave for, `modes` lets them work."""
    organisation = settings.organisation
    bell = Bell(redis, organisation)
    machine = JobMachine(database, bell, organisation)
    reports = JobReports(machine, DelegatedSessions(database, modes))
    permissions = JobPermissions(machine, reports, rules, wait_s=settings.permission_s)
    return Delegation(
        agent_modes=AgentModes(database, users),
        analytics=JobAnalytics(database, read(settings.prices)),
        bell=bell,
        control=JobControl(machine),
        counts=JobCounts(database, organisation),
        jobs=Jobs(database, machine, bell),
        permissions=permissions,
        reports=reports,
        runners=Runners(database, machine, bell, longest_wait_s=settings.poll_s),
        streams=JobStreams(database, bell),
        sweeper=JobSweeper(database, machine, permissions, organisation),
    )
