"""The end of an override: what the audit log says of it, and who may end it."""

from datetime import timedelta

import pytest

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import NotFound
from baton.kernel.base.time import clock
from baton.kernel.changes import audit_store
from baton.kernel.changes.announce import Changes
from baton.people.users import Users
from baton.sessions.overrides import store
from baton.sessions.overrides.service import Overrides
from baton.sessions.overrides.store import Override

ADMIN = Principal(user="root", role="admin")
LEAD = Principal(user="lea", team="red", role="lead")


def server(database, redis):
    """One server's service. It makes no override here, so it needs no policies and no modes."""
    changes = Changes(redis, database, "default")
    users = Users(database, changes, organisation="default", team="default")
    return Overrides(database, changes, users, None, None, organisation="default")


@pytest.fixture
async def overrides(database, redis):
    """A server with one override of Ann, who is in no team."""
    service = server(database, redis)
    async with database.transaction() as connection:
        now = await clock.now(connection)
        lifted = Override(
            id="1", session_id="s", user="ann", rule="a/b", reason="release", created_by="root",
            created_at=now, expires_at=now + timedelta(hours=1),
        )  # fmt: skip
        await store.add(connection, "default", lifted)
    await service.load()
    return service


async def entries(database):
    return await audit_store.find(database, "default", kind="override")


async def test_an_end_is_in_the_audit_log_with_what_ended_and_why(overrides, database):
    await overrides.end(ADMIN, "1", "released")
    (entry,) = await entries(database)
    assert (entry.action, entry.actor, entry.object, entry.reason) == ("override.end", "root", "1", "released")
    assert (entry.before["rule"], entry.before["user"], entry.after) == ("a/b", "ann", {})


async def test_an_end_of_what_another_server_has_ended_is_no_second_entry(overrides, database, redis):
    other = server(database, redis)
    await other.load()
    await overrides.end(ADMIN, "1")
    await other.end(ADMIN, "1")
    assert len(await entries(database)) == 1


async def test_who_may_not_end_it_finds_none(overrides, database):
    for principal, name in ((LEAD, "1"), (ADMIN, "2")):
        with pytest.raises(NotFound):
            await overrides.end(principal, name)
    assert await entries(database) == []
