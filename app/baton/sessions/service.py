"""The life of an agent's session: its start, finished tool calls, prompts, and its end."""

import asyncio
from collections import OrderedDict
from time import monotonic

import msgspec

from baton.clients.event import HookEvent
from baton.kernel.redis.client import RedisUnavailable
from baton.machines.inventories import DEGRADED, Inventories
from baton.machines.inventory import Inventory
from baton.machines.session_projects import Reported, SessionProject, SessionProjects
from baton.modes.briefing import directives
from baton.modes.service import Modes
from baton.people.users import Users
from baton.policies.in_force import Policies
from baton.records.pipeline.recorder import Counters, Recorder, RouteOutcome, event_record
from baton.rules.agents.rosters import agent_name
from baton.rules.call.call import OwnAgent, Principal, ToolCall
from baton.rules.call.edited_files import edited_paths
from baton.rules.call.modes import Mode
from baton.sessions.history import History, Prior
from baton.sessions.installations import Installations
from baton.sessions.session_events import SessionEvents
from baton.shared.caller import Caller, as_call
from baton.shared.storable import storable

MODE_BUDGET_S = 1.0
"""Longest that a starting session waits for the database to switch the mode, in seconds."""
REMEMBERED = 20_000
"""Number of sessions of which a process remembers that it has noted them."""
NOTED_S = 600.0
"""How often it is noted again that a session works under the mode of work items, so that Redis does not forget it."""

_EDITING_TOOLS = {"Edit", "MultiEdit", "Write", "NotebookEdit", "apply_patch", "Bash"}
_STOPPING_TOOLS = {"KillShell", "KillBash", "TaskStop"}
_MODE_OFF = "This session's environment switches the orchestrator mode off; this is recorded. The guardrails stay."
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
    """Keeps sessions' state in Redis, and fills in missing projects and roots of calls."""

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
        self.projects = projects
        self._installations = installations
        self._inventories = inventories
        self._under_items: OrderedDict[tuple[str, ...], float] = OrderedDict()

    async def start(self, caller: Caller, event: HookEvent) -> SessionStart:
        """Start or resume a session: pin its project, let work items switch the mode, return the directives."""
        before = await self.projects.find(caller.principal, event.session_id)
        model = event.model or caller.models.model or (before.reported.models.model if before else "")
        models = msgspec.structs.replace(caller.models, model=model)
        root = caller.root or event.cwd
        reported = Reported(worktrees=tuple(one for one in caller.worktrees if one != root), models=models)
        named = SessionProject(caller.project or root, root, reported)
        degraded: list[str] = []
        try:
            pin = await self.projects.pin(caller.principal, event.session_id, named)
            if event.source == "compact":
                await self._history.compacted(caller.principal, event.session_id)
            await self._history.session_started(
                caller.principal, pin.project, event.session_id, fork=event.source == "fork"
            )
        except RedisUnavailable:
            pin = self.projects.known(caller.principal, event.session_id) or named
            degraded.append("history")
        project = pin.project
        self._events.started(caller, event, project)
        moved = caller.project not in ("", project)
        if moved:
            degraded.append("project")
        # The work items were counted in the client's present folder.
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
            notice = "Baton is switched off for this session (BATON_DISABLED=1); this is recorded."
            return SessionStart(mode=mode, notice=notice, degraded=tuple(degraded))
        if caller.mode_off:
            mode = Mode()
        moved_to = _moved(project, caller.project) if moved else ""
        notices = (changed, moved_to, _MODE_OFF if caller.mode_off else "", _ignored(caller.ignored))
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
        """Return the agents of a session's client, None if unknown; and whether they are unreadable."""
        return await self._inventories.of_session(principal, session_id, client, project)

    async def inventory_for_prompt(
        self, principal: Principal, session_id: str, client: str, project: str
    ) -> tuple[Inventory | None, bool]:
        """Return the result of `inventory`. A session's first prompt waits briefly for the shim's report."""
        return await self._inventories.for_prompt(principal, session_id, client, project)

    async def own_agent(
        self, principal: Principal, call: ToolCall, prior: Prior | None
    ) -> tuple[OwnAgent | None, bool]:
        """Return the agent started by a call, as its own file describes it; and whether that is unreadable.

        `prior` is the session's state in Redis, None if unavailable.
        """
        if prior is not None:
            self._inventories.learn(principal, call.session_id, prior.agents)
        name = agent_name(call.tool_input, call.client)
        if not (name and call.session_id):
            return None, False
        if prior is None and not self._inventories.knows(principal, call.session_id):
            return None, True
        found, missing = await self._inventories.for_call(principal, call.session_id)
        return None if found is None else found.agent(name), missing

    async def end(self, caller: Caller, event: HookEvent) -> tuple[str, ...]:
        """Forget a session except its decisions and project. Return the unavailable services."""
        await self._events.ended(caller, event)
        try:
            await self._history.end(caller.principal, event.session_id)
        except RedisUnavailable:
            return ("history",)
        return ()

    async def tool_used(self, caller: Caller, event: HookEvent) -> tuple[str, ...]:
        """Record the effects of a finished call: edited files, background tasks. Return the unavailable services."""
        principal, session_id = caller.principal, event.session_id
        if not session_id:
            return ()
        call = await self.projects.placed(principal, as_call(caller, event))
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
        call = self.projects.place(principal, as_call(caller, event))
        mode = self._modes.effective(principal, call.project, event.session_id)
        if not kept:
            event = msgspec.structs.replace(event, prompt="")
        self._recorder.put(event_record(caller, event, call.project, mode, self._policies.active.revision, route))

    def waits(self, caller: Caller, event: HookEvent) -> None:
        """Record that an agent asks a person for permission."""
        self._events.waits(caller, event)

    def announced(self, principal: Principal, session_id: str, agent_type: str) -> None:
        """Record the announcement of an agent of this type."""
        self._history.announced(principal, session_id, agent_type)

    async def subagent_started(self, caller: Caller, event: HookEvent) -> tuple[str, tuple[str, ...]]:
        """Count and record an unannounced agent, if the rosters give its type a model.

        A workflow starts such agents: no rule saw them, and they run on their caller's model. Only Claude Code has
        agent types in both events.

        Returns:
            The notice to the person, once for each type in a session, and the unavailable services.
        """
        if caller.disabled or event.client != "claude-code" or not event.agent_type or not event.session_id:
            return "", ()
        principal = caller.principal
        try:
            call = await self.projects.placed(principal, as_call(caller, event))
            in_force = self._policies.find(principal, call.project) or await self._policies.prepare(
                principal, call.project
            )
            found = in_force.policies.rosters.resolve(event.agent_type)
            if found is None or not found.model or not call.models.has(found.model):
                return "", ()
            own, _ = await self._inventories.of_session(principal, event.session_id, event.client, call.project)
            file = own and own.agent(event.agent_type)
            if file and file.model:  # the client follows it for every starter of the agent
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
        """Record the end of a background agent. Return the unavailable services."""
        try:
            await self._history.ended(caller.principal, event.session_id, event.agent_id)
        except RedisUnavailable:
            return ("history",)
        return ()

    async def _follow(self, principal: Principal, project: str, work_items: int) -> list[str]:
        try:
            async with asyncio.timeout(MODE_BUDGET_S):
                # An agent could post this count itself. So sessions working under the mode keep it. If these are
                # unknown, nothing ends.
                sessions = [] if work_items else await self._history.under_items(principal, project)
                if sessions is None:
                    return []
                return await self._modes.follow_work_items(principal, project, work_items, sessions)
        except (TimeoutError, RedisUnavailable):
            return ["mode"]

    def note_mode(self, principal: Principal, project: str, session_id: str, mode: Mode) -> None:
        """Record a session affected by the mode of work items: it keeps that mode."""
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
        """Return why a session is exempt from the mode as delegated work, "" for a person's own session."""
        decided = self._modes.effective(principal, project, session_id).chain[-1:]
        return decided[0].reason if decided and decided[0].delegated else ""


def _moved(project: str, named: str) -> str:
    return (
        f"This session belongs to `{project}`: its mode and rules hold, not those of `{named}`. Start a new session to"
        " work there."
    )


def _ignored(names: tuple[str, ...]) -> str:
    if not names:
        return ""
    listed = ", ".join(f"`{name}`" for name in names)
    return (
        f"Baton's hooks ignore {listed}: the client was not started with it, so a file of this project may set it (such as"
        " .claude/settings.json or .env). What you want goes into your shell or `~/.config/baton/config`."
    )


def _background_task(event: HookEvent) -> str:
    """Return the id of this call's running background task, "" if none.

    Claude Code runs agents in the background by default; only its response says so.
    """
    response = event.tool_response if isinstance(event.tool_response, dict) else {}
    if event.tool_input.get("run_in_background") is not True and response.get("status") != "async_launched":
        return ""
    for name in ("agentId", "agent_id", "backgroundTaskId", "shellId", "bash_id"):
        if isinstance(response.get(name), str):
            return storable(response[name])
    return event.tool_use_id
