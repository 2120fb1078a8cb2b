"""The orchestrator mode as services see it, on a real database: scopes, work items, two developers on one project."""

from datetime import timedelta

import msgspec
import pytest

from baton.kernel.changes import audit_store, numbers
from baton.modes import service, store
from baton.modes.request import target
from baton.modes.service import Modes
from baton.rules.call.modes import SCOPES
from tests.modes.conftest import ALICE, ALICE_AS_ADMIN, BOB, LEAD, NOBODY, NOON, PROJECT, mode_of, setting, unheard
from tests.support.cases import every


async def test_with_nothing_set_the_mode_is_off(modes):
    mode = mode_of(modes, ALICE)
    assert (mode.enabled, mode.scope, mode.chain) == (False, "default", ())


@pytest.mark.matrix(3)
@pytest.mark.parametrize("narrow", range(1, len(SCOPES)))
async def test_the_most_specific_scope_wins(modes, narrow):
    for scope in SCOPES[:narrow]:
        await modes.put(LEAD, setting(scope, enabled=True, level="guidance"))
    await modes.put(LEAD, setting(SCOPES[narrow], enabled=True, level="strict"))
    mode = mode_of(modes, ALICE)
    assert (mode.level, mode.scope) == ("strict", SCOPES[narrow])
    assert [s.scope for s in mode.chain] == list(SCOPES[: narrow + 1])


async def test_sessions_without_a_setting_share_a_cache_entry(modes):
    await modes.put(ALICE, setting("project", enabled=True))
    await modes.put(ALICE, setting("session", enabled=False))
    found = {modes.effective(ALICE.principal, PROJECT, f"session-{number}").enabled for number in range(1_000)}
    assert (found, modes.effective(ALICE.principal, PROJECT, "s1").enabled) == ({True}, False)
    assert len(modes._known) == 2


async def test_a_narrow_off_beats_a_wide_on(modes):
    await modes.put(LEAD, setting("organisation", enabled=True, level="strict"))
    await modes.put(ALICE, setting("user_project", enabled=False))
    assert not mode_of(modes, ALICE).enabled
    assert mode_of(modes, BOB).enabled


async def test_an_expired_setting_does_not_count(modes):
    await modes.put(LEAD, setting("project", enabled=True, level="strict", expires_at=NOON + timedelta(minutes=5)))
    assert mode_of(modes, ALICE).enabled
    modes.moment[0] = NOON + timedelta(minutes=5)
    assert modes.settings == []
    assert not mode_of(modes, ALICE).enabled
    await modes.load()
    assert modes.settings == []


async def test_settings_survive_a_restart(modes):
    await modes.put(ALICE, setting("user_project", enabled=True, level="strict"))
    again = Modes(
        modes._database, unheard(modes._database), organisation="default", auto_level="strict", now=lambda: NOON
    )
    await again.load()
    assert mode_of(again, ALICE) == mode_of(modes, ALICE)


async def test_switching_on_again_keeps_the_activation_time(modes):
    await modes.put(ALICE, setting("user_project", enabled=True, level="strict"))
    modes.moment[0] = NOON + timedelta(hours=1)
    await modes.put(ALICE, setting("user_project", enabled=True, level="guidance"))
    assert mode_of(modes, ALICE).activated_at == NOON


async def test_work_items_act_on_one_developer_of_a_shared_project(modes):
    await modes.follow_work_items(ALICE.principal, PROJECT, 3)
    mode = mode_of(modes, ALICE)
    assert (mode.enabled, mode.level, mode.auto_activated, mode.scope) == (True, "strict", True, "user_project")
    assert not mode_of(modes, BOB).enabled
    await modes.follow_work_items(BOB.principal, PROJECT, 0)
    assert mode_of(modes, ALICE).enabled
    await modes.follow_work_items(ALICE.principal, PROJECT, 0)
    assert not mode_of(modes, ALICE).enabled


async def test_sessions_that_worked_under_the_mode_keep_it_when_the_work_items_are_done(modes):
    await modes.follow_work_items(ALICE.principal, PROJECT, 3)
    await modes.follow_work_items(ALICE.principal, PROJECT, 0, ["s1"])
    assert (mode_of(modes, ALICE).level, mode_of(modes, ALICE, "s2").enabled) == ("strict", False)
    modes.moment[0] = NOON + timedelta(days=1) - timedelta(seconds=1)
    assert mode_of(modes, ALICE).enabled
    modes.moment[0] = NOON + timedelta(days=1)
    assert not mode_of(modes, ALICE).enabled


async def test_a_delegated_agent_is_exempt_by_its_token_only(modes):
    await modes.put(LEAD, setting("organisation", enabled=True, level="strict", locked=True))
    agent = msgspec.structs.replace(ALICE.principal, role="agent", job="job_1")
    mode = modes.effective(agent, PROJECT, "s1")
    assert (mode.enabled, mode.chain[-1].reason, mode.chain[-1].delegated) == (False, "the agent of job_1", True)


async def test_work_items_undo_their_own_off_only(modes):
    for count, on in ((2, True), (0, False), (1, True)):
        await modes.follow_work_items(ALICE.principal, PROJECT, count)
        assert mode_of(modes, ALICE).enabled is on


async def test_the_level_of_work_items_is_a_setting(modes):
    soft = Modes(
        modes._database, unheard(modes._database), organisation="default", auto_level="guidance", now=lambda: NOON
    )
    await soft.follow_work_items(ALICE.principal, PROJECT, 1)
    assert mode_of(soft, ALICE).level == "guidance"


@pytest.mark.parametrize("scope", [s for s in SCOPES if s != "session"])
async def test_a_person_s_off_stops_work_items(modes, scope):
    await modes.put(ALICE, setting(scope, enabled=False))
    await modes.follow_work_items(ALICE.principal, PROJECT, 5)
    assert not mode_of(modes, ALICE).enabled


async def test_work_items_keep_a_person_s_own_on(modes):
    await modes.put(ALICE, setting("user_project", enabled=True, level="guidance"))
    await modes.follow_work_items(ALICE.principal, PROJECT, 0)
    assert mode_of(modes, ALICE).level == "guidance"
    assert mode_of(modes, ALICE).enabled


async def test_work_items_off_yields_to_later_settings(modes):
    for count in (1, 0):
        await modes.follow_work_items(ALICE.principal, PROJECT, count)
    await modes.put(LEAD, setting("team", enabled=True, level="strict"))
    assert mode_of(modes, ALICE).scope == "team"
    await modes.follow_work_items(ALICE.principal, PROJECT, 2)
    assert [one.scope for one in mode_of(modes, ALICE).chain] == ["team"]


async def test_an_expired_setting_no_longer_stops_work_items(modes):
    await modes.put(ALICE, setting("user_project", enabled=False, expires_at=NOON + timedelta(hours=1)))
    await modes.follow_work_items(ALICE.principal, PROJECT, 1)
    assert not mode_of(modes, ALICE).enabled
    modes.moment[0] = NOON + timedelta(hours=1)
    await modes.follow_work_items(ALICE.principal, PROJECT, 1)
    assert (mode_of(modes, ALICE).enabled, mode_of(modes, ALICE).auto_activated) == (True, True)


async def test_switching_on_after_an_expiry_is_a_new_activation(modes):
    await modes.put(ALICE, setting("user", enabled=True, expires_at=NOON + timedelta(hours=1)))
    modes.moment[0] = NOON + timedelta(hours=2)
    await modes.put(ALICE, setting("user", enabled=True))
    assert mode_of(modes, ALICE).activated_at == modes.moment[0]


@pytest.mark.matrix(3)
@pytest.mark.parametrize("scope", ["user_project", "user", "project", "team", "organisation"])
async def test_disabling_clears_the_caller_s_narrower_settings_only(modes, scope):
    await modes.put(ALICE, setting("session", enabled=True, level="strict", project=PROJECT))
    await modes.put(BOB, setting("session", enabled=True, level="strict", user="bob", project=PROJECT))
    await modes.put(BOB, setting("user_project", enabled=True, level="strict", user="bob"))
    await modes.put(ALICE, setting(scope, enabled=False))
    assert not mode_of(modes, ALICE).enabled
    assert mode_of(modes, BOB).enabled


async def test_disabling_one_project_leaves_the_caller_s_others(modes):
    other = setting("session", enabled=True, level="strict", id="s2", project="elsewhere")
    await modes.put(ALICE, other)
    await modes.put(ALICE, setting("user_project", enabled=False))
    assert modes.effective(ALICE.principal, "elsewhere", "s2").enabled


TARGETS = [
    ("organisation", {}, {"scope": "organisation"}),
    ("user_project", {}, {"scope": "user_project", "user": "alice", "project": PROJECT}),
    ("user", {}, {"scope": "user", "id": "alice"}),
    ("team", {}, {"scope": "team", "id": "web"}),
    ("project", {}, {"scope": "project", "id": PROJECT}),
    ("session", {"id": "s1"}, {"scope": "session", "id": "s1", "user": "alice", "project": PROJECT}),
]


@every(("scope", "given", "meant"), TARGETS, ids=[row[0] for row in TARGETS])
def test_omitted_fields_are_the_caller_s_own(scope, given, meant):
    found = target(ALICE if scope == "session" else ALICE_AS_ADMIN, NOBODY, scope, given.get("id", ""), "", "")
    assert {name: getattr(found, name) for name in ("scope", "id", "user", "project") if getattr(found, name)} == meant


async def test_each_change_is_counted_and_leaves_an_audit_entry(modes):
    await modes.put(LEAD, setting("team", enabled=True, level="strict", reason="release week"))
    await modes.put(LEAD, setting("team", enabled=False))
    await modes.delete(LEAD, target(LEAD, NOBODY, "team", "web", "", ""))
    found = await audit_store.find_entries(modes._database, "default", kind="mode")
    assert [(entry.action, entry.actor, entry.object) for entry in found] == [
        ("mode.remove", "lead", "team web"),
        ("mode.set", "lead", "team web"),
        ("mode.set", "lead", "team web"),
    ]
    first = found[-1]
    assert (first.before, first.after["level"], first.reason) == ({}, "strict", "release week")
    assert found[1].before["enabled"] is True
    assert found[0].before["enabled"] is False
    assert await numbers.numbers(modes._database, "default") == {"modes": 3}


async def test_a_call_does_not_go_by_a_setting_that_has_expired_since_the_last_one(modes):
    await modes.put(LEAD, setting("team", enabled=True, level="guidance"))
    await modes.put(LEAD, setting("project", enabled=True, level="strict", expires_at=NOON + timedelta(minutes=5)))
    assert mode_of(modes, ALICE).level == "strict"
    modes.moment[0] = NOON + timedelta(minutes=5)
    assert mode_of(modes, ALICE).level == "guidance"
    assert modes.effective(BOB.principal, PROJECT, "s2").level == "guidance"


async def test_the_level_is_locked_as_long_as_the_organisation_s_locked_setting_counts(modes):
    assert modes.locked is False
    await modes.put(LEAD, setting("team", enabled=True))
    assert modes.locked is False
    until = NOON + timedelta(hours=1)
    await modes.put(LEAD, setting("organisation", enabled=True, locked=True, expires_at=until))
    assert modes.locked is True
    modes.moment[0] = until
    assert modes.locked is False


async def test_each_caller_s_mode_is_worked_out_once_until_a_setting_changes(modes, monkeypatch):
    await modes.put(LEAD, setting("team", enabled=True))
    asked, resolve = [], modes._resolve
    monkeypatch.setattr(
        modes, "_resolve", lambda principal, *where: asked.append(principal.user) or resolve(principal, *where)
    )
    for caller in (ALICE, BOB, ALICE, BOB):
        mode_of(modes, caller)
    assert asked == ["alice", "bob"]
    await modes.put(LEAD, setting("team", enabled=False))
    mode_of(modes, ALICE)
    assert asked == ["alice", "bob", "alice"]


async def test_no_more_callers_are_remembered_than_may_be(modes, monkeypatch):
    monkeypatch.setattr(service, "REMEMBERED", 2)
    await modes.put(LEAD, setting("organisation", enabled=True))
    for session_id in ("s1", "s2", "s3"):
        mode_of(modes, ALICE, session_id)
        assert len(modes._known) <= 2
    assert mode_of(modes, ALICE, "s3").enabled


async def test_disabling_clears_a_lead_s_setting_for_the_caller(modes):
    await modes.put(LEAD, setting("user", enabled=True, level="strict"))
    await modes.put(ALICE, setting("project", enabled=False))
    assert not mode_of(modes, ALICE).enabled
    assert [one.scope for one in modes.settings] == ["project"]


async def test_a_setting_ends_at_its_expiry(modes):
    await modes.put(ALICE, setting("user", enabled=True, expires_at=NOON + timedelta(hours=1)))
    for moment, count in ((NOON + timedelta(minutes=59), 1), (NOON + timedelta(hours=1), 0)):
        assert len(await store.load_all(modes._database, "default", moment)) == count
