"""The table of exceptions, on both databases."""

from datetime import UTC, datetime, timedelta

from baton.operate import retention
from baton.rules.call.call import Principal, ToolCall
from baton.sessions.exceptions.service import RuleException, add
from tests.support.excepting import Process

NOW = datetime.now(UTC)
DORA = Principal(user="dora", team="red")
ADMIN = Principal(user="ada", role="admin")
CALL = ToolCall(client="codex", session_id="s", tool_name="Edit", tool_input={"file_path": "a.py"}, cwd="/r")


def exception(name, state="granted", **more):
    given = dict.fromkeys(("decision_id", "project", "layer", "approvers", "shown", "shape", "reason"), "r")
    given |= {"organisation": "default", "user": "dora", "team": "red", "session_id": "s", "tool": "Edit"}
    given |= {
        "condition": '{"tools":"Edit"}',
        "rule": "orchestrator/direct-edit",
        "layer": "shipped",
        "scope": "session",
    }
    given |= {"created_by": "dora", "created_at": NOW, "granted_by": "lea", "expires_at": NOW + timedelta(days=1)}
    return RuleException(id=name, state=state, **(given | more))


async def test_grants_in_force_are_read_and_old_ones_go_in_the_end(database, redis, tmp_path):
    process = Process(database, redis, tmp_path)
    kept = [
        exception("granted"),
        exception("requested", "requested"),
        exception("expired", expires_at=NOW - timedelta(hours=1)),
        exception("other", organisation="another"),
    ]
    async with database.transaction() as connection:
        for one in kept:
            await add(connection, one)
    await process.exceptions.load()
    active = process.policies.active
    assert dict(process.exceptions.lifted(DORA, CALL, active)) == {"orchestrator/direct-edit": ""}
    assert [one.id for one in await process.exceptions.find(ADMIN)] == ["requested", "granted"]
    assert [one.id for one in await process.exceptions.find(ADMIN, state="granted", user="dora", session_id="s")] == [
        "granted"
    ]
    assert await process.exceptions.spend(DORA, "d", {"a/b": "granted"}) == frozenset()
    assert await process.exceptions.spend(DORA, "d", {"a/b": "granted"}) == {"a/b"}
    assert await retention.purge_exceptions(database, "default", NOW) == 1
