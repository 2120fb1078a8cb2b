"""Permitted mode changes of an agent: switching it on, and making it stricter."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.kernel.base.errors import PersonRequired
from baton.modes.service import refuse_weaker
from baton.rules.call.modes import ModeSetting
from tests.support.cases import every

NOW = datetime(2026, 1, 5, 12, tzinfo=UTC)
SOON, LATER = NOW + timedelta(minutes=1), NOW + timedelta(hours=1)


def mode(scope="user", id="ann", **fields):  # noqa: A002 - the field's name
    return ModeSetting(scope=scope, id=id, set_by="ann", set_at=NOW, **({"enabled": True} | fields))


CASES = [
    ("nothing was set, and it is switched on", [], mode(), ""),
    ("nothing was set, and it is switched off", [], mode(enabled=False), "switches it off"),
    ("guidance becomes strict", [mode(level="guidance")], mode(level="strict"), ""),
    ("strict becomes guidance", [mode(level="strict")], mode(level="guidance"), "lowers its level"),
    ("strict stays", [mode(level="strict")], mode(level="strict"), ""),
    ("guidance stays", [mode(level="guidance")], mode(level="guidance"), ""),
    ("it would end", [mode()], mode(expires_at=SOON), "ends it sooner"),
    ("it would end sooner", [mode(expires_at=LATER)], mode(expires_at=SOON), "ends it sooner"),
    ("it would end later", [mode(expires_at=SOON)], mode(expires_at=LATER), ""),
    ("one that has ended is set anew", [mode(level="strict", expires_at=NOW - timedelta(1))], mode(), ""),
    ("one that was off is switched on", [mode(enabled=False)], mode(expires_at=SOON), ""),
    ("a wider one is stricter", [mode("team", "web", level="strict")], mode("session", "s"), "less strict"),
    ("a wider one is as strict", [mode("team", "web", level="strict")], mode("session", "s", level="strict"), ""),
    ("a wider one is off", [mode("team", "web", enabled=False)], mode("session", "s"), ""),
    ("a narrower one is stricter", [mode("session", "s", level="strict")], mode(), ""),
]


@every(("known", "setting", "why"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_an_agent_weakens_no_mode(known, setting, why):
    settings = {one.key: one for one in known}
    if not why:
        refuse_weaker(settings, setting, NOW)
        return
    with pytest.raises(PersonRequired, match=why):
        refuse_weaker(settings, setting, NOW)
