"""The effective one of several settings, and the effect of the organisation's lock on narrower ones."""

from datetime import UTC, datetime, timedelta

from baton.rules.call.modes import ModeSetting, resolve
from tests.support.cases import every

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
LEVELS = ("off", "guidance", "strict")


def setting(scope, level, **more):
    on = level != "off"
    return ModeSetting(scope=scope, id="x", enabled=on, level=level if on else "guidance", **more)


def level(*chain):
    mode = resolve(chain, NOON)
    return (mode.level if mode.enabled else "off", mode.scope)


@every("own", LEVELS)
@every("locked", LEVELS)
def test_below_a_lock_only_stricter_settings_count(locked, own):
    wide = setting("organisation", locked, locked=True)
    stricter = LEVELS.index(own) > LEVELS.index(locked)
    assert level(wide, setting("user", own)) == ((own, "user") if stricter else (locked, "organisation"))


def test_below_a_lock_the_narrowest_of_the_stricter_wins():
    wide = setting("organisation", "guidance", locked=True)
    chain = (wide, setting("team", "strict"), setting("user", "guidance"), setting("session", "off"))
    assert level(*chain) == ("strict", "team")


def test_a_work_items_setting_loosens_no_lock():
    wide = setting("organisation", "strict", locked=True)
    assert level(wide, setting("user_project", "guidance", auto_activated=True)) == ("strict", "organisation")


def test_an_expired_lock_has_no_effect():
    wide = setting("organisation", "strict", locked=True, expires_at=NOON - timedelta(seconds=1))
    assert level(wide, setting("user", "off")) == ("off", "user")


def test_without_a_lock_the_narrowest_wins():
    assert level(setting("organisation", "strict"), setting("user", "off")) == ("off", "user")


def test_a_lock_does_not_affect_a_delegated_agent():
    wide = setting("organisation", "strict", locked=True)
    assert level(wide, setting("session", "off", delegated=True)) == ("off", "session")
