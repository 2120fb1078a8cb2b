"""Find what is allowed in a policy set and is probably a mistake."""

from collections.abc import Iterator

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.matching.checks.lookups import LOOKUP_LISTS
from baton.engine.policy.matching.policy_set import PolicySet
from baton.engine.policy.matching.rule import Rule, candidate
from baton.engine.text.yaml_lines import Problem

_CONFIG = "config.yaml"


def denied_suggestions(policies: PolicySet, above: PolicySet | None = None) -> Iterator[tuple[Rule, str]]:
    """Yield rules that suggest a call which the set refuses, with the message. Such a set is not accepted.

    `above` is an accepted set that the set was laid over: most layers change nothing that agents are judged by.
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
    # A rule that a layer leaves alone is the same object.
    ours, theirs = ({id(rule): rule for rule in one.rules} for one in (policies, above))
    changed = [ours.get(key) or theirs[key] for key in ours.keys() ^ theirs.keys()]
    tools = policies.config.agent_tools
    return not any(rule.suggestions or any(_may_concern(rule, tool) for tool in tools) for rule in changed)


def _may_concern(rule: Rule, agent_tool: str) -> bool:
    found = candidate(rule, agent_tool)
    # What asks for something of a shell line cannot hold for such a call, which has none.
    return found is not None and any(condition.line is None for condition in found.given)


def lint(policies: PolicySet) -> list[Problem]:
    """Return warnings about an accepted set. A set with warnings is used all the same."""
    found = [*_suggestions(policies), *_lists(policies), *_rosters(policies), *_switches(policies)]
    return sorted(found, key=lambda problem: (problem.file, problem.line, problem.text))


def _suggestions(policies: PolicySet) -> Iterator[Problem]:
    for rule in policies.rules:
        for suggestion in rule.suggestions if rule.enabled else ():
            if suggestion.agent and policies.rosters.resolve(suggestion.agent) is None:
                yield Problem(
                    rule.source, 0, f"it suggests the agent `{suggestion.agent}`, which is in no active roster"
                )


def _lists(policies: PolicySet) -> Iterator[Problem]:
    for name in policies.config.lists:
        if name not in LOOKUP_LISTS and not any(f"${name}" in text for text in policies.parsed.files.values()):
            yield Problem(_CONFIG, 0, f"the list `{name}` is used by no rule")


def _rosters(policies: PolicySet) -> Iterator[Problem]:
    rosters = policies.rosters
    owner: dict[str, str] = {}
    for roster_id in rosters.order:
        roster = rosters.by_id[roster_id]
        file = f"agents/{roster_id}.yaml"
        # Rosters are asked in order, so only the first one with a name is ever heard.
        for name in (*roster.agents, *roster.skills):
            first = owner.setdefault(name, roster_id)
            if first != roster_id:
                yield Problem(file, 0, f"`{name}` never applies: the roster `{first}` comes first and has it too")
        for alias, name in roster.aliases.items():
            if alias in roster.agents:
                yield Problem(file, 0, f"the alias `{alias}` hides the agent of that name")
            if name not in roster.agents:
                yield Problem(file, 0, f"the alias `{alias}` stands for `{name}`, which is not an agent of this roster")
    own = {name for name in rosters.by_id if f"agents/{name}.yaml" not in policies.parsed.files}
    for roster_id in own - set(rosters.order):
        yield Problem(f"agents/{roster_id}.yaml", 0, "`rosters` in config.yaml does not name this roster")
    for alias, name in policies.config.aliases.items():
        if rosters.resolve(name) is None:
            yield Problem(_CONFIG, 0, f"the alias `{alias}` stands for `{name}`, which is in no active roster")


def _switches(policies: PolicySet) -> Iterator[Problem]:
    by_id = {rule.id: rule for rule in policies.rules}
    for rule_id, switch in policies.config.rules.items():
        rule = by_id[rule_id]
        if switch == "on" and not rule.enabled:
            yield Problem(_CONFIG, 0, f"`{rule_id}` is switched on here, but an active rule replaces it")
