"""Run the tests in a rule's file, with the code that decides."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from baton.engine.call.call import ToolCall
from baton.engine.call.principal import Principal
from baton.engine.call.verdict import Facts, Level
from baton.engine.policy.explain import trace
from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.policy_set import PolicySet
from baton.engine.policy.matching.rule import Rule
from baton.engine.policy.rules.model import Case

_REPEAT = "{repeat}"


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one test: its group in the file and its place there, its call in short, and why it failed, "" if not."""

    __test__ = False  # for pytest, which takes it for a test class

    rule: str
    group: Literal["match", "not_match"]
    index: int
    call: str
    failure: str = ""

    @property
    def at(self) -> tuple[str | int, ...]:
        """The keys under which the test stands in the rule's file."""
        return ("tests", self.group, self.index)


def run_tests(policies: PolicySet, rule: Rule) -> Iterator[TestResult]:
    """Run the tests of a rule, in the order of its file."""
    groups: tuple[tuple[Literal["match", "not_match"], list[str | Case]], ...] = (
        ("match", rule.tests.match),
        ("not_match", rule.tests.not_match),
    )
    for group, cases in groups:
        for index, given in enumerate(cases):
            case = Case(bash=given) if isinstance(given, str) else given
            failure = _failure(policies, rule, case, wanted=group == "match")
            yield TestResult(rule=rule.id, group=group, index=index, call=_name(case), failure=failure)


def failing_tests(policies: PolicySet, rule: Rule) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the tests of a rule that fail: where each stands in the file, and what happened instead."""
    return ((result.at, result.failure) for result in run_tests(policies, rule) if result.failure)


def _name(case: Case) -> str:
    return (case.bash if case.bash is not None else f"{case.tool} {case.input}")[:120]


def _failure(policies: PolicySet, rule: Rule, case: Case, *, wanted: bool) -> str:
    if (case.bash is None) == (case.tool == ""):
        return "a test needs one of `bash` and `tool`"
    if case.repeat is not None and _REPEAT not in f"{case.bash} {case.input}":
        return "the test has `repeat`, and no text of it says where: write `{repeat}` into `bash` or `input`"
    facts = facts_of(case, rule)
    context = Context(policies, facts)
    found = trace(policies, rule, context, count_disabled=True)
    name = _name(case)
    if context.errors:
        return f"in the test `{name}` the expression `when` fails; test for the key first: `has(call.input.x) && …`"
    if found.matched is wanted:
        return ""
    if wanted:
        return f"the test `{name}` should match and does not: {found.why}"
    return f"the test `{name}` should not match and does"


def facts_of(case: Case, rule: Rule) -> Facts:
    """Return the facts that a test describes; what it leaves out follows from what the rule asks for."""
    bash, given = case.bash, case.input
    if case.repeat is not None:
        many = "".join(case.repeat.text.replace("{n}", str(n)) for n in range(case.repeat.times))
        bash, given = _replaced(bash, many), _replaced(given, many)
    who = case.who or ("subagent" if rule.who == "subagent" else "orchestrator")
    level: Level = case.level or ("off" if not rule.modes else "strict" if "strict" in rule.modes else "guidance")
    return Facts(
        call=ToolCall(
            client="test",
            session_id="test",
            tool_name="Bash" if bash is not None else case.tool,
            tool_input={"command": bash} if bash is not None else given,
            agent_id="agent" if who == "subagent" else "",
            agent_type=case.agent_type,
            cwd=case.cwd,
            project_root=case.root,
            permission_mode=case.permission_mode,
        ),
        level=level,
        history=tuple(case.history or ()),
        background_running=case.background_running,
        other_editor=case.other_editor,
        principal=Principal(**msgspec.structs.asdict(case.principal)),
    )


def _replaced(value: Any, many: str) -> Any:
    if isinstance(value, str):
        return value.replace(_REPEAT, many)
    if isinstance(value, dict):
        return {key: _replaced(one, many) for key, one in value.items()}
    return [_replaced(one, many) for one in value] if isinstance(value, list) else value
