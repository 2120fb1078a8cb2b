"""Puts recorded calls together again, as far as what was kept allows, to ask other rules about them. It reads no store."""

from collections import OrderedDict, deque

from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.engine.call.verdict import Facts, Level
from baton.engine.policy.rules.policy_set import PolicySet

HISTORY = 20
"""Tool names of a session and agent that rules look back on."""
SESSIONS = 20_000
"""Sessions whose tool names are remembered at a time."""

STAND_IN = "/project"
"""Stands for the project's folder, which is not kept; recorded paths are relative to it."""

_LEVELS: dict[str, Level] = {"guidance": "guidance", "strict": "strict"}


class Replayer:
    """Rebuilds the facts of calls that are given oldest first: tool, command, paths, agent, mode, project, history."""

    def __init__(self) -> None:
        self._history: OrderedDict[tuple[str, str, str], deque[str]] = OrderedDict()

    def facts(self, policies: PolicySet, record: Record) -> Facts | str:
        """Rebuild a call's facts, or say why that cannot be done."""
        history = self._remember(record)
        if record.overridden:
            return "a person had switched Baton off or lifted a rule"
        if any(cause != "policies" and not cause.startswith("when:") for cause in record.degraded):
            return "the session's past could not be read"
        tool_input = _input(policies, record)
        if isinstance(tool_input, str):
            return tool_input
        root = record.project if record.project.startswith("/") else STAND_IN
        call = ToolCall(
            client=record.client,
            session_id=record.session_id,
            tool_name=record.tool,
            tool_input=tool_input,
            agent_id=record.agent_id,
            agent_type=record.agent_type,
            project=record.project,
            project_root=root,
            cwd=root,
        )
        return Facts(
            call=call,
            level=_LEVELS.get(record.mode_level, "off") if record.mode_enabled else "off",
            history=history,
            principal=principal_of(record),
        )

    def _remember(self, record: Record) -> tuple[str, ...]:
        key = (record.user, record.session_id, record.agent_id)
        tools = self._history.setdefault(key, deque(maxlen=HISTORY))
        self._history.move_to_end(key)
        if len(self._history) > SESSIONS:
            self._history.popitem(last=False)
        before = tuple(tools)
        tools.append(record.tool)
        return before if record.session_id else ()


def principal_of(record: Record) -> Principal:
    """Give whom a recorded call spoke for; a record from before roles were kept counts as a developer's."""
    role = record.role or Principal().role
    return Principal(organisation=record.organisation, team=record.team, user=record.user, role=role)


def _input(policies: PolicySet, record: Record) -> dict[str, str] | str:
    """What is known of a tool's input, or why nothing is."""
    config = policies.config
    if record.tool in config.patch_tools and record.paths:
        body = "\n".join(f"*** Update File: {path}" for path in record.paths)
        return {config.patch_tools[record.tool]: f"*** Begin Patch\n{body}\n*** End Patch"}
    if record.tool in config.shell_tools:
        if not record.command:
            return "the command was not kept"
        return {config.shell_tools[record.tool]: record.command}
    if record.tool in config.agent_tools:
        return "what an agent was asked to do is not kept"
    if record.paths:
        return {"file_path": record.paths[0]}
    return {}
