"""All services of a running server, typed. It builds nothing: `app.main` does."""

import msgspec

from app.services.analytics import Analytics
from app.services.audit import Audit
from app.services.breakers import Breakers
from app.services.clients_seen import ClientsSeen
from app.services.counters import Counters
from app.services.decisions import Decisions
from app.services.delegation import Delegation
from app.services.health import Health
from app.services.hooks import Hooks
from app.services.metrics import Metrics
from app.services.mode_list import ModeList
from app.services.modes import Modes
from app.services.overrides import Overrides
from app.services.policies import Policies
from app.services.policy_layers import PolicyLayers
from app.services.pre_tool_use import PreToolUse
from app.services.recorder import Recorder
from app.services.replay import Replay
from app.services.reports import Reports
from app.services.retention import Retention
from app.services.rosters import RosterRows
from app.services.routing.models import Models
from app.services.routing.parts import RoutingParts
from app.services.rule_counts import RuleCounts
from app.services.session_admin import SessionAdmin
from app.services.sessions import Sessions
from app.services.spawning import Spawning
from app.services.tokens import Tokens
from app.services.user_data import UserData
from app.services.users import Users


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
