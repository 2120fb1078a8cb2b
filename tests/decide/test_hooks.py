"""Preparations of a session's start; HTTP tests prove the other events."""

import msgspec

from baton.clients.event import HookEvent
from baton.decide.hooks import Hooks
from baton.records.pipeline.recorder import Counters
from baton.route.pipeline.pipeline import Routing
from baton.rules.call.call import Principal
from baton.rules.call.modes import Mode
from baton.sessions.service import SessionStart
from baton.shared.caller import Caller
from tests.support.cases import every

START = HookEvent(
    client="claude-code", name="SessionStart", native_name="SessionStart", session_id="s", cwd="/home/ada/shop"
)


class Starts:
    """Sessions that only start."""

    def __init__(self):
        self.projects = self

    async def start(self, caller, event):
        return SessionStart(mode=Mode())

    async def placed(self, principal, call):
        return msgspec.structs.replace(call, project=call.cwd)


class NoPatterns:
    """A team that has learned nothing."""

    async def add_to(self, started, caller, event):
        return started


@every(
    ("who", "route_prompts", "prepared"),
    [
        (Caller(principal=Principal(user="ada")), True, [("ada", "/home/ada/shop")]),
        (Caller(principal=Principal(user="ada"), disabled=True), True, []),
        (Caller(principal=Principal(user="ada")), False, []),
        (Caller(principal=Principal(user="ada", role="auditor")), True, []),
    ],
)
async def test_a_session_that_starts_prepares_for_the_prompts_that_will_be_routed(who, route_prompts, prepared):
    told = []
    routing = Routing(
        (),
        sessions=None,
        traces=None,
        counters=Counters(),
        expected=[lambda principal, project, session: told.append((principal.user, project))],
    )
    hooks = Hooks(
        pre_tool_use=None,
        approvals=None,
        sessions=Starts(),
        brackets=None,
        advice=None,
        outcomes=None,
        routing=routing,
        route_prompts=route_prompts,
        start_patterns=NoPatterns(),
        advisories=None,
        compliance=None,
    )
    await hooks.handle(who, START)
    assert told == prepared
