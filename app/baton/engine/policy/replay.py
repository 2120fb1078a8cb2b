"""Rebuild recorded calls, as far as the records allow, so that other rules can be asked about them."""

from collections import OrderedDict, deque

from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.engine.call.record import Record
from baton.engine.call.verdict import Facts, Level
from baton.engine.policy.matching.policy_set import PolicySet

HISTORY = 20
"""Tool names per session and agent that rules can look back on."""
SESSIONS = 20_000
"""Sessions whose tool names are kept at a time; the least recently used goes first."""

STAND_IN = "/project"
"""Stands in for the project's folder, which is not recorded; recorded paths are relative to it."""

_LEVELS: dict[str, Level] = {"guidance": "guidance", "strict": "strict"}


class Replayer:
    """Rebuilds the facts of calls: tool, command, paths, agent, mode, project. Feed it oldest first, for the history."""

    def __init__(self) -> None:
        self._history: OrderedDict[tuple[str, str, str], deque[str]] = OrderedDict()

    def facts(self, policies: PolicySet, record: Record) -> Facts | str:
        """Return a call's facts, or why they cannot be rebuilt."""
        tools = self._past(record)
        history = tuple(tools) if record.session_id else ()
        tools.append(_history_name(policies, record))
        if record.overridden:
            return "a person had switched Baton off or lifted a rule"
        if any(cause != "policies" and not cause.startswith("when:") for cause in record.degraded):
            return "the session's history could not be read"
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

    def _past(self, record: Record) -> deque[str]:
        key = (record.user, record.session_id, record.agent_id)
        tools = self._history.setdefault(key, deque(maxlen=HISTORY))
        self._history.move_to_end(key)
        if len(self._history) > SESSIONS:
            self._history.popitem(last=False)
        return tools


def _history_name(policies: PolicySet, record: Record) -> str:
    """Return what the session's history kept of a recorded call, by the tables of today."""
    key = policies.config.shell_tools.get(record.tool)
    if key is None or not record.command:
        return record.tool
    call = ToolCall(client="", session_id="", tool_name=record.tool, tool_input={key: record.command})
    return policies.history_name(call)


def principal_of(record: Record) -> Principal:
    """Return the principal of a recorded call. Old records have no role and count as a developer's."""
    role = record.role or Principal().role
    return Principal(organisation=record.organisation, team=record.team, user=record.user, role=role)


def _input(policies: PolicySet, record: Record) -> dict[str, str] | str:
    """Return what is known of a tool's input, or why nothing is."""
    config = policies.config
    if record.tool in config.patch_tools and record.paths:
        body = "\n".join(f"*** Update File: {path}" for path in record.paths)
        return {config.patch_tools[record.tool]: f"*** Begin Patch\n{body}\n*** End Patch"}
    if record.tool in config.shell_tools:
        if not record.command:
            return "the command was not recorded"
        return {config.shell_tools[record.tool]: record.command}
    if record.tool in config.agent_tools:
        return "the prompt of an agent is not recorded"
    if record.paths:
        return {"file_path": record.paths[0]}
    return {}
