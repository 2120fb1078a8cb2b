"""Builds the services of agents' sessions: life cycle, history, inspection and overrides."""

import msgspec

from baton.clients.inventories import Inventories
from baton.clients.session_projects import SessionProjects
from baton.delegate.jobs.costs.prices import parse_prices
from baton.events.emitting.emission import Emitter
from baton.kernel.base.call_rate import CallRate
from baton.kernel.kernel import Kernel
from baton.modes.service import Modes
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.recorder import Recorder
from baton.sessions.history import History
from baton.sessions.inspection import SessionAdmin
from baton.sessions.installations import Installations
from baton.sessions.late_advice import LateAdvice
from baton.sessions.outcomes import Outcomes
from baton.sessions.overrides.service import Overrides
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
    overrides: Overrides
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
    recorder: Recorder,
    projects: SessionProjects,
    counters: Counters,
    inventories: Inventories,
    events: Emitter,
) -> SessionsFeature:
    """Build the services and read the overrides.

    Raises:
        DatabaseUnavailable: If the database cannot be reached.
    """
    rate = CallRate(kernel.settings.rate_per_minute, kernel.settings.rate_burst)
    history = History(kernel.redis, ttl_s=kernel.settings.history_ttl_s, rate=rate)
    emitted = SessionEvents(events, users.keeps_prompts)
    outcomes = Outcomes(kernel.redis, recorder, counters, emitted)
    sessions = Sessions(
        modes=modes,
        history=history,
        recorder=recorder,
        policies=policies,
        users=users,
        projects=projects,
        installations=Installations(kernel.redis, counters),
        counters=counters,
        inventories=inventories,
        events=emitted,
    )
    overrides = Overrides(kernel.database, kernel.changes, users, policies, modes, organisation=kernel.organisation)
    await overrides.load()
    prices = parse_prices(kernel.settings.prices)
    return SessionsFeature(
        sessions=sessions,
        history=history,
        outcomes=outcomes,
        rate=rate,
        overrides=overrides,
        inspection=SessionAdmin(kernel.database, history, modes, overrides, prices),
        brackets=SubagentBrackets(kernel.redis),
        advice=LateAdvice(kernel.redis),
        timelines=Timelines(kernel.database, prices),
    )
