"""Make a rule's test of a recorded call, and a rule to start from that has this test."""

import re
from typing import Any, Literal

import msgspec
import yaml

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.matching.rule import Rule
from baton.engine.policy.rules.model import Case, RuleFile
from baton.engine.shell.model import Program, Shell

FOLDER = "own"
"""The folder of rules that are made of decisions."""
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,60}")
_NO_ID = re.compile(r"[^a-z0-9]+")
_HARMLESS = ("git status", "ls -l")
_HOME = "/repo"
"""Where the project of a test is."""


class _Indented(yaml.SafeDumper):
    """Indents the items of a list, as people do."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)


class RuleDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A test of a call, the group of the file that it belongs into, and a rule's file that has it.

    The rule is `replaces`, changed, where that rule stopped the call: its test fails until the rule lets the call through.
    """

    test: str | dict[str, Any]
    group: Literal["match", "not_match"]
    path: str
    text: str
    replaces: str = ""


def draft(facts: Facts, line: str, shell: Shell | None, stopped_by: Rule | None) -> RuleDraft:
    """Return a rule to start from.

    Args:
        facts: The call.
        line: Its shell line, "" for a tool without one.
        shell: The line, read.
        stopped_by: The rule that refused the call or asked about it; None for a call that was let through.
    """
    test = _test(facts, line, stopped_by)
    if stopped_by is not None:
        return _changed(stopped_by, test)
    match, name = _match(facts.call, shell)
    harmless: Any = {"tool": "Other"}
    if "shell" in match:
        harmless = next(one for one in _HARMLESS if one != line)
    file = {
        "id": f"{FOLDER}/no-{name}",
        "description": "Say in one sentence what is not allowed, and why.",
        "match": match,
        "decision": "deny",
        "reason": "`{command}` is not allowed here." if line else "`{tool}` is not allowed here.",
        "suggest": "Tell the person what you wanted to do.",
        "tests": {"match": [test], "not_match": [harmless]},
    }
    return RuleDraft(test=test, group="match", path=f"{file['id']}.yaml", text=as_yaml(file))


def as_yaml(value: Any) -> str:
    """Return a value as the YAML of a policy file."""
    return yaml.dump(value, Dumper=_Indented, sort_keys=False, allow_unicode=True, width=110)


def _test(facts: Facts, line: str, rule: Rule | None) -> str | dict[str, Any]:
    call = facts.call
    tool_input = {key: _moved(value, call.project_root) for key, value in call.tool_input.items()}
    for_mode = rule is not None and bool(rule.modes)
    case = Case(
        bash=_moved(line, call.project_root) if line and call.tool_name == "Bash" else None,
        tool="" if line and call.tool_name == "Bash" else call.tool_name,
        input={} if line and call.tool_name == "Bash" else tool_input,
        who="subagent" if call.is_subagent else None,
        agent_type=call.agent_type,
        level=facts.level if for_mode else None,
        history=list(facts.history or ()) or None if for_mode else None,
    )
    found: dict[str, Any] = msgspec.to_builtins(case)
    return found["bash"] if found.keys() == {"bash"} else found


def _moved(value: Any, root: str) -> Any:
    """Return a text of a call as if its project were that of tests."""
    if not isinstance(value, str) or not root.strip("/"):
        return value
    return re.sub(rf"{re.escape(root.rstrip('/'))}(?![\w.-])", _HOME, value)


def _changed(rule: Rule, test: str | dict[str, Any]) -> RuleDraft:
    file: RuleFile = rule.file
    found: dict[str, Any] = msgspec.to_builtins(file)
    tests = found.pop("tests")
    rule_id = f"{FOLDER}/{rule.id.rpartition('/')[2]}"
    changed = {
        "id": rule_id,
        **{key: value for key, value in found.items() if key not in {"id", "replaces"}},
        "replaces": [rule.id],
        "tests": {"match": tests.get("match", []), "not_match": [test, *tests.get("not_match", [])]},
    }
    return RuleDraft(test=test, group="not_match", path=f"{rule_id}.yaml", text=as_yaml(changed), replaces=rule.id)


def _match(call: ToolCall, shell: Shell | None) -> tuple[dict[str, Any], str]:
    """Return a condition that the call meets, and a name for its rule."""
    program = _program(shell)
    if program is not None:
        match: dict[str, Any] = {"program": program.name}
        names = [program.name]
        if program.subcommand:
            match["subcommand"] = program.subcommand
            names.append(program.subcommand)
        elif program.operands and _WORD.fullmatch(program.operands[0]):
            match["operands"] = [program.operands[0]]
            names.append(program.operands[0])
        return {"shell": match}, _id("-".join(names))
    condition: dict[str, Any] = {"tools": call.tool_name}
    path = call.tool_input.get("file_path")
    if isinstance(path, str) and path:
        condition["paths"] = str(_moved(path, call.project_root)).removeprefix(f"{_HOME}/")
    return condition, _id(call.tool_name)


def _program(shell: Shell | None) -> Program | None:
    """Return the program that a line is about: the first that is not only there to start another one."""
    programs = [one for one in shell.programs if one.name and not one.guess] if shell is not None else []
    return next((one for one in programs if not one.wraps and one.name not in {"cd", "pushd"}), None) or (
        programs[0] if programs else None
    )


def _id(text: str) -> str:
    return _NO_ID.sub("-", text.lower()).strip("-")[:60] or "call"
