"""Sessions' activity, read from SQL: jobs, agents, tokens, and only of rows in scope."""

import msgspec
import pytest

from baton.delegate.core.job import Job
from baton.delegate.core.stores import jobs as jobs_store
from baton.people.users import RowScope
from baton.records.pipeline import store
from baton.records.review.delegation_share import store as delegation_share_store
from baton.records.review.delegation_share.groups import GroupFilter
from baton.sessions import activity
from tests.sessions.test_activity import NOON, at
from tests.support.records import record

ALL = RowScope()
KEY = ("s", "ann")


def call(second, **fields):
    return record(id=at(second), at=NOON, session_id="s", project="acme/Shop", **fields)


@pytest.fixture
async def lived(database):
    agent = {"agent_id": "a1", "agent_type": "Explore"}
    started = {"tool": "Agent", "started_agent": "Explore", "model_used": "claude-haiku-4-5", "outcome": "ran"}
    await store.add(
        database,
        [
            call(1, input_tokens=1_000_000, **started),
            call(2, **agent),
            call(3, decision="block", effect="deny", **agent),
            call(4, role="agent", input_tokens=9, **started),
            call(5, user="bob", team="u", **agent),
            call(6, event="UserPromptSubmit", agent_id="a2"),
        ],
    )
    job = Job(
        id="job_1", organisation="default", user="ann", team="t", session_id="s", prompt="p", state="awaiting_permission",
        created_at=NOON, cost_usd=0.5, timeout_s=1, inactivity_timeout_s=0, queue_expiry_s=0, workspace="",
        isolation="in_place",
    )  # fmt: skip
    done = {"state": "completed", "cost_usd": None, "tier": "CHEAP", "input_tokens": 1_000_000}
    async with database.transaction() as connection:
        await jobs_store.add(connection, job)
        await jobs_store.add(connection, msgspec.structs.replace(job, id="job_2", idempotency_key="2", **done))
        await jobs_store.add(connection, msgspec.structs.replace(job, id="job_3", idempotency_key="3", session_id="z"))
    return database


@pytest.mark.parametrize(("scope", "seen"), [(ALL, True), (RowScope(user="ann"), True), (RowScope(user="bob"), False)])
async def test_jobs_agents_and_tokens_are_those_of_the_session_and_in_scope(lived, scope, seen):
    async with lived.transaction() as connection:
        jobs = await activity.jobs(connection, "default", scope, [KEY])
        tokens = await activity.call_tokens(connection, "default", scope, [KEY])
        counts = await activity.agent_counts(connection, "default", scope, [KEY])
        calls, spawns = await activity.agents(connection, "default", scope, KEY)
    if not seen:
        assert (jobs, tokens, counts, calls, spawns) == ([], [], {}, [], [])
        return
    assert sorted((one.tier, one.waiting, one.active, one.usd, one.priced_input) for one in jobs) == [
        ("", 1, 1, 0.5, 0),
        ("CHEAP", 0, 0, 0.0, 1_000_000),
    ]
    assert [(one.model, one.input_tokens) for one in tokens] == [("claude-haiku-4-5", 1_000_000)]
    assert counts == {KEY: 1}
    assert [(one.agent_id, one.calls, one.blocked) for one in calls] == [("a1", 2, 1)]
    assert [(one.parent, one.agent_type, one.is_over) for one in spawns] == [("", "Explore", True)] * 2


@pytest.mark.parametrize(
    ("wanted", "found"),
    [({"q": "SHOP"}, 2), ({"q": "s"}, 2), ({"q": "BO"}, 1), ({"q": "hop"}, 2), ({"q": "nn"}, 0), ({"q": "%"}, 0),
     ({"called_since": NOON}, 2), ({"called_since": NOON.replace(year=2027)}, 0)],
)  # fmt: skip
async def test_sessions_are_found_by_text_and_by_their_last_call(lived, wanted, found):
    asked = GroupFilter(since=NOON, **wanted)
    groups = await delegation_share_store.find_groups(lived, "default", ALL, asked, "session", agent_tools=())
    assert len(groups) == found
