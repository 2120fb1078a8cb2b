"""A change's answer, and the server's later state, with a slow or unavailable database."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from baton.kernel.base.errors import Unauthenticated
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.people import tokens_store, users_store
from baton.people.tokens import Tokens
from baton.people.users import Users
from baton.rules.call.call import Principal

ADMIN = Principal(user="root", team="web", role="admin")


class SlowDatabase:
    """A database that takes its time, and of which only some more transactions come about."""

    def __init__(self, database):
        self._database = database
        self.left = None

    def __getattr__(self, name):
        return getattr(self._database, name)

    @asynccontextmanager
    async def transaction(self, *away):
        if self.left is not None:
            if not self.left:
                raise DatabaseUnavailable("away")
            self.left -= 1
        await asyncio.sleep(0.01)
        async with self._database.transaction(*away) as connection:
            yield connection
            await asyncio.sleep(0.01)


class Server:
    """The identities of one server; several share a database."""

    def __init__(self, redis, database):
        self.database = SlowDatabase(database)
        self.changes = Changes(redis, self.database, "default")
        self.users = Users(self.database, self.changes, organisation="default", team="web")
        self.tokens = Tokens(self.database, self.changes, self.users, organisation="default")

    async def start(self):
        await self.users.load()
        await self.tokens.load()
        await self.changes.catch_up()
        return self

    async def create(self, user):
        return await self.tokens.create(ADMIN, user=user, role="developer")


@pytest.fixture
async def servers(redis, database):
    return [await Server(redis, database).start() for _ in range(2)]


async def test_a_server_reads_its_own_change_at_once(servers):
    stop = asyncio.Event()
    looking = [asyncio.create_task(one.changes.run(stop)) for one in servers]

    async def work(number, server):
        texts = []
        for turn in range(5):
            token, text = await server.create(f"user-{number}-{turn}")
            assert server.tokens.check(text).user == f"user-{number}-{turn}"
            await server.users.put_user(ADMIN, token.user, team="", disabled=True)
            with pytest.raises(Unauthenticated, match="disabled"):
                server.tokens.check(text)
            await server.users.put_user(ADMIN, token.user, team="", disabled=False)
            texts.append(text)
        return texts

    made = await asyncio.gather(*(work(number, server) for number, server in enumerate(servers)))
    stop.set()
    await asyncio.gather(*looking)
    for server in servers:
        await server.changes.catch_up()
        for text in (text for texts in made for text in texts):
            server.tokens.check(text)


async def test_a_stored_change_succeeds_despite_a_later_outage(servers):
    one, other = servers
    one.database.left = 1
    _, text = await one.create("dora")
    one.database.left = None
    for server in (one, other):
        await server.changes.catch_up()
        assert server.tokens.check(text).user == "dora"


async def test_a_change_that_is_stored_succeeds_though_it_cannot_be_read_again(servers, monkeypatch, caplog):
    async def broken(*_):
        raise RuntimeError("a row that nobody can read")

    monkeypatch.setattr(tokens_store, "load_some", broken)
    await servers[0].create("dora")
    assert "tokens could not be read again" in caplog.text


async def test_one_token_or_user_more_is_read_by_its_key(servers, monkeypatch):
    async def whole(*_):
        raise AssertionError("all of them were read")

    await servers[0].create("ann")
    await servers[1].changes.catch_up()
    monkeypatch.setattr(tokens_store, "load_all", whole)
    monkeypatch.setattr(users_store, "load", whole)
    token, text = await servers[0].create("dora")
    await servers[1].changes.catch_up()
    assert servers[1].tokens.check(text).team == "web"
    await servers[0].users.put_team(ADMIN, "data")
    await servers[0].users.put_user(ADMIN, "dora", team="data", disabled=None)
    await servers[1].changes.catch_up()
    assert servers[1].tokens.check(text).team == "data"
    await servers[0].tokens.revoke(ADMIN, token.id)
    await servers[0].users.remove_user(ADMIN, "ann")
    await servers[1].changes.catch_up()
    assert servers[1].users.find("ann") is None
    with pytest.raises(Unauthenticated, match="revoked"):
        servers[1].tokens.check(text)
