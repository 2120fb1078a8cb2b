"""Switching sources off: a lead for their team, an admin for everybody; every server follows, and it is audited."""

import pytest

from baton.context.utilization.switches import BUILT_IN, SourceSwitches
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden, NotFound
from baton.kernel.changes import audit_store
from baton.kernel.changes.announce import Changes

DEV = Principal(organisation="acme", team="web", user="dan", role="developer")
LEAD = Principal(organisation="acme", team="web", user="lea", role="lead")
OTHER = Principal(organisation="acme", team="ops", user="oto", role="developer")
ADMIN = Principal(organisation="acme", user="ada", role="admin")


@pytest.fixture
async def servers(database, redis):
    made = []
    for _ in range(2):
        made.append(SourceSwitches(database, Changes(redis, database, "acme"), "acme", lambda: BUILT_IN | {"mine"}))
        await made[-1].load()
    return made


async def switch(server, who, source="similarity", *, enabled=False, team="web"):
    return await server.switch(who, source, enabled=enabled, team=team, reason="hardly used")


async def test_a_lead_switches_for_the_team_and_other_servers_follow(servers):
    one, other = servers
    found = await switch(one, LEAD)
    assert (found.off, found.off_for_teams) == (False, ["web"])
    await other.load()
    for server in servers:
        assert (server.on(DEV, "similarity"), server.on(OTHER, "similarity"), server.on(DEV, "patterns")) == (
            False,
            True,
            True,
        )
    await switch(one, LEAD, enabled=True)
    assert one.on(DEV, "similarity")


async def test_an_admin_switches_for_everybody(servers, database):
    one, _ = servers
    assert (await switch(one, ADMIN, "mine", team="")).off
    assert not one.on(DEV, "mine")
    assert not one.on(OTHER, "mine")
    entries = await audit(database)
    assert [(entry.action, entry.object) for entry in entries] == [("context.switch", "mine of everybody")]
    await switch(one, ADMIN, "mine", team="")
    assert len(await audit(database)) == 1


async def audit(database):
    return await audit_store.find(database, "acme", kind="context")


async def test_who_may_not_is_told_why(servers):
    one, _ = servers
    for who, team, error, said in (
        (DEV, "web", Forbidden, "context.write"),
        (LEAD, "", Forbidden, "your own team"),
        (LEAD, "ops", NotFound, "no team `ops`"),
    ):
        with pytest.raises(error, match=said):
            await switch(one, who, team=team)
    with pytest.raises(NotFound, match="did you mean `similarity`"):
        await switch(one, LEAD, "similarty")


async def test_one_sees_one_s_own_team_and_everybody(servers):
    one, _ = servers
    await switch(one, LEAD)
    await switch(one, ADMIN, "patterns", team="ops")
    shown = {found.source: found.off_for_teams for found in one.find(DEV)}
    assert shown["similarity"] == ["web"]
    assert shown["patterns"] == []
    assert {found.source: found.off_for_teams for found in one.find(ADMIN)}["patterns"] == ["ops"]
