"""Finds what is allowed and yet wrong in a policy set. It runs no tests: `check` does."""

from collections.abc import Iterator

from app.engine.call import ToolCall
from app.engine.policy.evaluate import evaluate
from app.engine.policy.policy_set import PolicySet
from app.engine.verdict import Facts


def denied_suggestions(policies: PolicySet) -> Iterator[tuple[str, str]]:
    """Suggestions that the set itself refuses: the rule's id and what to say. These keep a set from being accepted."""
    for rule in policies.rules:
        for suggestion in rule.suggestions if rule.enabled else ():
            if not suggestion.agent:
                continue
            tool_input = {
                "subagent_type": suggestion.agent,
                "prompt": suggestion.prompt or "…",
                "description": "suggested",
            }
            for tool in policies.config.agent_tools:
                call = ToolCall(client="lint", session_id="lint", tool_name=tool, tool_input=tool_input)
                verdict = evaluate(policies, Facts(call=call, level="strict"))
                if verdict.effect in ("deny", "ask"):
                    yield rule.id, f"it suggests `{suggestion.agent}`, which `{verdict.rule}` refuses"
                    break
