"""The table of webhooks, on both databases."""

from datetime import UTC, datetime

from baton.events import webhooks as service
from baton.events.webhooks import RegisteredWebhook


def webhook(number):
    return RegisteredWebhook(
        id=f"w{number}",
        url="https://8.8.8.8/in",
        topics=("jobs", "modes"),
        secret="whsec_",
        description="for the \0 board",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        created_by="ann",
    )


async def test_what_was_stored_is_found_by_its_organisation_alone(database):
    async with database.transaction() as connection:
        for number in (2, 1):
            await service.add(connection, "acme", webhook(number))
        await service.add(connection, "other", webhook(3))
    found = await service.load(database, "acme")
    assert [one.id for one in found] == ["w1", "w2"]
    assert (found[0].topics, found[0].description) == (("jobs", "modes"), "for the \ufffd board")
    async with database.transaction() as connection:
        assert not await service.remove(connection, "acme", "w3")
        assert not await service.remove(connection, "acme", "\0")
        assert await service.remove(connection, "acme", "w1")
    assert [one.id for one in await service.load(database, "acme")] == ["w2"]
