"""Tokens: stored data, refusals, and every server's knowledge within one read of SQL."""

import re
from datetime import UTC, datetime, timedelta

import msgspec
import pytest

from baton.kernel.base.errors import Forbidden, Invalid, NotFound, StoreUnavailable, Unauthenticated
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.changes import audit_store
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.numbers import numbers
from baton.people import first_token, tokens_store
from baton.people.tokens import Tokens
from baton.people.users import Users
from baton.rules.call.call import Principal
from tests.support.cases import every

NOON = datetime(2030, 5, 4, 12, tzinfo=UTC)
ADMIN = Principal(user="root", team="ops", role="admin")


class Away:
    """A database that does not answer."""

    def transaction(self, *_):
        raise DatabaseUnavailable("away")


class Server:
    """The identities of one server; several share a database."""

    def __init__(self, redis, database):
        self.moment = NOON
        self.changes = Changes(redis, database, "default")
        self.users = Users(database, self.changes, organisation="default", team="default")
        self.tokens = Tokens(database, self.changes, self.users, organisation="default", now=lambda: self.moment)

    async def start(self):
        await self.users.load()
        await self.tokens.load()
        return self


@pytest.fixture
async def server(redis, database):
    one = await Server(redis, database).start()
    for team in ("web", "data"):
        await one.users.put_team(ADMIN, team)
    return one


async def test_a_token_speaks_for_its_user_team_and_role(server, database):
    token, text = await server.tokens.create(ADMIN, user="dora", role="developer", team="web")
    assert re.fullmatch(rf"baton_{token.id}_[0-9a-f]{{64}}", text)
    principal = server.tokens.check(text)
    assert (principal.user, principal.team, principal.role) == ("dora", "web", "developer")
    kept = repr([await tokens_store.load_all(database, "default"), await audit_store.find_entries(database, "default")])
    assert text.rpartition("_")[2] not in kept
    assert token.digest not in repr(await audit_store.find_entries(database, "default"))


async def test_a_foreign_token_is_refused(server):
    _, text = await server.tokens.create(ADMIN, user="dora", role="developer")
    wrong = text[:-1] + ("0" if text[-1] != "0" else "1")
    for given in ("", "baton", wrong, text.upper(), text + "0", "baton_" + "0" * 12 + "_" + "0" * 64, "é" * 83):
        with pytest.raises(Unauthenticated) as refused:
            server.tokens.check(given)
        assert refused.value.token_id == ""
        assert len(given) < 20 or given not in refused.value.detail


async def test_a_revoked_an_expired_and_a_disabled_one_are_refused_by_id(server):
    for why in ("revoked", "expired", "disabled"):
        tomorrow = server.moment + timedelta(days=1)
        token, text = await server.tokens.create(ADMIN, user=why, role="developer", expires_at=tomorrow)
        assert server.tokens.check(text).user == why
        match why:
            case "revoked":
                await server.tokens.revoke(ADMIN, token.id, "lost")
                await server.tokens.revoke(ADMIN, token.id, "again")
            case "expired":
                server.moment += timedelta(days=1)
            case "disabled":
                await server.users.put_user(ADMIN, why, team="", disabled=True)
        with pytest.raises(Unauthenticated, match=why) as refused:
            server.tokens.check(text)
        assert refused.value.token_id == token.id


async def test_another_server_knows_after_one_look_at_sql(server, redis, database):
    other = await Server(redis, database).start()
    token, text = await server.tokens.create(ADMIN, user="dora", role="developer", team="web")
    await other.changes.catch_up()
    assert other.tokens.check(text).team == "web"
    await other.users.put_user(ADMIN, "dora", team="data", disabled=False)
    await server.changes.catch_up()
    assert server.tokens.check(text).team == "data"
    await other.tokens.revoke(ADMIN, token.id)
    await server.changes.catch_up()
    with pytest.raises(Unauthenticated):
        server.tokens.check(text)


async def test_the_last_use_is_shown(server):
    token, text = await server.tokens.create(ADMIN, user="dora", role="developer")
    assert (await server.tokens.list_tokens(ADMIN))[0].last_used_at is None
    server.tokens.check(text)
    assert (await server.tokens.list_tokens(ADMIN))[0].last_used_at == NOON
    assert [one.id for one in await server.tokens.list_tokens(ADMIN, user="dora")] == [token.id]
    assert await server.tokens.list_tokens(ADMIN, user="eve") == []


async def test_one_sees_and_revokes_one_s_own(server):
    token, _ = await server.tokens.create(ADMIN, user="dora", role="developer", team="web")
    dora, eve, lead = (
        Principal(user=user, team="web", role=role)
        for user, role in (("dora", "developer"), ("eve", "developer"), ("lea", "lead"))
    )
    assert await server.tokens.list_tokens(eve) == await server.tokens.list_tokens(lead) == []
    for who in (eve, lead):
        with pytest.raises(NotFound):
            await server.tokens.revoke(who, token.id)
        with pytest.raises(Forbidden):
            await server.tokens.create(who, user="eve", role="admin")
    await server.tokens.revoke(dora, token.id)


BAD = [
    ({"user": " ", "role": "developer"}, "user"),
    ({"user": "a\nb", "role": "developer"}, "user"),
    ({"user": "dora", "role": "king"}, "role"),
    ({"user": "dora", "role": "developer", "expires_at": NOON}, "expires_at"),
    ({"user": "known", "role": "developer", "team": "data"}, "team"),
]


@every(("given", "field"), BAD, ids=[row[1] for row in BAD])
async def test_a_bad_request_names_the_field(server, given, field):
    await server.users.put_user(ADMIN, "known", team="web", disabled=False)
    with pytest.raises(Invalid) as refused:
        await server.tokens.create(ADMIN, **given)
    assert refused.value.errors[0].field == field


async def test_without_a_database_known_tokens_stay_valid(server):
    _, text = await server.tokens.create(ADMIN, user="dora", role="developer")
    server.tokens._database = server.changes._database = Away()
    assert server.tokens.check(text).user == "dora"
    with pytest.raises(StoreUnavailable):
        await server.tokens.create(ADMIN, user="eve", role="developer")
    await server.tokens.flush()
    assert server.tokens._used


async def test_the_first_admin_s_token_is_made_once(server, database, tmp_path):
    file = tmp_path / "admin-token"
    text = await first_token.ensure(database, ADMIN, file)
    assert file.read_text().strip() == text
    assert file.stat().st_mode & 0o777 == 0o600
    assert await first_token.ensure(database, ADMIN, file) == ""
    await server.start()
    principal = server.tokens.check(text)
    assert (principal.user, principal.role, principal.team) == ("root", "admin", "ops")
    await server.tokens.revoke(ADMIN, (await server.tokens.list_tokens(ADMIN))[0].id)
    assert await first_token.ensure(database, ADMIN, file) not in {"", text}


async def test_an_admin_token_is_created_locally_and_announced(server, database):
    await server.tokens.create(ADMIN, user="boss", role="admin")
    before = await numbers(database, ADMIN.organisation)
    in_an_hour = NOON + timedelta(hours=1)
    text = await first_token.recover(database, msgspec.structs.replace(ADMIN, user="newcomer"), in_an_hour)
    after = await numbers(database, ADMIN.organisation)
    assert {kind for kind in after if after[kind] != before.get(kind)} == {"tokens", "users"}
    await server.start()
    assert (server.tokens.check(text).user, server.tokens.check(text).role) == ("newcomer", "admin")
    made = next(token for token in await server.tokens.list_tokens(ADMIN) if token.user == "newcomer")
    assert made.expires_at == in_an_hour
    entry = next(one for one in await audit_store.find_entries(database, ADMIN.organisation) if one.object == made.id)
    assert (entry.actor, entry.action, entry.reason) == ("newcomer", "token.create", first_token.ON_THE_MACHINE)
    assert made.digest not in str(entry)


async def test_no_token_is_made_on_the_machine_for_a_user_who_is_disabled(server, database):
    await server.users.put_user(ADMIN, "left", team="web", disabled=True)
    with pytest.raises(ValueError, match="`left` is disabled"):
        await first_token.recover(database, msgspec.structs.replace(ADMIN, user="left"), None)
    assert [token for token in await server.tokens.list_tokens(ADMIN) if token.user == "left"] == []
