"""Check a policy set: run the tests in its rules' files, and find probable mistakes."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from baton.lib.text.yaml_lines import Fault
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.verdict import Facts, Level
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.explain import trace
from baton.rules.policy.matching.call_checks import LOOKUP_LISTS
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.rule import PolicySet, Rule, candidate
from baton.rules.policy.rules.model import Case

# Run the tests in a rule's file, with the deciding code.

_REPEAT = "{repeat}"


class TestResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one test: its group and index in the file, its call in short, and its failure, or ""."""

    __test__ = False  # for pytest, which takes it for a test class

    rule: str
    group: Literal["match", "not_match"]
    index: int
    call: str
    failure: str = ""

    @property
    def at(self) -> tuple[str | int, ...]:
        """The test's keys in the rule's file."""
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
    """Yield a rule's failing tests: the position in the file, and the actual result."""
    return ((result.at, result.failure) for result in run_tests(policies, rule) if result.failure)


def _name(case: Case) -> str:
    return (case.bash if case.bash is not None else f"{case.tool} {case.input}")[:120]


def _failure(policies: PolicySet, rule: Rule, case: Case, *, wanted: bool) -> str:
    if (case.bash is None) == (case.tool == ""):
        return "a test needs one of `bash` and `tool`"
    if case.repeat is not None and _REPEAT not in f"{case.bash} {case.input}":
        return "the test has `repeat`, and no text of it says where: write `{repeat}` into `bash` or `input`"
    context = Context(policies, facts_of(case, rule))
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
    """Return the facts of a test; omitted ones follow from the rule's conditions."""
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


_CONFIG = "config.yaml"


def denied_suggestions(policies: PolicySet, above: PolicySet | None = None) -> Iterator[tuple[Rule, str]]:
    """Yield rules with a suggested call that the set refuses, with the message. Such a set is not accepted.

    `above` is the accepted set below this layer: most layers do not change the judgement of agents.
    """
    if above is not None and _judges_agents_alike(policies, above):
        return
    for rule in policies.rules:
        for suggestion in rule.suggestions if rule.enabled else ():
            if not suggestion.agent:
                continue
            tool_input = {
                "subagent_type": suggestion.agent,
                "prompt": suggestion.prompt or "…",
                "description": "suggested",
            }
            # A client has only one of these tools, so none of them may be refused.
            for tool in policies.config.agent_tools:
                call = ToolCall(client="lint", session_id="lint", tool_name=tool, tool_input=tool_input)
                verdict = evaluate(policies, Facts(call=call, level="strict"))
                if verdict.effect in ("deny", "ask"):
                    yield rule, f"it suggests `{suggestion.agent}`, which `{verdict.rule}` refuses"
                    break


def _judges_agents_alike(policies: PolicySet, above: PolicySet) -> bool:
    if (policies.config, policies.rosters.by_id) != (above.config, above.rosters.by_id):
        return False
    # A rule unchanged by a layer is the same object.
    ours, theirs = ({id(rule): rule for rule in one.rules} for one in (policies, above))
    changed = [ours.get(key) or theirs[key] for key in ours.keys() ^ theirs.keys()]
    tools = policies.config.agent_tools
    return not any(rule.suggestions or any(_may_concern(rule, tool) for tool in tools) for rule in changed)


def _may_concern(rule: Rule, agent_tool: str) -> bool:
    found = candidate(rule, agent_tool)
    # A condition on a shell line cannot hold for such a call.
    return found is not None and any(condition.line is None for condition in found.given)


def lint(policies: PolicySet) -> list[Fault]:
    """Return warnings about an accepted set. They do not prevent its use."""
    found = [*_suggestions(policies), *_lists(policies), *_rosters(policies), *_switches(policies)]
    return sorted(found, key=lambda problem: (problem.file, problem.line, problem.text))


def _suggestions(policies: PolicySet) -> Iterator[Fault]:
    for rule in policies.rules:
        for suggestion in rule.suggestions if rule.enabled else ():
            if suggestion.agent and policies.rosters.resolve(suggestion.agent) is None:
                yield Fault(
                    rule.source, 0, f"it suggests the agent `{suggestion.agent}`, in none of the active rosters"
                )


def _lists(policies: PolicySet) -> Iterator[Fault]:
    for name in policies.config.lists:
        if name not in LOOKUP_LISTS and not any(f"${name}" in text for text in policies.parsed.files.values()):
            yield Fault(_CONFIG, 0, f"the list `{name}` is used by no rule")


def _rosters(policies: PolicySet) -> Iterator[Fault]:
    rosters = policies.rosters
    owner: dict[str, str] = {}
    for roster_id in rosters.order:
        roster = rosters.by_id[roster_id]
        file = f"agents/{roster_id}.yaml"
        # Rosters are searched in order, so only the first one with a name counts.
        for name in (*roster.agents, *roster.skills):
            first = owner.setdefault(name, roster_id)
            if first != roster_id:
                yield Fault(file, 0, f"`{name}` never applies: the roster `{first}` comes first and has it too")
        for alias, name in roster.aliases.items():
            if alias in roster.agents:
                yield Fault(file, 0, f"the alias `{alias}` hides the agent of this name")
            if name not in roster.agents:
                yield Fault(file, 0, f"the alias `{alias}` stands for `{name}`, not an agent of this roster")
    own = {name for name in rosters.by_id if f"agents/{name}.yaml" not in policies.parsed.files}
    for roster_id in own - set(rosters.order):
        yield Fault(f"agents/{roster_id}.yaml", 0, "`rosters` in config.yaml does not name this roster")
    for alias, name in policies.config.aliases.items():
        if rosters.resolve(name) is None:
            yield Fault(_CONFIG, 0, f"the alias `{alias}` stands for `{name}`, in none of the active rosters")


def _switches(policies: PolicySet) -> Iterator[Fault]:
    by_id = {rule.id: rule for rule in policies.rules}
    for rule_id, switch in policies.config.rules.items():
        rule = by_id[rule_id]
        if switch == "on" and not rule.enabled:
            yield Fault(_CONFIG, 0, f"`{rule_id}` is switched on here, but an active rule replaces it")
