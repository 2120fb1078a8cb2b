"""What a session that starts is told of its team's patterns, beside the directives of the mode."""

from collections.abc import Callable

import msgspec
from uuid_utils import uuid7

from baton.clients.event import CONTEXT_LIMIT, HookEvent
from baton.context.patterns.injection import DEGRADED, PatternInjection
from baton.context.utilization.injections import Injections
from baton.engine.call.principal import Principal
from baton.kernel.base.caller import Caller
from baton.sessions.service import Sessions, SessionStart, as_call
from baton.shared.client_abilities import takes_context

_BETWEEN = "\n\n"
IsOn = Callable[[Principal, str], bool]
"""Tells whether a team has left a source of context switched on."""


class StartPatterns:
    """Adds patterns to the start of sessions."""

    def __init__(self, sessions: Sessions, injection: PatternInjection, injections: Injections, is_on: IsOn) -> None:
        self._sessions = sessions
        self._injection = injection
        self._injections = injections
        self._is_on = is_on

    async def add_to(self, started: SessionStart, caller: Caller, event: HookEvent) -> SessionStart:
        """Return a session's start with the team's patterns behind the directives, as far as the client passes them on."""
        principal = caller.principal
        if caller.disabled or not takes_context(event.client, "SessionStart") or not self._is_on(principal, DEGRADED):
            return started
        call = await self._sessions.placed(principal, as_call(caller, event))
        room = CONTEXT_LIMIT - len(started.context.encode("utf-8", "replace")) - len(_BETWEEN)
        patterns, missing = await self._injection.at_start(
            principal, event.session_id, call.project, source=event.source, room=room
        )
        if patterns:
            self._injections.injected(principal, event.session_id, str(uuid7()), {DEGRADED: patterns}, at_start=True)
        return msgspec.structs.replace(
            started,
            context=_BETWEEN.join(filter(None, (started.context, patterns))),
            degraded=started.degraded + missing,
        )
