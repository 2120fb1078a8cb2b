"""Make a rule's test of a recorded call, and a rule to start from, and an exception of a rule for such calls."""

import re
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import yaml

from baton.lib.bash.model import Program, Shell
from baton.lib.text.globs import is_glob
from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.explain import findings, trace
from baton.rules.policy.load import LayerTrial, try_layer
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.rule import PolicySet, Rule
from baton.rules.policy.rules.files import Layer
from baton.rules.policy.rules.model import Case, RuleFile

FOLDER = "own"
UNWRITTEN = "State in one sentence the forbidden action and the reason."
"""The description of a new rule. A layer with it is not activated."""
Way = Literal["change", "own", "test"]
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_:-]{0,60}")
_PLAIN = re.compile(r"[^\s*?\[$`]+")
_NO_ID = re.compile(r"[^a-z0-9]+")
_HARMLESS = ("git status", "ls -l")
_LONGEST_WORD = 60
_LOOKS = frozenset({"read-only", "vcs-read"})
_HOME = "/repo"


class _Indented(yaml.SafeDumper):
    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:  # noqa: ARG002, FBT001, FBT002
        super().increase_indent(flow, indentless=False)


class RuleDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A test of a call, its group in the file, and a rule's file with it.

    For the way `change` the draft is the rule that stopped the call, `replaces`: its test fails until the rule allows
    the call.
    """

    test: str | dict[str, Any]
    group: Literal["match", "not_match"]
    path: str
    text: str
    replaces: str = ""


def draft(facts: Facts, line: str, shell: Shell | None, stopped_by: Rule | None, way: Way = "change") -> RuleDraft:
    """Return the draft of a rule.

    Args:
        facts: The call.
        line: Its shell line, "" for a tool without one.
        shell: The line, read.
        stopped_by: The rule that denied the call or asked about it; None for an allowed call.
        way: `change` that rule; `own` writes a new rule that refuses the call; `test` one in shadow, to keep the test.
    """
    test = _test(facts, line, stopped_by)
    if stopped_by is not None and way == "change":
        return _changed(stopped_by, test)
    match, name = _match(facts.call, shell)
    harmless: Any = {"tool": "Other"}
    if "shell" in match:
        harmless = next(one for one in _HARMLESS if one != line)
    file = {
        "id": f"{FOLDER}/no-{name}",
        "description": UNWRITTEN,
        **({"shadow": True} if way == "test" else {}),
        "match": match,
        "decision": "deny",
        "reason": "`{command}` is not allowed here." if line else "`{tool}` is not allowed here.",
        "suggest": "Tell the person what you wanted to do.",
        "tests": {"match": [test], "not_match": [harmless]},
    }
    return RuleDraft(test=test, group="match", path=f"{file['id']}.yaml", text=as_yaml(file))


class Shape(msgspec.Struct, frozen=True):
    """What calls that a rule matched have in common: a program with its options, or a tool with a file's name.

    An exact shape names all operands, or the file's path. Its `condition` is empty if no condition can name them.
    """

    text: str
    condition: dict[str, Any]


def shape(policies: PolicySet, rule: Rule, facts: Facts, *, exact: bool = False) -> Shape:
    """Return the shape of a call that a rule matched."""
    call = facts.call
    found = findings(policies, rule, facts)
    shell = policies.reading(call, None).shell
    programs = shell.programs if shell is not None else ()
    shown = found.get("command") or found.get("target") or "\0"
    program = next((one for one in programs if " ".join(one.argv).startswith(shown)), None) or _program(shell)
    if program is None:
        path = next((v for key, v in call.tool_input.items() if key in policies.path_keys and isinstance(v, str)), "")
        name = str(_moved(path, call.project_root)).removeprefix(f"{_HOME}/") if exact else path.rpartition("/")[2]
        is_unnamed = is_glob(name) or call.tool_name in policies.config.shell_tools
        paths = {"paths": name if exact else f"**/{name}"} if name and not is_glob(name) else {}
        return Shape(
            f"{call.tool_name} {name}".rstrip(), {} if exact and is_unnamed else {"tools": call.tool_name, **paths}
        )
    words = [word.partition("=")[0] for word in program.argv[1:] if word[:1] == "-" and len(word) > 1][:2]
    only: dict[str, Any] = {"program": program.name}
    acting = [one for one in programs if _LOOKS.isdisjoint(one.categories) and one.name]
    others: list[dict[str, Any]] = [{"category": sorted(_LOOKS)}]
    if program.subcommand:
        only |= {"subcommand": program.subcommand} | ({"flags_all": words} if words else {})
    else:
        words = [one for one in program.operands if not is_glob(one) and len(one) <= _LONGEST_WORD][:1]
        only |= {"operands": words} if words and not exact else {}
    if exact:
        words = [*(words if program.subcommand else ()), *program.operands]
        only |= _operands(program)
        others += [{"program": one.name} | _operands(one) for one in acting if one is not program]
    elif beside := sorted({one.name for one in acting} - {program.name}):
        others.append({"program": beside})
    is_said = all(_PLAIN.fullmatch(word) for one in (program, *acting) for word in one.operands)
    return Shape(
        " ".join(filter(None, (program.name, program.subcommand, *words))),
        {"shell": {"only": [only, *others]}} if is_said or not exact else {},
    )


def _operands(program: Program) -> dict[str, Any]:
    """Return the conditions that a program has these operands and no other."""
    said = " ".join((program.name, *program.subcommand.split(), *program.operands))
    return {"args": [said], "max_operands": len(program.operands)}


def excepted(policies: PolicySet, rule: Rule, shape: Shape, facts: Facts) -> RuleDraft | None:
    """Return the rule's file with an exception for a shape; None where it would leave the rule nothing to match."""
    line = facts.call.tool_input.get(policies.config.shell_tools.get(facts.call.tool_name, ""))
    test = _test(facts, line if isinstance(line, str) else "", rule)
    file: dict[str, Any] = msgspec.to_builtins(rule.file)
    given, tests = file.get("unless", []), file["tests"]
    file["unless"] = [*(given if isinstance(given, list) else [given]), shape.condition]
    tests["not_match"] = [test, *tests.get("not_match", [])]
    for _ in range(2):
        draft = RuleDraft(test=test, group="not_match", path=f"{rule.id}.yaml", text=as_yaml(file), replaces=rule.id)
        failed = {one.index for one, _, _ in _tried(policies, draft).tests if one.failure and one.group == "match"}
        if not failed:
            return draft
        # Tests of the rule that the exception frees leave the file.
        tests["match"] = [one for at, one in enumerate(tests["match"]) if at not in failed]
    return None


def cured(policies: PolicySet, draft: RuleDraft, calls: Sequence[Facts]) -> int:
    """Return how many calls the rule of a draft lets through."""
    changed = _tried(policies, draft).policies
    rule = next((one for one in changed.rules if one.id == draft.replaces), None) if changed else None
    if changed is None or rule is None:
        return 0
    return sum(not trace(changed, rule, Context(changed, one), count_disabled=True).matched for one in calls)


def _tried(policies: PolicySet, draft: RuleDraft) -> LayerTrial:
    return try_layer(policies, Layer(tier="user", name="draft", files={draft.path: draft.text}, origin="upload"))


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
    """Return a call's text with its project moved to the tests' folder."""
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
    """Return a condition matching the call, and a name for its rule."""
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
    """Return a line's main program: the first that is not a wrapper."""
    programs = [one for one in shell.programs if one.name and not one.guess] if shell is not None else []
    return next((one for one in programs if not one.wraps and one.name not in {"cd", "pushd"}), None) or (
        programs[0] if programs else None
    )


def _id(text: str) -> str:
    return _NO_ID.sub("-", text.lower()).strip("-")[:60] or "call"
