import pytest

from baton.kernel.redis.client import Redis, RedisUnavailable
from baton.machines.session_projects import SessionProject, SessionProjects
from baton.rules.call.call import Principal, ToolCall
from tests.support.cases import every

ANN = Principal(user="ann")
SHOP, OTHER = SessionProject("acme/shop", "/shop"), SessionProject("acme/other", "/other")


@pytest.fixture
def workers(redis):
    return SessionProjects(redis, ttl_s=60), SessionProjects(redis, ttl_s=60)


async def test_the_first_project_of_a_session_is_that_of_every_server(workers):
    first, second = workers
    assert await first.pin(ANN, "s", SHOP) == SHOP
    assert await second.pin(ANN, "s", OTHER) == SHOP
    assert await second.find(ANN, "s") == SHOP == second.known(ANN, "s")


async def test_a_server_that_saw_nothing_of_a_session_asks_redis_once(workers, redis):
    first, second = workers
    await first.pin(ANN, "s", SHOP)
    assert second.known(ANN, "s") is None
    assert await second.find(ANN, "s") == SHOP
    await redis.call(b"FLUSHALL")
    assert await second.find(ANN, "s") == SHOP


@pytest.mark.parametrize(
    ("who", "session"),
    [(Principal(user="bob"), "s"), (Principal(user="ann", job="job_1"), "s"), (ANN, "s2"), (ANN, "")],
    ids=["another user", "a delegated agent", "another session", "no session"],
)
async def test_a_session_is_pinned_by_its_own_user_only(workers, who, session):
    first, second = workers
    await first.pin(who, session, OTHER)
    for one in workers:
        assert one.known(ANN, "s") is None
        assert await one.find(ANN, "s") is None
    assert await second.pin(ANN, "s", SHOP) == SHOP


async def test_without_redis_a_server_uses_its_memory():
    away = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await away.start()
    projects = SessionProjects(away, ttl_s=60)
    assert await projects.find(ANN, "s") is None
    for wanted in (SHOP, OTHER):
        with pytest.raises(RedisUnavailable):
            await projects.pin(ANN, "s", wanted)
        assert await projects.find(ANN, "s") == SHOP
    await away.close()


CALLS = [
    ("the same", ("acme/shop", "/shop"), ("acme/shop", "/shop")),
    ("a worktree of it", ("acme/shop", "/shop-2"), ("acme/shop", "/shop-2")),
    ("another", ("acme/other", "/other"), ("acme/shop", "/shop")),
    ("no remote any more", ("/shop", "/shop"), ("acme/shop", "/shop")),
    ("nothing", ("", ""), ("acme/shop", "/shop")),
    ("a root alone", ("", "/other"), ("acme/shop", "/shop")),
]


@every(("given", "settled"), [case[1:] for case in CALLS], ids=[case[0] for case in CALLS])
def test_a_call_is_settled_in_the_project_of_its_session(given, settled):
    call = ToolCall(
        client="api", session_id="s", tool_name="Read", tool_input={}, project=given[0], project_root=given[1]
    )
    found = SHOP.settle(call)
    assert (found.project, found.project_root) == settled
