"""What is counted of the decisions of a period, from kept sums where there are any: subqueries for analytics."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from sqlalchemy import ColumnElement, Select, Subquery, Table, literal, select, union_all

from baton.records.pipeline.tables import DECISIONS
from baton.records.sums import measures
from baton.records.sums.periods import Parts
from baton.records.sums.tables import CALLS, RULES

Restrict = Callable[[Select[Any], Table], Select[Any]]
"""Adds the caller's conditions to a query over decisions, or over sums, which have columns of the same names."""


def calls(
    dialect: str,
    organisation: str,
    parts: Parts,
    columns: Sequence[str],
    restrict: Restrict,
    agent_tools: Iterable[str] = (),
) -> Subquery:
    """Return the sums of `call_hours` of a period, to be added up: the columns that are asked for, and `hour`.

    Args:
        dialect: The database.
        organisation: Whose decisions.
        parts: The period.
        columns: Columns of `call_hours`.
        restrict: What must hold besides.
        agent_tools: The tools that start agents; a kept sum knows those of its own time.
    """
    of_row: dict[str, ColumnElement[Any]] = {
        "hour": measures.hour(dialect),
        "decisions": literal(1),
        "first_id": DECISIONS.c.id,
        "last_id": DECISIONS.c.id,
        **{name: DECISIONS.c[name] for name in measures.DIMENSIONS},
        **{name: measures.one_if(condition) for name, condition in measures.conditions(agent_tools).items()},
    }
    wanted = ("hour", *columns)
    rows = select(*(of_row[name].label(name) for name in wanted))
    kept = select(*(CALLS.c[name] for name in wanted))
    return _joined(organisation, parts, restrict(rows, DECISIONS), CALLS, restrict(kept, CALLS))


def rule_hits(dialect: str, organisation: str, parts: Parts, restrict: Restrict) -> Subquery:
    """Return the sums of `rule_hours` of a period, to be added up; one more column is the `hour`."""
    whose = (DECISIONS.c.user, DECISIONS.c.team, literal(1).label("hits"), DECISIONS.c.id.label("last_id"))
    query, rule, effect = measures.with_hits(select(measures.hour(dialect).label("hour"), *whose), dialect)
    rows = query.add_columns(rule.label("rule"), effect.label("effect"))
    names = ("hour", "user", "team", "hits", "last_id", "rule", "effect")
    kept = select(*(RULES.c[name] for name in names))
    return _joined(organisation, parts, restrict(rows, DECISIONS), RULES, restrict(kept, RULES))


def _joined(organisation: str, parts: Parts, rows: Select[Any], table: Table, kept: Select[Any]) -> Subquery:
    """Return the union of the rows and the sums of a period; each part is found by its own range of a key."""
    rows = rows.where(DECISIONS.c.organisation == organisation)
    kept = kept.where(table.c.organisation == organisation)
    return union_all(
        *(rows.where(*bounds) for bounds in parts.rows), *(kept.where(*bounds) for bounds in parts.of_sums(table))
    ).subquery()
