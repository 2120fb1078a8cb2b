"""What is counted of decisions: the same words for kept sums, and for the rows of hours without any."""

from collections.abc import Iterable
from typing import Any

from sqlalchemy import ColumnElement, Integer, Select, String, case, cast, func, literal, or_

from baton.engine.agents.rosters import MODELS
from baton.records.pipeline.tables import DECISIONS

EFFECTS = ("deny", "ask", "rewrite", "allow", "abstain")
OUTCOMES = ("ran", "failed", "refused", "ran_anyway", "rewrite_ignored", "unknown")
DIMENSIONS = ("session_id", "user", "team", "project", "client", "event")
"""The columns of decisions that `call_hours` tells apart."""
_ROUNDED_TO_US = (1, 10, 100, 1_000, 10_000, 100_000)
"""What times are rounded down to, in microseconds: each keeps two digits, and the last one all that is slower."""
_GUIDANCE_HIT = '%"effect":"guidance"%'

_d = DECISIONS.c


def conditions(agent_tools: Iterable[str]) -> dict[str, ColumnElement[bool]]:
    """Return what each measure of `call_hours` counts, by the name of its column.

    Args:
        agent_tools: The tools that start agents.
    """
    spawns = _d.tool.in_(sorted(agent_tools))
    passed = _d.effect != "deny"
    obeyed = passed & (_d.outcome != "rewrite_ignored")
    delegates = spawns | (_d.agent_id != "")
    return {
        **{f"effect_{one}": _d.effect == one for one in EFFECTS},
        **{f"outcome_{one}": _d.outcome == one for one in OUTCOMES},
        "overridden": _d.overridden,
        "guided": cast(_d.rules, String).like(_GUIDANCE_HIT),
        "delegated": passed & delegates,
        "direct": passed & ~delegates,
        "spawned": passed & spawns,
        "ignored": passed & ~obeyed,
        **{f"injected_{model}": obeyed & (_d.model_injected == model) for model in sorted(MODELS)},
    }


def one_if(condition: ColumnElement[bool]) -> ColumnElement[int]:
    """Return 1 where a condition is met, else 0."""
    return case((condition, literal(1)), else_=literal(0))


def rounded_us() -> ColumnElement[Any]:
    """Return a decision's time rounded down to two digits, so that any number of decisions leaves few groups."""
    us, (*steps, last) = _d.elapsed_us, _ROUNDED_TO_US
    return case(*((us < 100 * step, us - us % step) for step in steps), else_=us - us % last)


def width_us(us: int) -> int:
    """Return how many microseconds the times that are counted together lie apart, the least of them being `us`."""
    return next((step for step in _ROUNDED_TO_US if us < 100 * step), _ROUNDED_TO_US[-1])


def is_timed() -> ColumnElement[bool]:
    """Return the condition that a record is of a decision that took time: a call, or a prompt that was routed."""
    return or_(_d.event == "PreToolUse", _d.routed_by != "")


def hour(dialect: str) -> ColumnElement[int]:
    """Return the hour of a decision, counted from 1970."""
    if dialect == "sqlite":
        # Without the fraction, which SQLite would round.
        return cast(func.strftime("%s", func.substr(cast(_d.at, String), 1, 19)), Integer) // 3600
    return cast(func.floor(func.extract("epoch", _d.at) / 3600), Integer)


def with_hits(query: Select[Any], dialect: str) -> tuple[Select[Any], ColumnElement[str], ColumnElement[str]]:
    """Join the rule hits that decisions name; return the query, the rule and the effect of a hit.

    Not through the table of hits, which is found by rule.
    """
    rule: ColumnElement[str]
    effect: ColumnElement[str]
    if dialect == "sqlite":
        hit = func.json_each(_d.rules).table_valued("value", joins_implicitly=True)
        rule, effect = func.json_extract(hit.c.value, "$.id"), func.json_extract(hit.c.value, "$.effect")
    else:
        hit = func.json_array_elements(_d.rules).table_valued("value", name="hit", joins_implicitly=True)
        rule, effect = hit.c.value.op("->>")("id"), hit.c.value.op("->>")("effect")
    return query.select_from(DECISIONS, hit).where(cast(_d.rules, String) != "[]"), rule, effect
