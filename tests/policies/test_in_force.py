"""Changing policies: a call's limited wait for its own set, and a reload's cost by its changes."""

import asyncio
from contextlib import AsyncExitStack
from types import SimpleNamespace

import pytest

from baton.decide.service import PreToolUse
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.main import _build, _kernel, create_app
from baton.people.users import Users
from baton.policies import in_force, store
from baton.policies.in_force import KIND, PREPARE_S, Policies
from baton.policies.layers import PolicyLayers, Where
from baton.rules.call.call import Principal, ToolCall
from baton.rules.policy import load as loading
from baton.shared import policy_folders
from baton.shared.caller import Caller

ANN = Principal(team="payments", user="ann")
BUDGET_S = 0.25
RULE = """
id: payments/no-read
description: The payments team reads nothing.
decision: deny
reason: ask the payments team
match: {tools: [Read]}
tests:
  match: [{tool: Read, input: {file_path: a}}]
  not_match: [{tool: Write, input: {file_path: a}}]
"""


@pytest.fixture
async def services(tmp_path, valkey_url, sqlite_url, redis):
    """A server's services with a layer of a team that no call has asked for yet."""
    settings = Settings(home=tmp_path / "home", database_url=sqlite_url, redis_timeout_ms=5_000)
    database = Database(settings)
    async with database.transaction() as connection:
        files = {"payments/no-read.yaml": RULE}
        version = await store.add_layer(connection, "default", "team", "payments", files, by="ann", reason="")
        await store.activate_layer(connection, "default", "team", "payments", version)
    await database.close()
    async with AsyncExitStack() as stack:
        app = create_app(settings, redis_url=valkey_url)
        kernel = await _kernel(settings, valkey_url, stack, app.peers)
        await _build(kernel, app, is_worker=True)
        kernel.begin()
        found = app.state.features
        yield SimpleNamespace(policies=found.get(Policies), pre_tool_use=found.get(PreToolUse))


async def decide(services, session):
    call = ToolCall(client="claude-code", session_id=session, tool_name="Read", tool_input={"file_path": "a"})
    return await services.pre_tool_use.decide(Caller(principal=ANN), call)


async def test_a_call_behind_a_reload_is_answered_within_its_budget_and_owns_up_to_it(services):
    policies = services.policies
    assert policies.problems == ()
    organisation = policies.active.revision
    async with policies._loading:
        policies._state._sets.clear()
        decision = await asyncio.wait_for(decide(services, "behind"), timeout=60)
    assert PREPARE_S * 2 + Settings().redis_timeout_ms / 1000 <= BUDGET_S, "a call prepares for two projects at most"
    assert (decision.revision, decision.degraded) == (organisation, ("policies",))
    assert decision.verdict.rule != "payments/no-read"
    async with asyncio.timeout(60):
        while policies.find(ANN, "") is None:  # noqa: ASYNC110 - it is built beside
            await asyncio.sleep(0.01)
    decision = await decide(services, "after")
    assert (decision.verdict.rule, decision.degraded) == ("payments/no-read", ())
    assert decision.revision != organisation


async def test_a_change_of_a_layer_is_followed_without_reading_another(tmp_path, sqlite_url, redis, monkeypatch):
    database, folder = Database(Settings(database_url=sqlite_url)), tmp_path / "policies"
    admin, bob = Principal(user="root", role="admin"), Principal(team="web", user="bob")
    layers, servers = [], []
    for _ in range(2):
        changes = Changes(redis, database, "default")
        policies = Policies(policy_folders.shipped(), folder, database, "default")
        changes.on(KIND, policies.load_layers, policies.load_some)
        users = Users(database, changes, organisation="default", team="web")
        layers.append(PolicyLayers(database, policies, changes, users))
        servers.append((changes, policies))
        await changes.catch_up()
    (one, here), (other, there) = servers

    async def upload(team, if_match=None):
        files = {f"{team}/no-read.yaml": RULE.replace("payments/", f"{team}/")}
        await layers[0].upload(admin, Where("team", team), files, reason="", activate=True, if_match=if_match)
        await other.catch_up()

    await upload("payments")
    await one.catch_up()
    monkeypatch.setattr(store, "active_layers", None)
    monkeypatch.setattr(policy_folders, "read", None)
    payments = (await there.prepare(ANN, "", wait_s=None)).policies
    await upload("web")
    for policies in (here, there):
        assert "web/no-read" in {rule.id for rule in (await policies.prepare(bob, "", wait_s=None)).policies.rules}
    assert there.find(ANN, "").policies is payments
    await layers[1].remove(admin, Where("team", "web"), reason="", if_match='"1"')
    await one.catch_up()
    assert here.find(bob, "").policies is here.active
    await database.close()


async def test_a_reload_rebuilds_changed_policies_only(tmp_path, sqlite_url, monkeypatch):
    folder, database = tmp_path / "policies", Database(Settings(database_url=sqlite_url))
    policies = Policies(policy_folders.shipped(), folder, database, "default")
    await database.close()
    first = policies.active
    built = []
    monkeypatch.setattr(loading, "build", built.append)
    folder.mkdir()
    for switch in ("on", "off", "on"):
        (folder / "config.yaml").write_text(f"rules:\n  options/pkill: '{switch}'\n")
        assert policies.reload()
        assert policies.active.shells is first.shells
    assert built == []
    (folder / "config.yaml").unlink()
    assert policies.reload()
    assert policies.active is first


async def test_files_changed_between_the_load_and_the_watch_are_read(tmp_path, sqlite_url, monkeypatch):
    async def unchanged(*_, stop_event, **__):
        await stop_event.wait()
        for change in ():
            yield change

    monkeypatch.setattr(in_force, "awatch", unchanged)
    folder, database, stop = tmp_path / "policies", Database(Settings(database_url=sqlite_url)), asyncio.Event()
    policies = Policies(policy_folders.shipped(), folder, database, "default")
    folder.mkdir()
    (folder / "config.yaml").write_text("rules: 7\n")
    stop.set()
    await policies.watch(stop)
    assert "config.yaml" in policies.status.problems[0].file
    await database.close()
