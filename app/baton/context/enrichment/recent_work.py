"""Recent work of a developer's agents in a project, from the developer's own records.

It contains edits, tests with their results, delegations and refusals. Other users' records are not read, even in the
same team.
"""

import re
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec
from sqlalchemy import Row, select

from baton.delegate.core.stores.tables import JOBS
from baton.kernel.base.sql import Database
from baton.lib.text.quoting import one_line
from baton.records.tables import DECISIONS
from baton.rules.call.call import Principal
from baton.shared.storable import storable

NEWEST = 2_000
"""Maximum records of the developer in the query, newest first, to bound its work."""
OF_PROJECT = 300
"""Maximum records read of the project."""
MOST_FILES, MOST_TESTS, MOST_JOBS, MOST_REFUSALS = 8, 3, 4, 3
LONGEST_COMMAND, LONGEST_PATH, LONGEST_TASK = 100, 120, 80
_EDITS = frozenset(
    {"edit", "multiedit", "write", "notebookedit", "apply_patch", "replace", "write_file", "str_replace", "create"}
)
"""The clients' names of tools that write a file, in lower case."""
_TESTS = re.compile(
    r"(?:^|[\s;&|/(])(?:(?:pytest|py\.test|tox|nox|jest|vitest|mocha|ava|rspec|phpunit|ctest|unittest|runtests(?:\.\w+)?)(?![\w.-])"
    r"|(?:go|cargo|dotnet|mvn|mvnw|gradle|gradlew|npm|yarn|pnpm|bun|deno|mix|swift|rake|make|just|task|bazel)\s+(?:run\s+|-\S+\s+)?"
    r"(?:[\w:.-]*test[\w:.-]*|check)(?![\w-]))"
)


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """A piece of work: `name` is a file, a command, a task or a rule; `state` its result, "" if unknown."""

    name: str
    at: datetime
    state: str = ""
    times: int = 1


class RecentWork(msgspec.Struct, frozen=True, kw_only=True):
    """Recent work, the newest first in each list."""

    edited: tuple[Work, ...] = ()
    tested: tuple[Work, ...] = ()
    delegated: tuple[Work, ...] = ()
    refused: tuple[Work, ...] = ()

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Its content apart from ages and counts: if unchanged, there is no news."""
        return tuple((one.name, one.state) for part in self.parts for one in part)

    @property
    def parts(self) -> tuple[tuple[Work, ...], ...]:
        """Its lists, in order of importance."""
        return self.tested, self.edited, self.delegated, self.refused


async def read(database: Database, principal: Principal, project: str, since: datetime) -> RecentWork:
    """Read the work of a developer's agents in a project since a timestamp. Raise DatabaseUnavailable."""
    mine = (DECISIONS.c.organisation == principal.organisation, DECISIONS.c.user == storable(principal.user))
    newest = (
        select(
            *(
                DECISIONS.c[name]
                for name in ("id", "at", "project", "event", "tool", "command", "paths", "decision", "outcome", "rules")
            )
        )
        .where(*mine)
        .order_by(DECISIONS.c.id.desc())
        .limit(NEWEST)
        .subquery()
    )
    records = (
        select(newest)
        .where(newest.c.project == storable(project), newest.c.at >= since, newest.c.event == "PreToolUse")
        .order_by(newest.c.id.desc())
        .limit(OF_PROJECT)
    )
    jobs = (
        select(JOBS.c.description, JOBS.c.prompt, JOBS.c.provider, JOBS.c.state, JOBS.c.created_at)
        .where(
            JOBS.c.organisation == principal.organisation,
            JOBS.c.user == storable(principal.user),
            JOBS.c.project == storable(project),
            JOBS.c.created_at >= since,
        )
        .order_by(JOBS.c.id.desc())
        .limit(MOST_JOBS)
    )
    async with database.transaction() as connection:
        calls = (await connection.execute(records)).all()
        started = (await connection.execute(jobs)).all()
    return RecentWork(
        edited=_edited(calls),
        tested=_tested(calls),
        delegated=tuple(
            Work(
                name=one_line(f"{job.provider}: {job.description or job.prompt}", LONGEST_TASK),
                at=job.created_at,
                state=job.state,
            )
            for job in started
        ),
        refused=_refused(calls),
    )


def _edited(calls: Sequence[Row[Any]]) -> tuple[Work, ...]:
    found: dict[str, datetime] = {}
    times: Counter[str] = Counter()
    for call in calls:
        if call.decision == "block" or call.outcome in {"refused", "failed"} or call.tool.lower() not in _EDITS:
            continue
        for path in call.paths:
            times[path] += 1
            found.setdefault(path, call.at)
    return tuple(
        Work(name=one_line(path, LONGEST_PATH), at=at, times=times[path])
        for path, at in list(found.items())[:MOST_FILES]
    )


def _tested(calls: Sequence[Row[Any]]) -> tuple[Work, ...]:
    found: dict[str, Work] = {}
    for call in calls:
        if not call.command or call.decision == "block" or call.outcome == "refused" or not _TESTS.search(call.command):
            continue
        name = one_line(call.command, LONGEST_COMMAND)
        # Of a repeated command the newest run counts, and it comes first.
        found.setdefault(
            name, Work(name=name, at=call.at, state={"ran": "passed", "failed": "failed"}.get(call.outcome, ""))
        )
        if len(found) == MOST_TESTS:
            break
    return tuple(found.values())


def _refused(calls: Sequence[Row[Any]]) -> tuple[Work, ...]:
    found: dict[str, Work] = {}
    for call in calls:
        rule = next((hit["id"] for hit in call.rules if hit.get("effect") == "deny"), "")
        if call.decision != "block" or not rule:
            continue
        what = one_line(call.command or " ".join(call.paths) or call.tool, LONGEST_TASK)
        found.setdefault(rule, Work(name=what, at=call.at, state=rule))
        if len(found) == MOST_REFUSALS:
            break
    return tuple(found.values())
