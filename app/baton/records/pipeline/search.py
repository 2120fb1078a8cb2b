"""Which decisions are wanted, and how a page of them is read at a cost that does not grow with what is stored.

Each filter has an index that ends with the id, so its decisions come newest first. Of several filters the one that
leaves the fewest is looked up, and the others are checked on what it finds (docs/decisions/0036).
"""

from collections.abc import Callable
from datetime import datetime
from string import ascii_uppercase
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import (
    ColumnElement,
    Row,
    Select,
    String,
    and_,
    cast,
    exists,
    false,
    func,
    literal,
    literal_column,
    or_,
    select,
    true,
)
from sqlalchemy.ext.asyncio import AsyncConnection

from baton.engine.call.record import LONGEST_ID, LONGEST_PROJECT, Record
from baton.kernel.base.storable import storable
from baton.kernel.base.uuid7 import least_id
from baton.people.row_scope import RowScope
from baton.records.pipeline.tables import (
    BESIDE,
    DECISIONS,
    HIT_EFFECTS,
    LISTED,
    PROJECT_START_CHARACTERS,
    RARE,
    DecisionRuleRow,
)

WINDOW = 5_000
"""Decisions that meet one filter and are looked through for the others, for one page; this takes 5 to 20 ms of CPU."""

_ORDER = (
    "session_id", "agent_id", "rule", "overridden", "user", "project", "outcome", "decision", "effect", "event",
    "agent_type", "tool", "revision", "client", "q",
)  # fmt: skip
"""The filters, those first that usually leave the fewest decisions."""
_EQUAL = (
    "user", "session_id", "agent_id", "agent_type", "client", "event", "tool", "effect", "decision", "outcome", "project",
    "revision",
)  # fmt: skip
"""The filters that ask for an equal value of a column."""

_rules = DecisionRuleRow.__table__


class Filters(msgspec.Struct, frozen=True, kw_only=True):
    """Which decisions to find; all that are set must hold. `since` is included, `until` is not.

    `q` is a part of the tool's name, the command or a path; the case of ASCII letters does not matter.
    """

    scope: RowScope = RowScope()
    user: str = ""
    session_id: str = ""
    agent_id: str = ""
    agent_type: str = ""
    client: str = ""
    event: str = ""
    tool: str = ""
    effect: str = ""
    decision: str = ""
    outcome: str = ""
    rule: str = ""
    project: str = ""
    revision: str = ""
    q: str = ""
    overridden: bool | None = None
    since: datetime | None = None
    until: datetime | None = None


Columns = Callable[[str], ColumnElement[Any]]
"""Returns a column of decisions by its name."""


class _Condition(msgspec.Struct, frozen=True):
    """A condition on decisions. `indexed`: an index finds those that meet it, in the order of their ids.

    `hits` is the condition on rule hits that finds each such decision once, None for one on the decision itself.
    """

    of: Callable[[Columns], ColumnElement[bool]]
    indexed: bool = True
    hits: ColumnElement[bool] | None = None


def _plain(name: str) -> ColumnElement[Any]:
    return DECISIONS.c[name]


def _unindexed(name: str) -> ColumnElement[Any]:
    """Return a column that SQLite's planner does not look for in an index."""
    return literal_column(f'+decisions."{name}"', DECISIONS.c[name].type)


def _equal(name: str, value: str) -> _Condition:
    return _Condition(lambda column: column(name) == value)


def _rare(name: str, value: str) -> _Condition:
    """Return the condition that a column of `RARE` has a value; its index is used only where the query repeats its condition."""
    usual = RARE[name].partition(" <> ")[2]
    if value == usual.strip("'"):
        return _Condition(lambda column: column(name) == value, indexed=False)
    return _Condition(lambda column: and_(column(name) == value, column(name) != literal_column(usual)))


def _conditions(wanted: Filters) -> list[_Condition]:
    """Return what must hold besides scope and time, the condition that usually leaves the fewest decisions first."""
    found = {
        name: (_rare if name in RARE else _equal)(name, as_stored(name, value))
        for name in _EQUAL
        if (value := getattr(wanted, name))
    }
    if wanted.effect in HIT_EFFECTS:
        found["effect"] = _with_effect(wanted.effect)
    if wanted.rule:
        found["rule"] = _hit(_rules.c.rule == storable(wanted.rule))
    if wanted.overridden is not None:
        found["overridden"] = _overridden(wanted=wanted.overridden)
    if wanted.project:
        found["project"] = _in_project(as_stored("project", wanted.project))
    if wanted.decision:
        found["decision"] = _decided(wanted.decision)
    if wanted.q:
        found["q"] = _mentioning(storable(wanted.q))
    return [found[name] for name in _ORDER if name in found]


def _mentioning(text: str) -> _Condition:
    return _Condition(
        lambda column: or_(
            column("tool").icontains(text, autoescape=True),
            column("command").icontains(text, autoescape=True),
            cast(column("paths"), String).icontains(_in_json(text), autoescape=True),
        ),
        indexed=False,
    )


def _hit(hits: ColumnElement[bool]) -> _Condition:
    hit = select(_rules.c.decision_id).where(hits)
    return _Condition(lambda column: column("id").in_(hit), hits=hits)


def _with_effect(effect: str) -> _Condition:
    """Return the condition that a rule hit has one of `HIT_EFFECTS`, of several such hits of a decision the first by its rule."""
    other = _rules.alias("other")
    again = exists().where(
        other.c.effect == effect, other.c.decision_id == _rules.c.decision_id, other.c.rule < _rules.c.rule,
        literal_column(f"other.{BESIDE}"),
    )  # fmt: skip
    # The index's own words, or its database does not know it again.
    return _hit(and_(_rules.c.effect == effect, literal_column(f"decision_rules.{BESIDE}"), ~again))


def _overridden(*, wanted: bool) -> _Condition:
    if wanted:
        # Not `= true`: the words of the index.
        return _Condition(lambda column: and_(column("overridden") == true(), literal_column("decisions.overridden")))
    return _Condition(lambda column: column("overridden") == false(), indexed=False)


def _in_project(project: str) -> _Condition:
    start = func.substr(literal(project), 1, PROJECT_START_CHARACTERS)

    def of(column: Columns) -> ColumnElement[bool]:
        # The index's own words, or its database does not know it again.
        begins = (
            func.substr(column("project"), literal_column("1"), literal_column(str(PROJECT_START_CHARACTERS))) == start
        )
        # A second condition would make Postgres expect fewer rows than there are, and sort them.
        return begins if len(project) < PROJECT_START_CHARACTERS else and_(begins, column("project") == project)

    return _Condition(of)


def _decided(decision: str) -> _Condition:
    """Return the condition on the answer's word, which follows from the effect; most calls are allowed."""
    effect = {"block": "deny", "ask": "ask"}.get(decision)
    if effect is None:
        return _Condition(lambda column: column("decision") == decision, indexed=False)
    rare = _rare("effect", effect)
    return _Condition(lambda column: and_(column("decision") == decision, rare.of(column)))


def _scopes(scope: RowScope) -> list[list[_Condition]]:
    """Return the conditions of a scope. The union of a team's and the user's rows is read as two ordered lists."""
    own = [_equal("user", storable(scope.user))] if scope.user else []
    return [[_equal("team", storable(scope.team))], own] if scope.team else [own]


def _bounds(key: ColumnElement[str], wanted: Filters, before: str = "") -> list[ColumnElement[bool]]:
    """Return the conditions on an id for a period and a page: the id holds the time."""
    found = []
    if wanted.since is not None:
        found.append(key >= least_id(wanted.since))
    if wanted.until is not None:
        found.append(key < least_id(wanted.until))
    if before:
        found.append(key < before)
    return found


def conditions_of(wanted: Filters) -> list[ColumnElement[bool]]:
    """Return what must hold of a row of decisions, besides its organisation and the scope."""
    return [*_bounds(DECISIONS.c.id, wanted), *(one.of(_plain) for one in _conditions(wanted))]


async def page(
    connection: AsyncConnection, organisation: str, wanted: Filters, before: str, limit: int
) -> tuple[list[Row[Any]], str]:
    """Read the rows of a page, newest first; `before` is the id that the page before ended with.

    Where the decisions that meet every filter are few among many that meet one of them, only so many are looked
    through for a page. The second result is the id that the next page goes on before, "" if all were looked through.
    """
    found: dict[str, Row[Any]] = {}
    known_to = ""
    for scope in _scopes(wanted.scope):
        conditions = [*_conditions(wanted), *scope]
        choice = await _choose(connection, organisation, conditions, wanted, before)
        # One row more than asked for tells whether there is a next page.
        query = _part(connection.dialect.name, organisation, wanted, conditions, choice, before, limit + 1)
        rows = (await connection.execute(query)).all()
        known_to = max(known_to, rows[-1].id if len(rows) > limit else choice.least)
        found |= {row.id: row for row in rows}  # of two scopes a decision may be in both
    # Below `known_to` one of the scopes may have more than was read.
    page = [found[key] for key in sorted(found, reverse=True) if key >= known_to]
    return (page[:limit], page[limit - 1].id) if len(page) > limit else (page, known_to)


class _Choice(NamedTuple):
    """Which condition is looked up, None for no index but that of ids, and the least id that is looked at."""

    first: _Condition | None
    least: str


async def _choose(
    connection: AsyncConnection, organisation: str, conditions: list[_Condition], wanted: Filters, before: str
) -> _Choice:
    """Choose the condition that the fewest decisions meet, as far as `WINDOW` can tell.

    Databases know averages at best, and one project may hold most of the decisions. So some entries of each index are
    counted; where all have more, the first condition is taken, and only its newest decisions are looked through.
    """
    indexed = [one for one in conditions if one.indexed]
    if not conditions or (len(conditions) == 1 and indexed):
        return _Choice(indexed[0] if indexed else None, "")
    first, fewest = indexed[0] if indexed else None, WINDOW
    for one in indexed:
        some = _entries(organisation, one, wanted, before).limit(fewest).subquery()
        count = (await connection.execute(select(func.count()).select_from(some))).scalar_one()
        if count < fewest:
            first, fewest = one, count
    if fewest < WINDOW:
        return _Choice(first, "")
    entries = _entries(organisation, first, wanted, before)
    end = entries.order_by(entries.selected_columns[0].desc()).offset(WINDOW).limit(1)
    return _Choice(first, (await connection.execute(end)).scalar() or "")


def _entries(organisation: str, condition: _Condition | None, wanted: Filters, before: str) -> Select[Any]:
    """Return the query of the ids that meet a condition, which reads nothing but its index."""
    if condition is not None and condition.hits is not None:
        key: ColumnElement[str] = _rules.c.decision_id
        return select(key).where(condition.hits, *_bounds(key, wanted, before))
    met = [condition.of(_plain)] if condition is not None else []
    key = DECISIONS.c.id
    return select(key).where(DECISIONS.c.organisation == organisation, *met, *_bounds(key, wanted, before))


def _part(
    dialect: str,
    organisation: str,
    wanted: Filters,
    conditions: list[_Condition],
    choice: _Choice,
    before: str,
    limit: int,
) -> Select[Any]:
    """Return the query of a page in one scope. Postgres takes the index that it thinks best, SQLite the chosen one."""
    column: Columns = _unindexed if dialect == "sqlite" else _plain
    query = select(*LISTED).where(DECISIONS.c.organisation == organisation)
    key: ColumnElement[str] = DECISIONS.c.id
    for one in conditions:
        if one.hits is not None and one is choice.first:
            key = _rules.c.decision_id
            query = query.select_from(_rules).where(one.hits, DECISIONS.c.id == key)
        else:
            query = query.where(one.of(_plain if one is choice.first else column))
    if choice.least:
        query = query.where(key >= choice.least)
    return query.where(*_bounds(key, wanted, before)).order_by(key.desc()).limit(limit)


def matches(record: Record, organisation: str, wanted: Filters) -> bool:
    """Return whether a list of an organisation's decisions would hold a record."""
    scope = wanted.scope
    return (
        record.organisation == organisation
        and (
            not scope.user
            or record.user == storable(scope.user)
            or bool(scope.team and record.team == storable(scope.team))
        )
        and all(_is(record, name, value) for name in _EQUAL if (value := getattr(wanted, name)))
        and (not wanted.rule or any(hit.id == storable(wanted.rule) for hit in record.rules))
        and (not wanted.q or _mentions(record, storable(wanted.q)))
        and (wanted.overridden is None or record.overridden == wanted.overridden)
        and (wanted.since is None or record.at >= wanted.since)
        and (wanted.until is None or record.at < wanted.until)
    )


def _is(record: Record, name: str, value: str) -> bool:
    if name == "effect" and value in HIT_EFFECTS:
        return any(hit.effect == value for hit in record.rules)
    return bool(getattr(record, name) == as_stored(name, value))


def as_stored(name: str, value: str) -> str:
    """Return a filter's value as its column would have it."""
    return storable(value)[: LONGEST_PROJECT if name == "project" else LONGEST_ID]


def _mentions(record: Record, text: str) -> bool:
    paths = msgspec.json.encode(record.paths).decode()
    return (
        _lowered(text) in _lowered(record.tool)
        or _lowered(text) in _lowered(record.command)
        or _lowered(_in_json(text)) in _lowered(paths)
    )


def _lowered(text: str) -> str:
    """Return a text in lower case as SQLite's `lower` has it, which knows ASCII alone."""
    return text.translate(_LOWER)


_LOWER = {ord(one): one.lower() for one in ascii_uppercase}


def _in_json(text: str) -> str:
    return msgspec.json.encode(text).decode()[1:-1]
