"""Browser sessions for the console, stored and checked like tokens."""

import hmac
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from baton.kernel.base.errors import Invalid, NotFound, Unauthenticated
from baton.kernel.base.sql import Database, StoreErrors
from baton.kernel.changes.announce import Changes
from baton.people.browser_sessions import store
from baton.people.browser_sessions.store import BrowserSession
from baton.people.directory import User
from baton.people.tokens import Tokens, digest_of
from baton.people.users import Users, covers, require
from baton.rules.call.call import Principal

KIND = "browser-sessions"
PREFIX = "baton_browser_"
LASTS = timedelta(hours=12)  # duration of a browser session
LINK_LASTS = timedelta(minutes=5)  # validity of an unused link

_SHAPE = re.compile(rf"{PREFIX}([0-9a-f]{{16}})_[0-9a-f]{{64}}")
_MEND = "sign in again: `baton open`, or a token"


class SignInLink(msgspec.Struct, frozen=True, kw_only=True):
    """A link's code (not stored) and expiry."""

    code: str
    expires_at: datetime


class BrowserSessions:
    """The signed-in browsers, by the public part of each session's token."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        tokens: Tokens,
        users: Users,
        *,
        organisation: str,
        tokens_required: bool,
        issuer: str = "",
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._changes = changes
        self._tokens = tokens
        self._users = users
        self._issuer = issuer
        self._organisation = organisation
        self._tokens_required = tokens_required
        self._now = now
        self._known: dict[str, BrowserSession] = {}
        changes.on(KIND, self.load)
        tokens.also(PREFIX, self.check)

    async def load(self) -> None:
        """Load the live sessions from SQL. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            found = await store.load(self._database, self._organisation, self._now())
            self._known = {one.id: one for one in found}

    def check(self, text: str) -> Principal:
        """Return the principal of a session's token. Raise Unauthenticated for an invalid or ended one."""
        shape = _SHAPE.fullmatch(text)
        session = self._known.get(shape[1]) if shape else None
        if session is None or not hmac.compare_digest(session.digest, digest_of(text)):
            raise Unauthenticated(f"unknown browser session; {_MEND}")
        return self._principal(session)

    def _principal(self, session: BrowserSession) -> Principal:
        if session.expires_at <= self._now():
            raise Unauthenticated(f"this browser's session has ended; {_MEND}")
        if session.token_id:
            return self._tokens.principal(session.token_id)
        if session.account:
            return self._of_account(session)
        if self._tokens_required:  # made before the server required tokens
            raise Unauthenticated(f"this server now requires tokens; {_MEND}")
        return Principal(
            organisation=self._organisation, team=session.team, user=session.user, role=session.role, agent=False
        )

    def _of_account(self, session: BrowserSession) -> Principal:
        """Return the account's user with their current team and role. Raise Unauthenticated."""
        user = self._users.find(session.user)
        why = self._account_refusal(session, user)
        if user is None or why:
            raise Unauthenticated(f"{why}; {_MEND}")
        return Principal(organisation=self._organisation, team=user.team, user=user.name, role=user.role, agent=False)

    def _account_refusal(self, session: BrowserSession, user: User | None) -> str:
        if not self._issuer or session.account.partition(" ")[0] != self._issuer:
            return "accounts of that provider are no longer accepted"
        if user is None or user.disabled_at is not None:
            return f"the user `{session.user}` is disabled"
        # A user removed and re-created under this name is another person until they sign in.
        if user.account != session.account or user.created_at > session.created_at:
            return "the account no longer belongs to this user"
        return ""

    def by_token(self, text: str) -> BrowserSession | None:
        """Return the session of an already checked token, or None."""
        shape = _SHAPE.fullmatch(text)
        return self._known.get(shape[1]) if shape else None

    def list_sessions(self, principal: Principal) -> list[BrowserSession]:
        """List the signed-in browsers, newest first: the principal's own, or all for an admin. Raise Forbidden."""
        require(principal, "tokens.read")
        found = [
            one for one in self._known.values() if self._is_live(one) and self._covers(principal, "tokens.read", one)
        ]
        return sorted(found, key=lambda one: one.created_at, reverse=True)

    async def revoke(self, principal: Principal, session_id: str, reason: str = "") -> None:
        """Sign another browser out. Raise Forbidden, NotFound or StoreUnavailable."""
        require(principal, "tokens.revoke")
        session = self._known.get(session_id)
        if session is None or not self._covers(principal, "tokens.revoke", session):
            raise NotFound(f"there is no signed-in browser `{session_id}`")
        async with self._changes.write(KIND, principal, "browser-session.end") as change:
            await store.remove(change.connection, self._organisation, session.id)
            await change.audit(session.id, before={"user": session.user}, reason=reason)

    async def link(self, principal: Principal, token_id: str = "") -> SignInLink:
        """Create a one-time sign-in link, bound to a token. Raise Forbidden, PersonRequired or StoreUnavailable."""
        require(principal, "console.open")
        code, expires_at = secrets.token_hex(32), self._now() + LINK_LASTS
        session = self._new(principal, token_id, id=secrets.token_hex(8), link=digest_of(code), expires_at=expires_at)
        await self._add(session, principal)
        return SignInLink(code=code, expires_at=expires_at)

    async def begin(self, code: str) -> tuple[BrowserSession, str]:
        """Turn a link's code into a session. Return it and its token. Raise Unauthenticated or StoreUnavailable."""
        now = self._now()
        gone = Unauthenticated(
            "this link was already used, or is older than five minutes; create another with `baton open`"
        )
        # Read before writing: a write notifies every server, and anybody may post a code.
        with StoreErrors("sign-in is unavailable now; try again"):
            good = await store.has_link(self._database, self._organisation, digest_of(code), now)
        if not good:
            raise gone
        session_id, text = _made()
        nobody = Principal(organisation=self._organisation, team="", user="", role="developer")
        async with self._changes.write(KIND, nobody, "browser-session.begin") as change:
            session = await store.claim(
                change.connection,
                self._organisation,
                digest_of(code),
                session_id=session_id,
                digest=digest_of(text),
                now=now,
                expires_at=now + LASTS,
            )
            if session is None:
                change.unchanged()
            else:
                await change.audit(session.id, after={"user": session.user}, reason="by a link")
        if session is None:
            raise gone
        return session, text

    async def begin_with_token(self, text: str) -> tuple[BrowserSession, str]:
        """Create a session from a token; return both. Raise Unauthenticated, Forbidden, Invalid or StoreUnavailable."""
        principal = self._tokens.check(text)
        token_id = self._tokens.id_of(text)
        if not token_id or principal.agent:
            raise Invalid("token", "is a token of hooks, agents or another browser; use a person's own")
        require(principal, "console.open")
        session_id, session_text = _made()
        session = self._new(
            principal, token_id, id=session_id, digest=digest_of(session_text), expires_at=self._now() + LASTS
        )
        await self._add(session, principal)
        return session, session_text

    async def begin_with_account(self, user: User, account: str, seed: str) -> tuple[BrowserSession, str]:
        """Create a session for an account, and bind the account to the user.

        `seed` is unique per attempt. Raise Unauthenticated if it was used or the user has another account, or
        StoreUnavailable.
        """
        session_id = digest_of(seed)[:16]
        text = f"{PREFIX}{session_id}_{secrets.token_hex(32)}"
        principal = Principal(
            organisation=self._organisation, team=user.team, user=user.name, role=user.role, agent=False
        )
        session = self._new(principal, "", id=session_id, digest=digest_of(text), expires_at=self._now() + LASTS)
        session = msgspec.structs.replace(session, account=account)
        async with self._changes.write(KIND, principal, "browser-session.begin") as change:
            # The change locks this kind: the second attempt with one seed finds the first.
            if await store.is_used(change.connection, session_id):
                raise Unauthenticated("this sign-in was already used; start again")
            await self._users.take_account(change, user, account)
            await store.forget_ended(change.connection, self._organisation, self._now())
            await store.add(change.connection, self._organisation, session)
            after = {"user": user.name, "role": user.role, "expires_at": session.expires_at.isoformat()}
            await change.audit(session.id, after=after, reason=f"by the account {account}")
        return session, text

    async def end(self, session: BrowserSession, principal: Principal) -> None:
        """Sign a browser out. Raise StoreUnavailable."""
        async with self._changes.write(KIND, principal, "browser-session.end") as change:
            await store.remove(change.connection, self._organisation, session.id)
            await change.audit(session.id, before={"user": principal.user})

    def _is_live(self, session: BrowserSession) -> bool:
        if session.expires_at <= self._now():
            return False
        if session.account:
            return not self._account_refusal(session, self._users.find(session.user))
        return self._tokens.is_good(session.token_id) if session.token_id else not self._tokens_required

    def _covers(self, principal: Principal, action: str, session: BrowserSession) -> bool:
        return covers(principal, action, user=session.user, team=session.team)

    def _new(
        self,
        principal: Principal,
        token_id: str,
        *,
        id: str,  # noqa: A002 - the column's name
        expires_at: datetime,
        digest: str = "",
        link: str = "",
    ) -> BrowserSession:
        return BrowserSession(
            id=id,
            digest=digest,
            link=link,
            user=principal.user,
            team=principal.team,
            role=principal.role,
            token_id=token_id,
            created_at=self._now(),
            expires_at=expires_at,
        )

    async def _add(self, session: BrowserSession, principal: Principal) -> None:
        action = "browser-session.link" if session.link else "browser-session.begin"
        async with self._changes.write(KIND, principal, action) as change:
            await store.forget_ended(change.connection, self._organisation, self._now())
            await store.add(change.connection, self._organisation, session)
            await change.audit(session.id, after={"user": session.user, "expires_at": session.expires_at.isoformat()})


def _made() -> tuple[str, str]:
    session_id = secrets.token_hex(8)
    return session_id, f"{PREFIX}{session_id}_{secrets.token_hex(32)}"
