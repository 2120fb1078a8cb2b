"""Builds the services of agents' sessions: life cycle, history, inspection and exceptions."""

import msgspec

from baton.delegate.jobs.costs import parse_prices
from baton.events.emission import Emitter
from baton.kernel.base.call_rate import CallRate
from baton.kernel.kernel import Kernel
from baton.machines.inventories import Inventories
from baton.machines.session_projects import SessionProjects
from baton.modes.service import Modes
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.records.feature import RecordsFeature
from baton.sessions.exceptions.service import Exceptions
from baton.sessions.history import History, LateAdvice, Outcomes
from baton.sessions.inspection import SessionAdmin
from baton.sessions.installations import Installations
from baton.sessions.service import Sessions
from baton.sessions.session_events import SessionEvents
from baton.sessions.subagent_brackets import SubagentBrackets
from baton.sessions.timeline.service import Timelines


class SessionsFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The services of agents' sessions."""

    sessions: Sessions
    history: History
    outcomes: Outcomes
    rate: CallRate
    exceptions: Exceptions
    inspection: SessionAdmin
    brackets: SubagentBrackets
    advice: LateAdvice
    timelines: Timelines


async def build(
    kernel: Kernel,
    *,
    users: Users,
    policies: Policies,
    modes: Modes,
    records: RecordsFeature,
    projects: SessionProjects,
    inventories: Inventories,
    events: Emitter,
) -> SessionsFeature:
    """Build the services and read the exceptions.

    Raises:
        DatabaseUnavailable: If the database cannot be reached.
    """
    rate = CallRate(kernel.settings.rate_per_minute, kernel.settings.rate_burst)
    history = History(kernel.redis, ttl_s=kernel.settings.history_ttl_s, rate=rate)
    emitted = SessionEvents(kernel.redis, events, users.keeps_prompts)
    outcomes = Outcomes(kernel.redis, records.recorder, records.counters, emitted)
    sessions = Sessions(
        modes=modes,
        history=history,
        recorder=records.recorder,
        policies=policies,
        users=users,
        projects=projects,
        installations=Installations(kernel.redis, records.counters),
        counters=records.counters,
        inventories=inventories,
        events=emitted,
    )
    exceptions = Exceptions(
        kernel.database,
        kernel.changes,
        users,
        policies,
        records.decisions,
        records.rule_hits,
        organisation=kernel.organisation,
        events=events,
    )
    await exceptions.load()
    prices = parse_prices(kernel.settings.prices)
    return SessionsFeature(
        sessions=sessions,
        history=history,
        outcomes=outcomes,
        rate=rate,
        exceptions=exceptions,
        inspection=SessionAdmin(kernel.database, history, modes, exceptions, prices),
        brackets=SubagentBrackets(kernel.redis),
        advice=LateAdvice(kernel.redis),
        timelines=Timelines(kernel.database, prices),
    )
