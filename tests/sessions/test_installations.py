"""Hooks changed since their installation, or since the last session, are reported to the person and counted."""

import pytest

from baton.clients.event import HookEvent
from baton.kernel.redis.client import Redis
from baton.records.pipeline.recorder import Counters
from baton.rules.call.call import Principal
from baton.sessions.installations import Installations
from baton.shared.caller import Caller

SAME, LIBRARY, OFF = "1-1,2-2,3-3,0", "1-1,9-9,3-3,0", "1-1,2-2,3-3,1"


@pytest.fixture
def counters():
    return Counters()


@pytest.fixture
def installations(redis, counters):
    return Installations(redis, counters)


def start(source="startup", client="claude-code"):
    return HookEvent(
        client=client, name="SessionStart", native_name="SessionStart", session_id="s", cwd="/w", source=source
    )


def caller(digests, manifest=SAME, user="ann", machine="laptop"):
    return Caller(principal=Principal(user=user), digests=digests, manifest=manifest, machine=machine)


async def test_hooks_as_they_were_installed_are_not_mentioned(installations, counters):
    for _ in range(3):
        assert await installations.changed(caller(SAME), start()) == ""
    assert await installations.changed(caller("", ""), start()) == ""
    assert counters.degraded == {}


@pytest.mark.parametrize(
    ("digests", "part"),
    [
        (LIBRARY, "its library"),
        (OFF, "the switch for all hooks"),
        ("8-1,2-2,7-3,0", "the shim, the hook entries"),
        ("x", "all of"),
    ],
)
async def test_changed_files_are_named_and_counted(installations, counters, digests, part):
    notice = await installations.changed(caller(digests), start())
    assert "not as they were installed" in notice
    assert part in notice
    assert counters.degraded == {"installation": 1}
    assert await installations.changed(caller(digests), start("compact")) == ""


@pytest.mark.parametrize(
    "after",
    [caller(LIBRARY, LIBRARY), caller(OFF, ""), caller(SAME, "")],
    ids=["shim and manifest rewritten", "both removed", "manifest removed"],
)
async def test_a_rewritten_manifest_is_noticed_by_the_server(installations, counters, after):
    assert await installations.changed(caller(SAME), start()) == ""
    assert "changed since the last session" in await installations.changed(after, start())
    assert await installations.changed(after, start()) == ""
    assert counters.degraded == {"installation": 1}


async def test_each_user_machine_and_client_is_remembered_alone(installations):
    await installations.changed(caller(SAME), start())
    for other in (caller(LIBRARY, LIBRARY, user="bob"), caller(LIBRARY, LIBRARY, machine="desktop")):
        assert await installations.changed(other, start()) == ""
    assert await installations.changed(caller(LIBRARY, LIBRARY), start(client="codex")) == ""


async def test_without_redis_the_manifest_is_compared_all_the_same(counters):
    away = Redis("redis://127.0.0.1:1", timeout_s=0.05)
    await away.start()
    assert "its library" in await Installations(away, counters).changed(caller(LIBRARY), start())
    assert await Installations(away, counters).changed(caller(SAME), start()) == ""
    await away.close()


def test_a_changed_installation_is_reported_to_person_and_operator(server, http):
    headers = {"Baton-User": "tess", "Baton-Digests": LIBRARY, "Baton-Manifest": SAME, "Baton-Machine": "m"}
    with server.agent(**headers) as agent:
        body = {"hook_event_name": "SessionStart", "session_id": "changed", "cwd": "/w", "source": "startup"}
        answer = agent.post("/hooks/claude-code", json=body)
    assert "its library" in answer.json()["systemMessage"]
    assert "installation" in answer.headers["baton-degraded"]
    assert http.get("/status").json()["degraded"]["installation"] >= 1
