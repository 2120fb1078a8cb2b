"""The table of overrides, on both databases."""

from datetime import UTC, datetime, timedelta

from baton.sessions.overrides import store as overrides
from baton.sessions.overrides.store import Override

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


async def test_overrides_are_read_until_they_expire(database):
    one = Override(
        id="1", session_id="s", user="ann", rule="*", reason="r", created_by="lea", created_at=NOON,
        expires_at=NOON + DAY,
    )  # fmt: skip
    async with database.transaction() as connection:
        await overrides.add(connection, "default", one)
    assert await overrides.load(database, "default", NOON) == [one]
    assert await overrides.load(database, "another", NOON) == []
    assert await overrides.load(database, "default", NOON + DAY) == []
    async with database.transaction() as connection:
        assert not await overrides.remove(connection, "another", "1")
        assert await overrides.remove(connection, "default", "1")
        assert not await overrides.remove(connection, "default", "1")
