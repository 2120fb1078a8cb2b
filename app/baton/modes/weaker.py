"""What an agent may not do to the mode: any change that lets more through than before."""

from collections.abc import Mapping
from datetime import datetime

from baton.engine.call.modes import SCOPES, ModeSetting
from baton.kernel.base.errors import PersonRequired
from baton.modes.store import Key
from baton.people.permissions import ASK_A_PERSON


def refuse_weaker(known: Mapping[Key, ModeSetting], setting: ModeSetting, now: datetime) -> None:
    """Refuse a setting that an agent asks for, if it weakens the mode anywhere.

    Raises:
        PersonRequired: It switches the mode off, ends it sooner, or hides a stricter setting of a wider scope.
    """
    why = _weaker(known, setting, now)
    if why:
        raise PersonRequired(
            f"an agent may only switch the mode on or make it stricter, and this {why}; {ASK_A_PERSON}"
        )


def _weaker(known: Mapping[Key, ModeSetting], setting: ModeSetting, now: datetime) -> str:
    if not setting.enabled:
        return "switches it off"
    before = known.get(setting.key)
    if before is not None and before.enabled and before.counts(now):
        if before.level == "strict" and setting.level != "strict":
            return "lowers its level"
        if setting.expires_at is not None and (before.expires_at is None or setting.expires_at < before.expires_at):
            return "ends it sooner"
    rank = SCOPES.index(setting.scope)
    wider = (one for one in known.values() if SCOPES.index(one.scope) < rank and one.enabled and one.counts(now))
    # Whom a wider setting reaches is not worked out here: one that is stricter anywhere is for a person to weigh.
    if setting.level != "strict" and any(one.level == "strict" for one in wider):
        return "is less strict than a setting of a wider scope"
    return ""
