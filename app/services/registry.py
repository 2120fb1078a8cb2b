"""All services of a running server, typed. It builds nothing: `app.main` does."""

import msgspec

from app.services.clients_seen import ClientsSeen
from app.services.counters import Counters
from app.services.decisions import Decisions
from app.services.health import Health
from app.services.hooks import Hooks
from app.services.modes import Modes
from app.services.policies import Policies
from app.services.pre_tool_use import PreToolUse
from app.services.recorder import Recorder
from app.services.sessions import Sessions


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """What the API calls."""

    clients_seen: ClientsSeen
    counters: Counters
    decisions: Decisions
    health: Health
    hooks: Hooks
    modes: Modes
    policies: Policies
    pre_tool_use: PreToolUse
    recorder: Recorder
    sessions: Sessions
