"""All services of a running server, typed. It builds nothing: `baton.main` does."""

import msgspec

from baton.clients.last_heard import ClientsSeen
from baton.decide.hooks import Hooks
from baton.decide.service import PreToolUse
from baton.delegate.runners.parts import Delegation
from baton.modes.listing import ModeList
from baton.modes.service import Modes
from baton.operate.health import Health
from baton.operate.metrics import Metrics
from baton.operate.retention import Retention
from baton.operate.user_data import UserData
from baton.people.tokens import Tokens
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.policies.layers import PolicyLayers
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.recorder import Recorder
from baton.records.replay.rule_counts import RuleCounts
from baton.records.replay.service import Replay
from baton.records.review.audit import Audit
from baton.records.review.decisions import Decisions
from baton.records.review.delegation_share import Analytics
from baton.records.review.wrong_blocks import Reports
from baton.route.llm.breakers import Breakers
from baton.route.pipeline.models import Models
from baton.route.pipeline.parts import RoutingParts
from baton.route.rosters.rows import RosterRows
from baton.sessions.inspection import SessionAdmin
from baton.sessions.overrides.service import Overrides
from baton.sessions.service import Sessions
from baton.spawn.graphs.parts import Spawning


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What the API calls."""

    analytics: Analytics
    audit: Audit
    breakers: Breakers
    clients_seen: ClientsSeen
    counters: Counters
    decisions: Decisions
    delegation: Delegation
    health: Health
    hooks: Hooks
    metrics: Metrics
    mode_list: ModeList
    models: Models
    modes: Modes
    overrides: Overrides
    policies: Policies
    policy_layers: PolicyLayers
    pre_tool_use: PreToolUse
    recorder: Recorder
    replay: Replay
    reports: Reports
    retention: Retention
    rosters: RosterRows
    routing: RoutingParts
    rule_counts: RuleCounts
    session_admin: SessionAdmin
    sessions: Sessions
    spawning: Spawning
    tokens: Tokens
    user_data: UserData
    users: Users
