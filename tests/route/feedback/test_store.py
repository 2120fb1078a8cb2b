"""The table of people's feedback on routes, on both databases."""

from datetime import UTC, datetime, timedelta

from baton.operate import retention as retention_store
from baton.route.feedback import store as route_feedback
from baton.route.feedback.store import Feedback

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


def said(route_id, user="ann", **fields):
    given = {"team": "t", "at": NOON, "selected": "a", "right_agent": "b"}
    return Feedback(route_id=route_id, user=user, **(given | fields))


async def test_a_person_s_later_feedback_replaces_the_earlier(database):
    await route_feedback.put(database, "default", said("r1"))
    await route_feedback.put(database, "default", said("r1", user="bob"))
    await route_feedback.put(database, "default", said("r1", right_agent="", at=NOON + DAY))
    found = await route_feedback.of_team(database, "default", "t", 10)
    assert [(one.user, one.right_agent) for one in found] == [("ann", ""), ("bob", "b")]
    assert await route_feedback.of_team(database, "default", "t", 1) == found[:1]
    assert await route_feedback.of_team(database, "default", "another", 10) == []


async def test_old_words_go_a_batch_at_a_time_and_others_stay(database, monkeypatch):
    monkeypatch.setattr(retention_store, "LARGEST_BATCH", 2)
    for user in ("ann", "bob", "cat"):
        await route_feedback.put(database, "default", said("old", user=user))
    await route_feedback.put(database, "default", said("new", at=NOON + DAY))
    await route_feedback.put(database, "another", said("old"))
    purged = [await retention_store.purge_route_feedback(database, "default", NOON + DAY) for _ in range(3)]
    assert purged == [2, 1, 0]
    assert [one.route_id for one in await route_feedback.of_team(database, "default", "t", 10)] == ["new"]
    assert len(await route_feedback.of_team(database, "another", "t", 10)) == 1
