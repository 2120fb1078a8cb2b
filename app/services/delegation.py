"""All parts of delegation, put together once. It does none of their work."""

import msgspec

from app.engine.prices import read
from app.services.agent_modes import AgentModes
from app.services.bell import Bell
from app.services.delegated_sessions import DelegatedSessions, Exempting
from app.services.job_analytics import JobAnalytics
from app.services.job_control import JobControl
from app.services.job_counts import JobCounts
from app.services.job_machine import JobMachine
from app.services.job_permissions import Decider, JobPermissions
from app.services.job_reports import JobReports
from app.services.job_streams import JobStreams
from app.services.job_sweeper import JobSweeper
from app.services.jobs import Jobs
from app.services.runners import Runners
from app.services.users import Users
from app.settings import Settings
from app.store.redis import Redis
from app.store.sql import Database


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
