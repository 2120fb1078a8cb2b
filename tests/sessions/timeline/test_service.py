"""A session's timeline: every kind of item in one order, in pages of any size, with visibility."""

from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import insert

from baton.delegate.core.job import Job
from baton.delegate.core.stores import jobs as jobs_store
from baton.delegate.core.stores.tables import EVENTS
from baton.delegate.jobs.costs import parse_prices
from baton.kernel.base.errors import NotFound
from baton.kernel.changes.audit_store import AUDIT
from baton.records.pipeline import store
from baton.rules.call.call import Principal
from baton.sessions.timeline.bodies import KINDS
from baton.sessions.timeline.service import Timelines
from tests.support.records import id_at, record

PRICES = parse_prices("CHEAP=1/5 MEDIUM=3/15 EXPENSIVE=5/25")
NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
ANN, BOB = Principal(user="ann", team="t"), Principal(user="bob", team="t")
LEAD, ADMIN = Principal(user="lea", team="t", role="lead"), Principal(user="root", role="admin")


def at(seconds):
    return NOON + timedelta(seconds=seconds)


def call(seconds, **fields):
    return record(at=at(seconds), **({"session_id": "s", "project": "shop"} | fields))


RECORDS = [
    call(0, event="SessionStart"),
    call(1, event="UserPromptSubmit", prompt="mend it", routed_to="fixer", routed_by="scorer"),
    call(2, tool="Bash", command="ls", outcome="ran"),
    call(3, tool="Agent", started_agent="Explore", model_used="claude-haiku-4-5", input_tokens=1_000_000),
    call(4, tool="Read", agent_id="a1", agent_type="Explore"),
    call(4, tool="Read", agent_id="a1", agent_type="Explore", paths=("x",)),
    call(5, event="SubagentStart", agent_type="reviewer"),
    call(9, event="UserPromptSubmit"),
    call(9, event="PatternAdvisories", command="- **Use Money** (90% confidence)"),
    call(3, tool="Read", session_id="other"),
    call(3, tool="Read", user="bob"),
    call(3, tool="Read", organisation="other"),
    call(3, tool="Read", session_id="alone"),
]
STEPS = [
    ("job.state", {"state": "queued"}, 2),
    ("session.update", {"update": {}}, 2),
    ("job.state", {"state": "running"}, 4),
    ("permission.requested", {"permission": "p1"}, 4),
    ("job.state", {"state": "completed"}, 8),
    ("workspace.diff", {}, 8),
]
MODES = [
    (2, "session", "s", ""), (3, "session", "other", ""), (3, "user", "ann", ""), (3, "user", "bob", ""),
    (4, "project", "shop", ""), (4, "project", "mill", ""), (4, "organisation", "", ""), (4, "team", "t", ""),
    (4, "user_project", "", "ann"), (4, "user_project", "", "bob"), (100, "organisation", "", ""), (-100, "team", "t", ""),
]  # fmt: skip
WHOLE = [
    "session", "prompt", "route", "mode session", "decision Bash", "job queued", "mode user", "spawn Explore",
    "mode project", "mode organisation", "mode team", "mode user_project", "decision Read", "decision Read", "job running",
    "question", "spawn", "job completed", "prompt", "advisory",
]  # fmt: skip


@pytest.fixture
async def timelines(database):
    await store.add(database, RECORDS)
    job = Job(
        id="job_1", organisation="default", user="ann", team="t", session_id="s", prompt="p", state="completed",
        created_at=at(2), ended_at=at(8), cost_usd=0.5, input_tokens=7, output_tokens=8, timeout_s=1,
        inactivity_timeout_s=0, queue_expiry_s=0, workspace="", isolation="in_place",
    )  # fmt: skip
    own = {"organisation": "default", "user": "ann", "session_id": "s", "job_id": "job_1", "attempt": 1, "seq": None}
    async with database.transaction() as connection:
        await jobs_store.add(connection, job)
        await jobs_store.add(
            connection, msgspec.structs.replace(job, id="job_2", session_id="jobs only", idempotency_key="2")
        )
        for number, (kind, body, seconds) in enumerate(STEPS, 1):
            row = own | {"no": number, "session_no": number, "type": kind, "body": body, "at": at(seconds)}
            await connection.execute(insert(EVENTS).values(row))
        for seconds, scope, name, user in MODES:
            after = {"scope": scope, "id": name, "user": user, "project": "shop" if user else "", "enabled": True}
            row = {
                "id": id_at(at(seconds)), "at": at(seconds), "organisation": "default", "actor": "lea", "role": "lead",
                "action": "mode.set", "kind": "mode", "object": scope, "before": {}, "after": after, "reason": "",
            }  # fmt: skip
            await connection.execute(insert(AUDIT).values(row))
    return Timelines(database, PRICES)


def name(item):
    what = ""
    if item.kind in {"decision", "spawn"}:
        what = item.record.started_agent or item.record.tool
    elif item.kind == "job":
        what = item.job.state
    elif item.kind == "mode":
        what = item.mode.scope
    return f"{item.kind} {what}".strip()


async def whole(timelines, who, limit=200, kinds=(), session="s", user="ann"):
    found, place = [], None
    while page := await timelines.page(who, session, user, kinds, after=place, limit=limit):
        assert len(page) <= limit
        found += page
        place = page[-1].place
    return found


async def test_entries_have_one_order_for_any_page_size(timelines):
    found = await whole(timelines, ANN)
    assert [name(item) for item in found] == WHOLE
    assert [item.place.at for item in found] == sorted(item.place.at for item in found)
    for limit in (1, 2, 3, 5, 7):
        assert await whole(timelines, ANN, limit) == found, limit


async def test_kinds_are_filtered_and_together_they_are_the_whole(timelines):
    found = await whole(timelines, ANN)
    for limit in (1, 200):
        for kind in KINDS:
            assert await whole(timelines, ANN, limit, (kind,)) == [one for one in found if one.kind == kind], kind
        some = ("route", "spawn", "question")
        assert await whole(timelines, ANN, limit, some) == [one for one in found if one.kind in some]


async def test_costs_are_shown_once(timelines):
    costs = [(name(item), item.usd) for item in await whole(timelines, ANN) if item.usd is not None]
    assert costs == [("spawn Explore", 1.0), ("job completed", 0.5)]


async def test_a_session_is_shown_to_its_user_leads_and_admins(timelines):
    mine = await whole(timelines, ANN)
    assert await whole(timelines, LEAD) == mine
    assert await whole(timelines, ADMIN) == mine
    assert await whole(timelines, ANN, user="") == mine
    theirs = await whole(timelines, BOB, user="")
    assert [item.record.user for item in theirs if item.record] == ["bob"]
    assert not [item for item in theirs if item.job]
    for who, session, user in (
        (BOB, "s", "ann"), (BOB, "alone", ""), (ANN, "none", ""), (ANN, "", ""), (BOB, "jobs only", ""),
        (Principal(user="lou", team="u", role="lead"), "s", ""), (Principal(user="lou", team="", role="lead"), "alone", ""),
    ):  # fmt: skip
        with pytest.raises(NotFound):
            await timelines.page(who, session, user, (), after=None, limit=5)


async def test_a_session_that_only_delegated_has_a_timeline(timelines):
    assert await whole(timelines, ANN, session="jobs only", user="") == []
