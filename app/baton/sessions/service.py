"""The life of an agent's session: its start, finished tool calls, prompts, and its end."""

import asyncio
from collections import OrderedDict
from time import monotonic

import msgspec

from baton.clients.event import HookEvent
from baton.clients.inventories import DEGRADED, Inventories
from baton.clients.inventory import Inventory
from baton.clients.session_projects import SessionProject, SessionProjects
from baton.engine.agents.rosters import agent_name
from baton.engine.call.agent_model import OwnAgent
from baton.engine.call.call import ToolCall
from baton.engine.call.edited_paths import edited_paths
from baton.engine.call.modes import Mode
from baton.engine.call.principal import Principal
from baton.kernel.base.caller import Caller
from baton.kernel.base.storable import storable
from baton.kernel.redis.client import RedisUnavailable
from baton.modes.briefing import directives
from baton.modes.service import Modes
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.records.pipeline.building import event_record
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.decision import RouteOutcome
from baton.records.pipeline.recorder import Recorder
from baton.sessions.history import History, Prior
from baton.sessions.installations import Installations
from baton.sessions.session_events import SessionEvents

MODE_BUDGET_S = 1.0
"""Longest that a starting session waits for the database to switch the mode, in seconds."""
REMEMBERED = 20_000
"""Number of sessions of which a process remembers that it has noted them."""
NOTED_S = 600.0
"""How often it is noted again that a session works under the mode of work items, so that Redis does not forget it."""

_EDITING_TOOLS = {"Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch", "Bash"}
_STOPPING_TOOLS = {"KillShell", "KillBash", "TaskStop"}
_MODE_OFF = (
    "The orchestrator mode is off for this session (HTMLGRAPH_ORCHESTRATOR_DISABLED=1); that is recorded."
    " The guardrails stay."
)
_TASK_NAMES = ("shell_id", "task_id", "bash_id")


class SessionStart(msgspec.Struct, frozen=True, kw_only=True):
    """The answer to a starting session: the mode, the directives while it is on, and a notice for the person."""

    mode: Mode
    context: str = ""
    notice: str = ""
    degraded: tuple[str, ...] = ()
    wants_agents: bool = False
    """Whether the server does not know the agents yet that the shim has a checksum of."""


class Sessions:
    """Keeps sessions' state in Redis, and fills in the project and root of calls that name none."""

    def __init__(
        self,
        *,
        modes: Modes,
        history: History,
        recorder: Recorder,
        policies: Policies,
        users: Users,
        projects: SessionProjects,
        installations: Installations,
        counters: Counters,
        inventories: Inventories,
        events: SessionEvents,
    ) -> None:
        self._counters = counters
        self._events = events
        self._modes = modes
        self._history = history
        self._recorder = recorder
        self._policies = policies
        self._users = users
        self._projects = projects
        self._installations = installations
        self._inventories = inventories
        self._under_items: OrderedDict[tuple[str, ...], float] = OrderedDict()

    async def start(self, caller: Caller, event: HookEvent) -> SessionStart:
        """Start or resume a session: pin its project, let work items switch the mode, return the directives."""
        named = SessionProject(caller.project or caller.root or event.cwd, caller.root or event.cwd)
        degraded: list[str] = []
        try:
            pin = await self._projects.pin(caller.principal, event.session_id, named)
            if event.source == "compact":
                await self._history.compacted(caller.principal, event.session_id)
        except RedisUnavailable:
            pin = self._projects.known(caller.principal, event.session_id) or named
            degraded.append("history")
        project = pin.project
        self._events.started(caller, event, project)
        moved = caller.project not in ("", project)
        if moved:
            degraded.append("project")
        # The work items were counted in the folder that the client is in now.
        if caller.work_items is not None and not (caller.disabled or caller.mode_off or moved):
            degraded += await self._follow(caller.principal, project, caller.work_items)
        wants_agents = await self._begin_inventory(caller, event, project, degraded)
        changed = await self._installations.changed(caller, event)
        if changed:
            degraded.append("installation")
        mode = self._modes.effective(caller.principal, project, event.session_id)
        if not caller.mode_off:
            self.note_mode(caller.principal, project, event.session_id, mode)
        if caller.disabled or caller.mode_off:
            revision = self._policies.active.revision
            self._recorder.put(event_record(caller, event, project, mode, revision))
        if caller.disabled:
            notice = "Baton is switched off for this session (BATON_DISABLED=1); that is recorded."
            return SessionStart(mode=mode, notice=notice, degraded=tuple(degraded))
        if caller.mode_off:
            mode = Mode()
        notices = (changed, _moved(project, caller.project) if moved else "", _MODE_OFF if caller.mode_off else "")
        return SessionStart(
            mode=mode,
            context=directives(mode, event.client),
            notice=" ".join(filter(None, notices)),
            degraded=tuple(degraded),
            wants_agents=wants_agents,
        )

    async def _begin_inventory(self, caller: Caller, event: HookEvent, project: str, degraded: list[str]) -> bool:
        if not event.session_id:
            return False
        try:
            return await self._inventories.begin(
                caller.principal, event.session_id, event.client, project, storable(event.agents)
            )
        except RedisUnavailable:
            if event.agents:
                degraded.append(DEGRADED)
            return False

    async def inventory(
        self, principal: Principal, session_id: str, client: str, project: str
    ) -> tuple[Inventory | None, bool]:
        """Return the agents that a session's client has, None if they are not known; and whether they cannot be read."""
        return await self._inventories.of_session(principal, session_id, client, project)

    async def inventory_for_prompt(
        self, principal: Principal, session_id: str, client: str, project: str
    ) -> tuple[Inventory | None, bool]:
        """Return what `inventory` does; a session's first prompt waits a moment for a shim that is about to tell."""
        return await self._inventories.for_prompt(principal, session_id, client, project)

    async def own_agent(
        self, principal: Principal, call: ToolCall, prior: Prior | None
    ) -> tuple[OwnAgent | None, bool]:
        """Return the agent that a call starts as its own file describes it; and whether that cannot be read.

        `prior` is what Redis held of the session, None if it could not be asked.
        """
        if prior is not None:
            self._inventories.learn(principal, call.session_id, prior.agents)
        name = agent_name(call.tool_input)
        if not (name and call.session_id):
            return None, False
        if prior is None and not self._inventories.knows(principal, call.session_id):
            return None, True
        found, missing = await self._inventories.for_call(principal, call.session_id)
        return None if found is None else found.find(name), missing

    async def end(self, caller: Caller, event: HookEvent) -> tuple[str, ...]:
        """Forget what ends with a session; its decisions and its project stay. Return what was unavailable."""
        self._events.ended(caller, event)
        try:
            await self._history.end(caller.principal, event.session_id)
        except RedisUnavailable:
            return ("history",)
        return ()

    async def tool_used(self, caller: Caller, event: HookEvent) -> tuple[str, ...]:
        """Note what a finished call changed: edited files, background tasks. Return what was unavailable."""
        principal, session_id = caller.principal, event.session_id
        if not session_id:
            return ()
        call = await self.placed(principal, as_call(caller, event))
        try:
            for path in edited_paths(call) if event.tool_name in _EDITING_TOOLS else ():
                await self._history.note_edit(principal, call.project, path, session_id)
            task = _background_task(event)
            if task:
                await self._history.started(principal, session_id, task)
            if event.tool_name in _STOPPING_TOOLS:
                for name in _TASK_NAMES:
                    if isinstance(event.tool_input.get(name), str):
                        await self._history.ended(principal, session_id, storable(event.tool_input[name]))
        except RedisUnavailable:
            return ("history",)
        return ()

    def prompted(self, caller: Caller, event: HookEvent, route: RouteOutcome | None = None) -> None:
        """Record a prompt's route, and the prompt itself if the team keeps prompts; nothing while Baton is off."""
        self._events.prompted(caller, event, "" if route is None else route.id)
        principal = caller.principal
        kept = event.prompt != "" and self._users.keeps_prompts(principal.team)
        if caller.disabled or not (kept or route):
            return
        call = self.place(principal, as_call(caller, event))
        mode = self._modes.effective(principal, call.project, event.session_id)
        if not kept:
            event = msgspec.structs.replace(event, prompt="")
        self._recorder.put(event_record(caller, event, call.project, mode, self._policies.active.revision, route))

    def waits(self, caller: Caller, event: HookEvent) -> None:
        """Note that an agent asks a person for leave."""
        self._events.waits(caller, event)

    def announced(self, principal: Principal, session_id: str, agent_type: str) -> None:
        """Note that a call starts an agent of this type."""
        self._history.announced(principal, session_id, agent_type)

    async def subagent_started(self, caller: Caller, event: HookEvent) -> tuple[str, tuple[str, ...]]:
        """Count and record an agent that no call announced, if the rosters give its type a model.

        A workflow starts such agents: no rule saw them, and they run on the model of their caller. Only Claude Code has
        agent types in both events.

        Returns:
            The notice to the person, once for each type in a session, and what was unavailable.
        """
        if caller.disabled or event.client != "claude-code" or not event.agent_type or not event.session_id:
            return "", ()
        principal = caller.principal
        try:
            call = await self.placed(principal, as_call(caller, event))
            in_force = self._policies.find(principal, call.project) or await self._policies.prepare(
                principal, call.project
            )
            found = in_force.policies.rosters.resolve(event.agent_type)
            if found is None or not found.model:
                return "", ()
            own, _ = await self._inventories.of_session(principal, event.session_id, event.client, call.project)
            file = own and own.find(event.agent_type)
            if file and file.model:  # the client follows it, whoever starts the agent
                return "", ()
            count = await self._history.unannounced(principal, event.session_id, event.agent_type)
        except RedisUnavailable:
            return "", ("history",)
        if not count:
            return "", ()
        self._counters.agent_unannounced()
        mode = self._modes.effective(principal, call.project, event.session_id)
        self._recorder.put(event_record(caller, event, call.project, mode, in_force.policies.revision))
        if count > 1:
            return "", ("agent_model",)
        notice = (
            f"The agent `{event.agent_type}` started without a call that Baton saw, as from a workflow: it runs on this"
            f" session's model, where its roster gives it `{found.model}`."
        )
        return notice, ("agent_model",)

    async def subagent_stopped(self, caller: Caller, event: HookEvent) -> tuple[str, ...]:
        """Note that a background agent has ended. Return what was unavailable."""
        try:
            await self._history.ended(caller.principal, event.session_id, event.agent_id)
        except RedisUnavailable:
            return ("history",)
        return ()

    async def _follow(self, principal: Principal, project: str, work_items: int) -> list[str]:
        try:
            async with asyncio.timeout(MODE_BUDGET_S):
                # An agent could post this count itself. Sessions that work under the mode keep it, so that no agent
                # frees its own; without knowing which they are, nothing ends.
                sessions = [] if work_items else await self._history.under_items(principal, project)
                if sessions is None:
                    return []
                return await self._modes.follow_work_items(principal, project, work_items, sessions)
        except (TimeoutError, RedisUnavailable):
            return ["mode"]

    def note_mode(self, principal: Principal, project: str, session_id: str, mode: Mode) -> None:
        """Note a session that the mode of work items concerns: it keeps that mode."""
        if not mode.auto_activated or not session_id:
            return
        key = (principal.organisation, principal.user, project, session_id)
        now = monotonic()
        if now - self._under_items.get(key, -NOTED_S) >= NOTED_S:
            self._history.works_under_items(principal, project, session_id)
            self._under_items[key] = now
            if len(self._under_items) > REMEMBERED:
                self._under_items.popitem(last=False)

    def delegation_reason(self, principal: Principal, project: str, session_id: str) -> str:
        """Return the reason that a session is exempt from the mode as delegated work, "" for a person's own session."""
        decided = self._modes.effective(principal, project, session_id).chain[-1:]
        return decided[0].reason if decided and decided[0].delegated else ""

    def place(self, principal: Principal, call: ToolCall) -> ToolCall:
        """Return a call with the project that its session is pinned to, as far as this process knows."""
        pin = self._projects.known(principal, call.session_id)
        return self.settle(call) if pin is None else pin.settle(call)

    async def placed(self, principal: Principal, call: ToolCall) -> ToolCall:
        """Return a call with the project that its session is pinned to, whichever server saw it start."""
        pin = await self._projects.find(principal, call.session_id)
        return self.settle(call) if pin is None else pin.settle(call)

    def learn(self, principal: Principal, call: ToolCall, place: tuple[str, str]) -> ToolCall:
        """Return a call with the project that Redis holds for its session, and remember that."""
        if not place[0]:
            return self.settle(call)
        pin = SessionProject(*place)
        if pin != self._projects.known(principal, call.session_id):
            self._projects.keep(principal, call.session_id, pin)
        return pin.settle(call)

    @staticmethod
    def settle(call: ToolCall) -> ToolCall:
        """Use the root or the session's folder as the project of a call that still has none."""
        if call.project:
            return call
        return msgspec.structs.replace(call, project=call.project_root or call.cwd)


def _moved(project: str, named: str) -> str:
    return (
        f"This session belongs to `{project}`: its mode and rules hold, not those of `{named}`. Start a new session to"
        " work there."
    )


def as_call(caller: Caller, event: HookEvent) -> ToolCall:
    """Build the tool call that a hook event is about."""
    return ToolCall(
        client=event.client,
        session_id=event.session_id,
        tool_name=event.tool_name,
        tool_input=event.tool_input,
        tool_use_id=event.tool_use_id,
        agent_id=event.agent_id,
        agent_type=event.agent_type,
        cwd=event.cwd,
        project=caller.project,
        project_root=caller.root,
        permission_mode=event.permission_mode,
    )


def _background_task(event: HookEvent) -> str:
    """Return the id of the task that this call left running in the background, "" if none.

    Claude Code runs agents in the background unless told otherwise; only its response says so.
    """
    response = event.tool_response if isinstance(event.tool_response, dict) else {}
    if event.tool_input.get("run_in_background") is not True and response.get("status") != "async_launched":
        return ""
    for name in ("agentId", "agent_id", "backgroundTaskId", "shellId", "bash_id"):
        if isinstance(response.get(name), str):
            return storable(response[name])
    return event.tool_use_id
