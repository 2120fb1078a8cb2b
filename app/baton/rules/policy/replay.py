"""Judge recorded calls again with other rules: rebuild the calls, and compare two policy sets."""

from collections import OrderedDict, deque
from collections.abc import Sequence
from typing import Literal

import msgspec

from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.record import Record
from baton.rules.call.verdict import Facts, Level
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.locks import loosened_keys
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.rule import PolicySet, Rule
from baton.rules.policy.rules.files import pack_of

HISTORY = 20  # number of past tool names per session and agent visible to rules
SESSIONS = 20_000  # maximum sessions with stored tool names; the least recently used is dropped first

STAND_IN = "/project"  # placeholder for the project's unrecorded folder; recorded paths are relative to it

_LEVELS: dict[str, Level] = {"guidance": "guidance", "strict": "strict"}


class Replayer:
    """Rebuilds calls' facts: tool, command, paths, agent, mode, project. Feed it oldest first, for the history."""

    def __init__(self) -> None:
        self._history: OrderedDict[tuple[str, str, str], deque[str]] = OrderedDict()

    def facts(self, policies: PolicySet, record: Record) -> Facts | str:
        """Return a call's facts, or the reason they cannot be rebuilt."""
        tools = self._past(record)
        history = tuple(tools) if record.session_id else ()
        if record.effect != "deny":  # a refused call did not run
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
    key = policies.config.shell_tools.get(record.tool)
    if key is None or not record.command:
        return record.tool
    call = ToolCall(client="", session_id="", tool_name=record.tool, tool_input={key: record.command})
    return policies.history_name(Context(policies, Facts(call=call)))


def principal_of(record: Record) -> Principal:
    """Return the principal of a recorded call. Old records without a role count as a developer's."""
    role = record.role or Principal().role
    return Principal(organisation=record.organisation, team=record.team, user=record.user, role=role)


def _input(policies: PolicySet, record: Record) -> dict[str, str] | str:
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


# Compare two policy sets, and their verdicts on the same calls.


class RuleChange(msgspec.Struct, frozen=True):
    """A difference between two policy sets, in a rule or a key of config.yaml; `what` names the changed keys."""

    kind: Literal["added", "removed", "changed", "config"]
    id: str
    what: str = ""


class VerdictChange(msgspec.Struct, frozen=True):
    """A call, by its index, with different verdicts of two sets: effect and deciding rule of each."""

    index: int
    before: str
    after: str


def compare(before: PolicySet, after: PolicySet) -> list[RuleChange]:
    """Return the changes from one set to the other: rules by id, then rosters and the other keys of config.yaml."""
    old = {rule.id: rule for rule in before.rules}
    new = {rule.id: rule for rule in after.rules}
    changes = [RuleChange("removed", rule_id) for rule_id in sorted(old.keys() - new.keys())]
    changes += [RuleChange("added", rule_id, _state(new[rule_id])) for rule_id in sorted(new.keys() - old.keys())]
    for rule_id in sorted(old.keys() & new.keys()):
        what = _changed(old[rule_id], new[rule_id])
        if what:
            changes.append(RuleChange("changed", rule_id, what))
    for key in before.config.__struct_fields__:
        if key != "rules" and getattr(before.config, key) != getattr(after.config, key):
            changes.append(RuleChange("config", key))
    for name in sorted(before.rosters.by_id.keys() | after.rosters.by_id.keys()):
        if before.rosters.by_id.get(name) != after.rosters.by_id.get(name):
            changes.append(RuleChange("config", f"agents/{name}"))
    if before.shell_revision != after.shell_revision:
        changes.append(RuleChange("config", "shell"))
    return changes


def loosened(active: PolicySet) -> list[str]:
    """Return the shipped rules that stop less than as shipped, each with its change: `guardrails/x: off`."""
    shipped = active.parsed
    while shipped.above is not None:
        shipped = shipped.above
    now = {rule.id: rule for rule in active.rules}
    found = []
    for rule_id, old in sorted(shipped.rules.items()):
        rule = now.get(rule_id)
        if rule is None or not old.enabled:
            what = "" if rule or not old.enabled else "removed"
        elif pack_of(rule_id) and not rule.effective:
            what = ""  # as it is shipped
        elif rule.enabled and rule.shadow <= old.shadow:
            what = ", ".join(f"`{key}` changed" for key in loosened_keys(old, rule.file))
        else:
            what = _state(rule)
        if what:
            found.append(f"{rule_id}: {what}")
    return found


def verdict_changes(before: PolicySet, after: PolicySet, calls: Sequence[Facts]) -> list[VerdictChange]:
    """Return the calls with different verdicts of the two sets."""
    changes: list[VerdictChange] = []
    for index, facts in enumerate(calls):
        old, new = evaluate(before, facts), evaluate(after, facts)
        if (old.effect, old.rule) != (new.effect, new.rule):
            changes.append(VerdictChange(index, _summary(old.effect, old.rule), _summary(new.effect, new.rule)))
    return changes


def _changed(old: Rule, new: Rule) -> str:
    switched = "" if _state(old) == _state(new) else f"switched {_state(new)}"
    keys = [key for key in old.file.__struct_fields__ if getattr(old.file, key) != getattr(new.file, key)]
    return "; ".join(filter(None, (", ".join(keys), switched)))


def _state(rule: Rule) -> str:
    return "off" if not rule.enabled else "shadow" if rule.shadow else "on"


def _summary(effect: str, rule: str) -> str:
    return f"{effect} by {rule}" if rule else effect
