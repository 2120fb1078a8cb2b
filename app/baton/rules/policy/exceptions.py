"""The calls that an exception lets pass: those of a shape, under a rule of one layer."""

from functools import lru_cache

import msgspec

from baton.rules.policy.load import PolicySet
from baton.rules.policy.matching.conditions import CompiledCondition, Vocabulary, compile_all
from baton.rules.policy.matching.context import Context
from baton.rules.policy.matching.rule import Rule
from baton.rules.policy.matching.wording import place_of
from baton.rules.policy.rules.model import Condition


def rule_of(policies: PolicySet, rule_id: str) -> Rule | None:
    """Return a rule of a set."""
    return next((one for one in policies.rules if one.id == rule_id), None)


def layer_of(rule: Rule) -> str:
    """Return the layer of a rule, such as `team/web`. A narrower layer may have a rule of the same id."""
    return "/".join(filter(None, place_of(rule.source)))


def holds(condition: str, context: Context) -> bool:
    """Return whether a call has a shape, given as JSON."""
    compiled = _compiled(condition)
    return compiled is not None and compiled.applies(context.call.tool_name) and compiled.holds(context)


@lru_cache(maxsize=1_024)
def _compiled(condition: str) -> CompiledCondition | None:
    """Compile a shape; None for one that names a list, which a layer could change."""
    try:
        given = msgspec.json.decode(condition, type=Condition)
        return compile_all(given, Vocabulary({}, frozenset()), missing=False, every_path=True)[0]
    except ValueError:  # also msgspec's errors
        return None
