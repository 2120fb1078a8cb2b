"""Fills a migrated database with a team's typical decisions: people, sessions, tools, rules, outcomes, days.

A fixed seed makes two runs compare the same rows. Rows are inserted by COPY or executemany; the database then computes
the sums, like the migration.
"""

import asyncio
import json
import random
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import asyncpg

from baton.kernel.base.driver import DriverTarget
from baton.rules.call.record import Record

COLUMNS = Record.__struct_fields__
END = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=1)
PEOPLE, TEAMS, PROJECTS, RULES = 60, 8, 40, 30
_TOOLS = ("Bash", "Read", "Edit", "Grep", "Write", "Glob", "Task", "WebFetch", "mcp__tracker__get", "NotebookEdit")
_TOOL_WEIGHTS = (38, 25, 12, 9, 5, 4, 3, 2, 1.9, 0.1)
_EFFECTS = ("abstain", "allow", "deny", "ask", "rewrite")
_EFFECT_WEIGHTS = (90, 3, 3, 2, 2)
_COMMANDS = (
    "uv run pytest -q tests/test_cart.py 2>&1 | tail -20", "git status && git diff --stat | head -20", "ls -la src",
    "grep -rn 'total' --include='*.py' . | sort | head", "npm run build", "make test", "rm -rf build", "git push",
)  # fmt: skip
_CALLS_PER_SESSION = 45


def rows(count: int, days: int) -> Iterator[tuple[Any, ...]]:
    """Yield rows of decisions, the oldest first, over the working hours of so many days before `END`."""
    chance = random.Random(1)  # noqa: S311 - a fixed sequence
    hours = _working_hours(days)
    live = [_session(chance, number) for number in range(PEOPLE)]
    usual = dict(zip(COLUMNS[-len(Record.__struct_defaults__) :], Record.__struct_defaults__, strict=True))
    defaults = usual | {"degraded": [], "revision": "5f2c1d", "mode_level": "strict", "mode_scope": "organisation"}
    for number in range(count):
        place = number * len(hours) / count
        ms = hours[int(place)] + int(place % 1 * 3_600_000)
        slot = chance.randrange(PEOPLE)
        session = live[slot]
        if chance.random() < 1 / _CALLS_PER_SESSION:
            session = live[slot] = _session(chance, slot)
        tool = chance.choices(_TOOLS, _TOOL_WEIGHTS)[0]
        effect = chance.choices(_EFFECTS, _EFFECT_WEIGHTS)[0]
        event = "PreToolUse" if chance.random() < 0.96 else "UserPromptSubmit"
        hits = (
            []
            if effect == "abstain"
            else [{"id": f"team/rule-{min(int(chance.expovariate(0.3)), RULES)}", "effect": effect}]
        )
        digits = f"{ms:012x}"
        record = defaults | session | {
            "id": f"{digits[:8]}-{digits[8:]}-7{chance.randrange(4096):03x}-8000-{number:012x}",
            "at": datetime.fromtimestamp(ms / 1000, UTC), "organisation": "default", "event": event,
            "agent_id": f"agent-{number % 9999}" if chance.random() < 0.1 else "", "agent_type": "", "tool": tool,
            "tool_use_id": f"toolu_{number:024d}", "effect": effect, "rules": hits,
            "decision": {"deny": "block", "ask": "ask"}.get(effect, "allow"), "mode_enabled": True, "elapsed_us": int(chance.lognormvariate(5.3, 0.5)),
            "command": chance.choice(_COMMANDS) if tool == "Bash" else "",
            "paths": [f"src/app/part{number % 97}.py"] if tool in {"Read", "Edit", "Write"} else [],
            "model_injected": "haiku" if tool == "Task" else "", "role": "developer", "prompt": "",
            "overridden": chance.random() < 0.0005, "routed_to": "", "routed_by": "", "confidence": 0.0,
            "outcome": _outcome(chance, effect), "duration_ms": chance.randrange(9_000),
            "model_used": "claude-haiku-4-5" if tool == "Task" else "", "input_tokens": chance.randrange(9_000) if tool == "Task" else 0,
            "cached_tokens": 0, "output_tokens": chance.randrange(900) if tool == "Task" else 0,
        }  # fmt: skip
        yield tuple(record[name] for name in COLUMNS)


def _working_hours(days: int) -> list[int]:
    """Return the start times of working hours, in ms since 1970."""
    every = (END - timedelta(hours=back) for back in range(days * 24, 0, -1))
    return [int(one.timestamp() * 1000) for one in every if one.weekday() < 5 and 7 <= one.hour < 18]


def _session(chance: random.Random, slot: int) -> dict[str, Any]:
    return {
        "user": f"person-{slot}", "team": f"team-{slot % TEAMS}", "project": f"/home/dev/project-{chance.randrange(PROJECTS)}",
        "session_id": f"{chance.getrandbits(128):032x}",
        "client": "codex" if slot % 5 == 0 else "gemini" if slot % 29 == 0 else "claude-code",
    }  # fmt: skip


def _outcome(chance: random.Random, effect: str) -> str:
    if effect == "deny":
        return "ran_anyway" if chance.random() < 0.002 else "refused"
    return chance.choices(("ran", "failed", "unknown"), (88, 4, 8))[0]


def fill(target: DriverTarget, count: int, days: int) -> None:
    """Fill an empty, migrated database."""
    if target.dialect == "sqlite":
        _fill_sqlite(target.arguments["database"], count, days)
    else:
        asyncio.run(_fill_postgres(target.arguments, count, days))


_TOTALS = """INSERT INTO decision_totals (organisation, "user", team, effect, decisions)
SELECT organisation, "user", team, effect, count(*) FROM decisions WHERE event = 'PreToolUse' GROUP BY 1, 2, 3, 4"""


def _fill_sqlite(path: str, count: int, days: int) -> None:
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-600000")
        marks, names = ",".join("?" * len(COLUMNS)), ",".join(f'"{name}"' for name in COLUMNS)
        jsons = [COLUMNS.index(name) for name in ("rules", "degraded", "paths")]
        at = COLUMNS.index("at")

        def values() -> Iterator[tuple[Any, ...]]:
            for row in rows(count, days):
                plain = list(row)
                plain[at] = row[at].replace(tzinfo=None).isoformat(" ", timespec="microseconds")
                for number in jsons:
                    plain[number] = json.dumps(row[number], separators=(",", ":"))
                yield tuple(plain)

        connection.executemany(f"INSERT INTO decisions ({names}) VALUES ({marks})", values())  # noqa: S608
        connection.execute(_TOTALS)
        connection.execute("ANALYZE")
    connection.close()


async def _fill_postgres(arguments: dict[str, Any], count: int, days: int) -> None:
    names = {"prepared_statement_cache_size", "prepared_statement_name_func", "async_fallback"}
    connection = await asyncpg.connect(**{name: value for name, value in arguments.items() if name not in names})
    encode = lambda value: json.dumps(value, separators=(",", ":")).encode()  # noqa: E731
    await connection.set_type_codec("json", encoder=encode, decoder=json.loads, schema="pg_catalog", format="binary")
    await connection.copy_records_to_table("decisions", records=rows(count, days), columns=list(COLUMNS))
    await connection.execute(_TOTALS)
    await connection.execute("VACUUM ANALYZE")
    await connection.close()
