"""The orchestrator mode on two servers with one database: notifications, and data read again."""

import asyncio
from datetime import timedelta

import pytest

from baton.kernel.base.errors import PreconditionFailed
from baton.kernel.changes import numbers
from baton.modes import store
from baton.modes.request import ModeTarget
from baton.modes.service import Modes, version_of
from tests.modes.conftest import ALICE, BOB, NOON, PROJECT, mode_of, setting, unheard


async def another(modes):
    """The same as another server sees it, which has not been told of anything yet."""
    other = Modes(modes._database, unheard(modes._database), organisation="default", auto_level="strict")
    await other.load()
    return other


async def test_of_two_servers_the_second_change_needs_the_version_of_the_first(modes):
    other = await another(modes)
    first = await modes.put(ALICE, setting("user", enabled=True), "0")
    with pytest.raises(PreconditionFailed, match=version_of(first)):
        await other.put(ALICE, setting("user", enabled=False), "0")
    with pytest.raises(PreconditionFailed):
        await other.delete(ALICE, ModeTarget(scope="user", id="alice"), "0")
    second = await other.put(ALICE, setting("user", enabled=True, level="strict"), version_of(first))
    assert second.activated_at == first.activated_at
    with pytest.raises(PreconditionFailed, match=version_of(second)):
        await modes.delete(ALICE, ModeTarget(scope="user", id="alice"), version_of(first))
    await modes.delete(ALICE, ModeTarget(scope="user", id="alice"), version_of(second))
    assert modes.settings == []


async def test_work_items_keep_a_person_s_setting_of_another_server(modes):
    other = await another(modes)
    await other.follow_work_items(ALICE.principal, PROJECT, 1)
    await modes.put(ALICE, setting("user_project", enabled=False))
    await other.follow_work_items(ALICE.principal, PROJECT, 0)
    await other.follow_work_items(ALICE.principal, PROJECT, 1)
    await modes.load()
    assert [(one.enabled, one.auto_activated) for one in modes.settings] == [(False, False)]


async def test_a_reading_that_began_before_a_change_is_not_kept_after_it(modes, monkeypatch):
    real, begun, go_on = store.load_all, asyncio.Event(), asyncio.Event()

    async def slow(*arguments):
        found = await real(*arguments)
        begun.set()
        await go_on.wait()
        return found

    monkeypatch.setattr(store, "load_all", slow)
    reading = asyncio.create_task(modes.load())
    await begun.wait()
    changing = asyncio.create_task(modes.put(ALICE, setting("user", enabled=True)))
    await asyncio.wait({changing}, timeout=0.3)
    go_on.set()
    await asyncio.gather(reading, changing)
    assert mode_of(modes, ALICE).enabled


@pytest.fixture
async def two(modes, monkeypatch):
    """Two servers that have looked for changes once, and from now on may not read all settings."""
    await modes.put(BOB, setting("user", id="bob", enabled=True))
    other = await another(modes)
    for one in (modes, other):
        await one._changes.catch_up()
    whole = []

    async def refuse(*_):
        whole.append(1)
        raise AssertionError("all settings were read")

    monkeypatch.setattr(store, "load_all", refuse)
    monkeypatch.setattr(store, "load_with", refuse)
    return modes, other, whole


def shown(modes):
    return {one.key: (one.enabled, one.level) for one in modes.settings}


async def test_a_change_reads_the_settings_that_changed_and_no_others(two):
    modes, other, whole = two
    await modes.put(ALICE, setting("user", enabled=True))
    await other._changes.catch_up()
    # The second server has not seen this change of the first one when it makes its own.
    await modes.put(ALICE, setting("project", enabled=True))
    await other.put(ALICE, setting("user", enabled=True, level="strict"))
    await other.delete(BOB, ModeTarget(scope="user", id="bob"))
    await other.delete(BOB, ModeTarget(scope="user", id="nobody"))
    await modes._changes.catch_up()
    expected = {("user", "alice", ""): (True, "strict"), ("project", PROJECT, ""): (True, "guidance")}
    assert shown(modes) == shown(other) == expected
    assert not whole


async def test_a_setting_that_expired_before_it_was_read_is_not_kept(two):
    modes, other, _ = two
    await modes.put(ALICE, setting("user", enabled=True, expires_at=NOON + timedelta(minutes=1)))
    other._now = lambda: NOON + timedelta(hours=1)
    await other._changes.catch_up()
    assert set(shown(other)) == {("user", "bob", "")}


async def test_a_server_that_has_missed_too_many_changes_reads_all(modes, monkeypatch):
    monkeypatch.setattr(numbers, "MOST_CHANGES", 2)
    other = await another(modes)
    await modes.put(BOB, setting("user", id="bob", enabled=True))
    await other._changes.catch_up()
    for level in ("strict", "guidance", "strict"):
        await modes.put(ALICE, setting("user", enabled=True, level=level))
    await other._changes.catch_up()
    assert (
        shown(other)
        == shown(modes)
        == {("user", "bob", ""): (True, "guidance"), ("user", "alice", ""): (True, "strict")}
    )
