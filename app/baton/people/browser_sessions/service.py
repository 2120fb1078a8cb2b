"""Browser sessions: how a person who looks at the console is known. They are kept and checked like tokens."""

import hmac
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Invalid, NotFound, StoreUnavailable, Unauthenticated
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.changes.announce import Changes
from baton.people.browser_sessions import store
from baton.people.browser_sessions.store import BrowserSession
from baton.people.directory import User
from baton.people.permissions import covers, require
from baton.people.tokens import Tokens, digest_of
from baton.people.users import Users

KIND = "browser-sessions"
PREFIX = "baton_browser_"
LASTS = timedelta(hours=12)
"""How long a browser stays signed in."""
LINK_LASTS = timedelta(minutes=5)
"""How long a link is good that nobody has used."""

_SHAPE = re.compile(rf"{PREFIX}([0-9a-f]{{16}})_[0-9a-f]{{64}}")
_MEND = "sign in again: `baton open`, or a token"


class Link(msgspec.Struct, frozen=True, kw_only=True):
    """A link's code, which nobody keeps, and until when it is good."""

    code: str
    expires_at: datetime


class BrowserSessions:
    """The browsers that are signed in, by the public part of each session's text."""

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
        """Read the sessions that have not ended from SQL. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            found = await store.load(self._database, self._organisation, self._now())
            self._known = {one.id: one for one in found}

    def check(self, text: str) -> Principal:
        """Return whom a session's text speaks for.

        Raises:
            Unauthenticated: It is none, has ended, or its token or user has.
        """
        shape = _SHAPE.fullmatch(text)
        session = self._known.get(shape[1]) if shape else None
        if session is None or not hmac.compare_digest(session.digest, digest_of(text)):
            raise Unauthenticated(f"no such browser session; {_MEND}")
        return self._principal(session)

    def _principal(self, session: BrowserSession) -> Principal:
        """Return whom a session speaks for now. Raise Unauthenticated."""
        if session.expires_at <= self._now():
            raise Unauthenticated(f"this browser's session has ended; {_MEND}")
        if session.token_id:
            return self._tokens.principal(session.token_id)
        if session.account:
            return self._of_account(session)
        if self._tokens_required:  # made before the server asked for tokens
            raise Unauthenticated(f"this server asks for tokens now; {_MEND}")
        return Principal(
            organisation=self._organisation, team=session.team, user=session.user, role=session.role, agent=False
        )

    def _of_account(self, session: BrowserSession) -> Principal:
        """Return the user whom an account signed in, with the team and role that they have now. Raise Unauthenticated."""
        user = self._users.find(session.user)
        why = self._account_refusal(session, user)
        if user is None or why:
            raise Unauthenticated(f"{why}; {_MEND}")
        return Principal(organisation=self._organisation, team=user.team, user=user.name, role=user.role, agent=False)

    def _account_refusal(self, session: BrowserSession, user: User | None) -> str:
        """Return why an account's session is refused, or "" if it is not."""
        if not self._issuer or session.account.partition(" ")[0] != self._issuer:
            return "accounts of that provider sign nobody in any more"
        if user is None or user.disabled_at is not None:
            return f"the user `{session.user}` is disabled"
        # One of that name who was removed and entered again is somebody else until they sign in.
        if user.account != session.account or user.created_at > session.created_at:
            return "the account is not this user's any more"
        return ""

    def of(self, text: str) -> BrowserSession | None:
        """Return the session of a text that was checked before; None for what is none."""
        shape = _SHAPE.fullmatch(text)
        return self._known.get(shape[1]) if shape else None

    def find(self, principal: Principal) -> list[BrowserSession]:
        """List the browsers that are signed in, the newest first: the principal's own, or for an admin all.

        Raises:
            Forbidden: The role may see no tokens.
        """
        require(principal, "tokens.read")
        found = [
            one for one in self._known.values() if self._is_live(one) and self._covers(principal, "tokens.read", one)
        ]
        return sorted(found, key=lambda one: one.created_at, reverse=True)

    async def revoke(self, principal: Principal, session_id: str, reason: str = "") -> None:
        """Sign a browser out from elsewhere.

        Raises:
            Forbidden: The role may not.
            NotFound: There is none that the principal may sign out.
            StoreUnavailable: The database is away; nothing was changed.
        """
        require(principal, "tokens.revoke")
        session = self._known.get(session_id)
        if session is None or not self._covers(principal, "tokens.revoke", session):
            raise NotFound(f"there is no signed-in browser `{session_id}`")
        async with self._changes.write(KIND, principal, "browser-session.end") as change:
            await store.remove(change.connection, self._organisation, session.id)
            await change.audit(session.id, before={"user": session.user}, reason=reason)

    async def link(self, principal: Principal, token_id: str = "") -> Link:
        """Make a link by which a browser signs in as the principal, once. `token_id` is the token that they sent.

        Raises:
            Forbidden: The role has no console.
            PersonRequired: The request has the credential of hooks and agents.
            StoreUnavailable: The database is away; nothing was changed.
        """
        require(principal, "console.open")
        code, expires_at = secrets.token_hex(32), self._now() + LINK_LASTS
        session = self._new(principal, token_id, id=secrets.token_hex(8), link=digest_of(code), expires_at=expires_at)
        await self._add(session, principal)
        return Link(code=code, expires_at=expires_at)

    async def begin(self, code: str) -> tuple[BrowserSession, str]:
        """Make a session of a link's code; return it and its text, which nobody keeps.

        Raises:
            Unauthenticated: There is no such link any more.
            StoreUnavailable: The database is away; nothing was changed.
        """
        now = self._now()
        gone = Unauthenticated("this link was used already, or is older than five minutes; `baton open` makes another")
        # Looked up first: a write tells every server that sessions have changed, and anybody may post a code.
        try:
            good = await store.has_link(self._database, self._organisation, digest_of(code), now)
        except DatabaseUnavailable:
            raise StoreUnavailable("nobody can be signed in now; try again") from None
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
        """Make a session of a token.

        Raises:
            Unauthenticated: The token is none, or is refused.
            Invalid: It is of a kind that has no console.
            StoreUnavailable: The database is away; nothing was changed.
        """
        principal = self._tokens.check(text)
        token_id = self._tokens.id_of(text)
        if not token_id or principal.agent:
            raise Invalid("token", "is a token of hooks, agents or another browser; a person's own is needed")
        require(principal, "console.open")
        session_id, session_text = _made()
        session = self._new(
            principal, token_id, id=session_id, digest=digest_of(session_text), expires_at=self._now() + LASTS
        )
        await self._add(session, principal)
        return session, session_text

    async def begin_with_account(self, user: User, account: str, seed: str) -> tuple[BrowserSession, str]:
        """Make a session of an account that signs a user in; `seed` is another for each attempt, and good once.

        The account is the user's from then on.

        Raises:
            Unauthenticated: The seed was used already, or the user has another account since.
            StoreUnavailable: The database is away; nothing was changed.
        """
        session_id = digest_of(seed)[:16]
        text = f"{PREFIX}{session_id}_{secrets.token_hex(32)}"
        principal = Principal(
            organisation=self._organisation, team=user.team, user=user.name, role=user.role, agent=False
        )
        session = self._new(principal, "", id=session_id, digest=digest_of(text), expires_at=self._now() + LASTS)
        session = msgspec.structs.replace(session, account=account)
        async with self._changes.write(KIND, principal, "browser-session.begin") as change:
            # The change holds the lock of this kind, so that of two with one seed the second finds the first.
            if await store.is_used(change.connection, session_id):
                raise Unauthenticated("this sign-in was used already; begin again")
            await self._users.take_account(change, user, account)
            await store.forget_ended(change.connection, self._organisation, self._now())
            await store.add(change.connection, self._organisation, session)
            after = {"user": user.name, "role": user.role, "expires_at": session.expires_at.isoformat()}
            await change.audit(session.id, after=after, reason=f"by the account {account}")
        return session, text

    async def end(self, session: BrowserSession, principal: Principal) -> None:
        """Sign a browser out.

        Raises:
            StoreUnavailable: The database is away; nothing was changed.
        """
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
    """Make a session's id and its text."""
    session_id = secrets.token_hex(8)
    return session_id, f"{PREFIX}{session_id}_{secrets.token_hex(32)}"
