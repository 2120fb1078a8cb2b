"""Purged rows, and the purging server."""

import asyncio
from datetime import UTC, datetime, timedelta

from baton.kernel.changes.announce import Changes
from baton.machines import session_projects
from baton.machines.session_projects import LastContact
from baton.modes import store as modes
from baton.operate.retention import Retention, RetentionDays
from baton.records.pipeline import store as decisions
from baton.rules.call.call import Principal
from baton.rules.call.modes import ModeSetting
from tests.support.http_calls import ok, refused
from tests.support.records import record

ADMIN = Principal(user="ada", role="admin")


async def test_a_purge_keeps_to_the_setting(database, redis):
    old, young = (record(at=datetime.now(UTC) - timedelta(days=days)) for days in (31, 29))
    await decisions.add(database, [old, young])
    retention = Retention(database, Changes(redis, database, "default"), "default")
    await retention.put(ADMIN, RetentionDays(decisions_days=30), version="0", reason="r")
    await retention.purge(asyncio.Event())
    assert await decisions.get(database, "default", old.id) is None
    assert await decisions.get(database, "default", young.id) == young


async def test_what_is_purged_is_counted_by_kind(database, redis):
    now = datetime.now(UTC)
    await decisions.add(database, [record(at=now - timedelta(days=400))])
    agents = [
        ModeSetting(scope="session", id=name, expires_at=now + timedelta(hours=h)) for name, h in (("a", -1), ("b", 1))
    ]
    async with database.transaction() as connection:
        await modes.change(connection, "default", put=[*agents, ModeSetting(scope="team", id="red")])
    heard = [
        LastContact(user="dora", client=name, last_seen=now - timedelta(days=days))
        for name, days in (("a", 366), ("b", 8))
    ]
    await session_projects.note_contacts(database, "default", heard)
    purged = await Retention(database, Changes(redis, database, "default"), "default").purge(asyncio.Event())
    assert {kind: number for kind, number in purged.items() if number} == {"decisions": 1, "modes": 1, "clients": 1}
    assert [one.client for one in await session_projects.load(database, "default")] == ["b"]
    assert {one.id for one in await modes.load_all(database, "default", now - timedelta(hours=2))} == {"b", "red"}


def test_retention_is_set_from_the_version_that_one_has_read(http, dora):
    now = http.get("/retention")
    kept = {"decisions_days": 30, "reports_days": 60, "audit_days": 400}
    refused(http.put("/retention", json=kept), 412, "precondition_failed", now.headers["etag"])
    set_ = http.put("/retention", json=kept | {"reason": "law"}, headers={"If-Match": now.headers["etag"]})
    assert ok(set_) == kept | {"jobs_days": 30}
    assert http.get("/retention").headers["etag"] == set_.headers["etag"] != now.headers["etag"]
    refused(http.put("/retention", json=kept, headers={"If-Match": now.headers["etag"]}), 412, "precondition_failed")
    refused(http.put("/retention", json=kept | {"audit_days": 364}), 422, "validation", "`audit_days`")
    refused(dora.get("/retention"), 403, "forbidden")
    refused(dora.put("/retention", json=kept), 403, "forbidden")
    assert ok(http.get("/audit", params={"kind": "retention"}))["items"][0]["reason"] == "law"
