"""The orchestrator mode: set, cleared, followed from work items; read from memory. It resolves by `baton.rules.call.modes`."""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Literal

import msgspec

from baton.events.emission import NO_EVENTS, Emitter
from baton.events.payloads import ModeChanged
from baton.kernel.base.errors import PersonRequired, StoreUnavailable
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.changes.write import SqlChange
from baton.kernel.http.paging import check_if_match
from baton.modes import store
from baton.modes.request import ModeTarget
from baton.modes.store import Key
from baton.people.users import ASK_A_PERSON
from baton.rules.call.call import Principal
from baton.rules.call.modes import SCOPES, Mode, ModeSetting, keys_for, resolve
from baton.shared.caller import Caller
from baton.shared.storable import storable

# An agent may not change the mode to allow more than before.


def refuse_weaker(known: Mapping[Key, ModeSetting], setting: ModeSetting, now: datetime) -> None:
    """Refuse an agent's setting if it weakens the mode anywhere.

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
    # The reach of a wider setting is not computed here: a person has to weigh one stricter anywhere.
    if setting.level != "strict" and any(one.level == "strict" for one in wider):
        return "is less strict than a setting of a wider scope"
    return ""


KIND = "modes"
REMEMBERED = 16_384
"""Callers whose mode a process remembers until a setting changes or expires: by project, and by session where it has a setting."""
SESSION = timedelta(days=1)
"""How long a session keeps the mode of work items that are done, where nothing else ends it."""
_OFF = Mode()
_Where = tuple[str, str, str, str]
_Change = tuple[list[ModeSetting], list[Key]]
"""Settings to put, and the keys of those to remove."""


class Modes:
    """All settings of the organisation in memory; every change goes to SQL first."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        *,
        organisation: str,
        auto_level: Literal["strict", "guidance"],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        events: Emitter = NO_EVENTS,
    ) -> None:
        self._events = events
        self._database = database
        self._changes = changes
        self._organisation = organisation
        self._auto_level = auto_level
        self._now = now
        self._settings: dict[Key, ModeSetting] = {}
        self._known: dict[_Where, Mode] = {}
        self._known_until: datetime | None = None
        changes.on(KIND, self.load, self.load_some)

    async def load(self) -> None:
        """Load all valid settings from SQL."""
        async with self._changes.turn(KIND):
            settings = await store.load_all(self._database, self._organisation, self._now())
            self._take({setting.key: setting for setting in settings})

    async def load_some(self, objects: list[str]) -> None:
        """Read again the settings of these keys, as `_object` names them."""
        async with self._changes.turn(KIND):
            keys = [_key(one) for one in objects]
            async with self._database.transaction() as connection:
                found = await store.load_keys(connection, self._organisation, keys)
            self._put(_laid_over(self._settings, keys, found, self._now()))

    def effective(self, principal: Principal, project: str, session_id: str) -> Mode:
        """Resolve the mode for a user, a project and a session. It is off for the agent of a delegated job."""
        if principal.job:  # only the token of a leased job sets it
            return _delegated(principal.job, session_id)
        if not self._settings:
            return _OFF
        self._forget_expired()
        # Nearly all sessions have no setting of their own and share their user's in the project.
        if ("session", principal.user, session_id) not in self._settings and (
            ("session", "", session_id) not in self._settings
        ):
            session_id = ""
        where = (principal.team, principal.user, project, session_id)
        mode = self._known.get(where)
        if mode is None:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            mode = self._known[where] = self._resolve(principal, project, session_id)
        return mode

    def _resolve(self, principal: Principal, project: str, session_id: str) -> Mode:
        settings = self._settings
        chain = tuple(s for key in keys_for(principal, project, session_id) if (s := settings.get(key)) is not None)
        return resolve(chain, self._now()) if chain else _OFF

    def _take(self, settings: dict[Key, ModeSetting]) -> None:
        """Replace the settings in memory. Each applies until it expires."""
        now = self._now()
        self._put({key: setting for key, setting in settings.items() if setting.counts(now)})

    def _put(self, settings: dict[Key, ModeSetting]) -> None:
        self._settings = settings
        self._known.clear()
        self._known_until = min((s.expires_at for s in settings.values() if s.expires_at), default=None)

    def _forget_expired(self) -> None:
        if self._known_until is not None and self._known_until <= self._now():
            self._take(self._settings)

    @property
    def settings(self) -> list[ModeSetting]:
        """All valid settings of the organisation."""
        self._forget_expired()
        return list(self._settings.values())

    @property
    def locked(self) -> bool:
        """Return whether narrower settings count only where they are stricter than the organisation's."""
        own = self._settings.get(("organisation", "", ""))
        return own is not None and own.locked and own.counts(self._now())

    async def put(self, caller: Caller, setting: ModeSetting, if_match: str | None = None) -> ModeSetting:
        """Store a setting. Disabling also clears the caller's narrower settings, as they would keep the mode on.

        Raises:
            PersonRequired: An agent would weaken the mode.
            PreconditionFailed: Another version is stored than `if_match` names.
            StoreUnavailable: The database is unavailable; nothing was changed.
        """
        stored: list[ModeSetting] = []

        def work(known: dict[Key, ModeSetting]) -> _Change:
            before = known.get(setting.key)
            check_if_match(if_match, version_of(before), required=False)
            now = self._now()
            if caller.principal.agent:
                refuse_weaker(known, setting, now)
            since = before.activated_at if before is not None and before.enabled else None
            stored.append(
                msgspec.structs.replace(
                    setting,
                    activated_at=(since or now) if setting.enabled else None,
                    set_by=caller.principal.user,
                    set_at=now,
                )
            )
            return stored, [] if setting.enabled else _narrower(known, caller, setting)

        await self._change(caller.principal, work, setting.reason)
        return stored[0]

    async def delete(self, caller: Caller, where: ModeTarget, if_match: str | None = None, reason: str = "") -> None:
        """Remove a setting. Removing an absent one is no error.

        Raises:
            PersonRequired: An agent asks for it.
            PreconditionFailed: Another version is stored than `if_match` names.
            StoreUnavailable: The database is unavailable; nothing was changed.
        """
        if caller.principal.agent:
            raise PersonRequired(f"to remove a setting of the mode needs a person; {ASK_A_PERSON}")
        key = ModeSetting(scope=where.scope, id=where.id, user=where.user, project=where.project).key

        def work(known: dict[Key, ModeSetting]) -> _Change:
            check_if_match(if_match, version_of(known.get(key)), required=False)
            return [], [key]

        await self._change(caller.principal, work, reason)

    async def let_work(self, principal: Principal, session_id: str, reason: str, until: datetime) -> None:
        """Switch the mode off for a delegated agent's session, even if it is locked, so that the agent can work.

        Raises:
            StoreUnavailable: The database is unavailable; nothing was changed.
        """
        setting = ModeSetting(
            scope="session",
            id=session_id,
            user=principal.user,
            reason=reason,
            expires_at=until,
            delegated=True,
            set_by=principal.user,
            set_at=self._now(),
        )
        await self._change(principal, lambda _: ([setting], []))

    async def follow_work_items(
        self, principal: Principal, project: str, count: int, sessions: Iterable[str] = ()
    ) -> list[str]:
        """Switch a user's mode in a project on with open work items, and off without any.

        A person's own setting, at any scope, is never overridden. `sessions` have worked under the mode: they keep it
        after the items are done, because an agent reports the count. Returns the missing settings.
        """
        key: Key = ("user_project", principal.user, project)
        now = self._now()

        def said(own: ModeSetting | None) -> bool:
            return own is not None and not own.auto_activated and own.counts(now)

        own = self._settings.get(key)
        on = own is not None and own.auto_activated and own.enabled
        wider = [one for one in self.effective(principal, project, "").chain if one is not own]
        if said(own) or on == (count > 0) or (wider and not on):
            return []
        setting = ModeSetting(
            scope="user_project",
            user=principal.user,
            project=project,
            enabled=True,
            level=self._auto_level,
            reason=f"{count} open work items",
            activated_at=now,
            auto_activated=True,
            set_by=principal.user,
            set_at=now,
        )

        def work(known: dict[Key, ModeSetting]) -> _Change:
            before = known.get(key)
            if said(before):
                return [], []
            if not on:
                return [setting], []
            stays = [_kept(before, session, now) for session in sessions] if before is not None else []
            return [one for one in stays if one.key not in known], [key]

        try:
            await self._change(principal, work)
        except StoreUnavailable:
            return ["mode"]
        return []

    async def _change(
        self, actor: Principal, work: Callable[[dict[Key, ModeSetting]], _Change], reason: str = ""
    ) -> None:
        """Store and remove the settings returned by `work`. `reason` explains a removal."""
        async with self._changes.write(KIND, actor, "mode.set") as change:
            known = await self._current(change)
            put, remove = work(known)
            remove = [key for key in remove if key in known]
            if not put and not remove:
                change.unchanged()
            await store.change(change.connection, self._organisation, put=put, remove=remove)
            await change.concerns([_object(key) for key in {*remove, *(one.key for one in put)}])
            for key in remove:
                await change.audit(_name(key), before=_shown(known[key]), reason=reason, action="mode.remove")
            for setting in put:
                await change.audit(
                    _name(setting.key),
                    before=_shown(known.get(setting.key)),
                    after=_shown(setting),
                    reason=setting.reason,
                )
        for key in remove:
            self._emit(actor, known[key], "mode.remove")
        for setting in put:
            self._emit(actor, setting, "mode.set")

    def _emit(self, actor: Principal, setting: ModeSetting, action: str) -> None:
        removed = action == "mode.remove"
        payload = ModeChanged(
            session_id=setting.id if setting.scope == "session" else "",
            scope=setting.scope,
            scope_id=setting.id or setting.project,
            scope_user=setting.user,
            action=action,
            enabled=setting.enabled and not removed,
            level=setting.level,
            auto_activated=setting.auto_activated,
        )
        self._events.emit(actor, payload)

    async def _current(self, change: SqlChange) -> dict[Key, ModeSetting]:
        """Return the valid settings, with the changes made by other servers since the last load.

        The caller holds the lock of this kind of change, so nothing changes meanwhile.
        """
        missed = await change.missed(self._changes.seen(KIND))
        if missed is None:
            return {one.key: one for one in await store.load_with(change.connection, self._organisation, self._now())}
        keys = [_key(one) for one in missed]
        found = await store.load_keys(change.connection, self._organisation, keys) if keys else []
        known = _laid_over(self._settings, keys, found, self._now())
        return {key: setting for key, setting in known.items() if setting.counts(self._now())}


def _object(key: Key) -> str:
    return msgspec.json.encode([storable(part) for part in key]).decode()


def _key(text: str) -> Key:
    scope, one, other = msgspec.json.decode(text, type=tuple[str, str, str])
    return scope, one, other


def _laid_over(
    known: dict[Key, ModeSetting], keys: list[Key], found: list[ModeSetting], now: datetime
) -> dict[Key, ModeSetting]:
    """Return settings, with those of some keys as stored now. Absent or expired ones are removed."""
    fresh = {one.key: one for one in found if one.counts(now)}
    settings = known | fresh
    for key in keys:
        if key not in fresh:
            settings.pop(key, None)
    return settings


def _delegated(job: str, session_id: str) -> Mode:
    """Return the mode of a delegated agent: off, because it does the work."""
    setting = ModeSetting(scope="session", id=session_id, reason=f"the agent of {job}", delegated=True)
    return Mode(scope="session", chain=(setting,))


def _kept(setting: ModeSetting, session_id: str, now: datetime) -> ModeSetting:
    """Return the setting kept by one session after its user's setting ends."""
    return msgspec.structs.replace(
        setting, scope="session", id=session_id, reason="open work items while this session worked",
        expires_at=now + SESSION, set_at=now,
    )  # fmt: skip


def _narrower(known: dict[Key, ModeSetting], caller: Caller, disabled: ModeSetting) -> list[Key]:
    """Return the settings below a scope that a disabling also clears."""
    rank = SCOPES.index(disabled.scope)
    user = {"user": disabled.id, "user_project": disabled.user, "session": disabled.user}.get(
        disabled.scope, caller.principal.user
    )
    project = {"project": disabled.id, "user_project": disabled.project}.get(disabled.scope, "")
    return [
        setting.key
        for setting in known.values()
        if SCOPES.index(setting.scope) > rank
        and user in {setting.user or setting.set_by, setting.id if setting.scope == "user" else ""}
        and (not project or setting.project in {"", project})
    ]


def version_of(setting: ModeSetting | None) -> str:
    """Return the version of a setting, "0" for an absent one."""
    return "0" if setting is None else blake2b(msgspec.json.encode(setting), digest_size=8).hexdigest()


def _name(key: Key) -> str:
    return " ".join(part for part in key if part)


def _shown(setting: ModeSetting | None) -> dict[str, Any]:
    return {} if setting is None else msgspec.structs.asdict(setting)
