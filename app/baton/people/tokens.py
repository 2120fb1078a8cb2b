"""Creates, checks, lists and revokes tokens. Checks read memory; secrets are never stored."""

import hmac
import re
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256

import msgspec

from baton.kernel.base.errors import Conflict, Invalid, NotFound, Unauthenticated
from baton.kernel.base.sql import Database, DatabaseUnavailable, StoreErrors
from baton.kernel.changes.announce import Changes
from baton.people import tokens_store as store
from baton.people.directory import Token, User
from baton.people.users import ROLES, Role, Users, check_name, covers, require
from baton.rules.call.call import Principal

KIND = "tokens"
MOST_HOOK_TOKENS = 20  # maximum number of live `hook` tokens per user, one per machine

_SHAPE = re.compile(r"baton_([0-9a-f]{12})_[0-9a-f]{64}")
_MEND = "ask an admin for a new one (`baton token create`) and set BATON_TOKEN to it"


class Tokens:
    """The organisation's tokens, by their public part. Checks compare the digest of the whole."""

    def __init__(
        self,
        database: Database,
        changes: Changes,
        users: Users,
        *,
        organisation: str,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._database = database
        self._changes = changes
        self._users = users
        self._organisation = organisation
        self._now = now
        self._known: dict[str, Token] = {}
        self._used: dict[str, datetime] = {}
        self._others: dict[str, Callable[[str], Principal]] = {}
        changes.on(KIND, self.load, self.load_some)

    async def load(self) -> None:
        """Load all tokens from SQL. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            self._known = {token.id: token for token in await store.load_all(self._database, self._organisation)}

    async def load_some(self, ids: list[str]) -> None:
        """Reload the tokens of some ids. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            found = {token.id: token for token in await store.load_some(self._database, self._organisation, ids)}
            for token_id in ids:
                self._known.pop(token_id, None)
            self._known |= found

    def also(self, prefix: str, check: Callable[[str], Principal]) -> None:
        """Register the check of another kind of token, by its prefix."""
        self._others[prefix] = check

    def check(self, text: str) -> Principal:
        """Return a token's principal. Raise Unauthenticated, with the id of a known token."""
        shape = _SHAPE.fullmatch(text)
        token = self._known.get(shape[1]) if shape else None
        if shape is None:
            for prefix, check in self._others.items():
                if text.startswith(prefix):
                    return check(text)
        if token is None or not hmac.compare_digest(token.digest, digest_of(text)):
            raise Unauthenticated(f"unknown token; {_MEND}" if text else f"no token was sent; {_MEND}")
        return self._principal(token)

    def id_of(self, text: str) -> str:
        """Return the id of a known token of this kind, or ""."""
        shape = _SHAPE.fullmatch(text)
        return shape[1] if shape and shape[1] in self._known else ""

    def principal(self, token_id: str) -> Principal:
        """Return the principal of an already checked token. Raise Unauthenticated if it is no longer valid."""
        token = self._known.get(token_id)
        if token is None:
            raise Unauthenticated(f"token `{token_id}` no longer exists; {_MEND}", token_id=token_id)
        return self._principal(token)

    def is_good(self, token_id: str) -> bool:
        """Return whether a token is valid. This does not count as use."""
        token = self._known.get(token_id)
        return token is not None and not self._refusal(token)

    def _principal(self, token: Token) -> Principal:
        user = self._users.find(token.user)
        why = self._refusal(token)
        if user is None or why:
            raise Unauthenticated(f"token `{token.id}` {why}", token_id=token.id)
        self._used[token.id] = self._now()
        return principal_of(self._organisation, user, token)

    def _refusal(self, token: Token) -> str:
        user = self._users.find(token.user)
        if token.revoked_at is not None:
            return f"was revoked; {_MEND}"
        if token.expires_at is not None and token.expires_at <= self._now():
            return f"expired at {token.expires_at.isoformat(timespec='seconds')}; {_MEND}"
        if user is None or user.disabled_at is not None:
            return f"belongs to a disabled user; ask an admin to run `baton user set {token.user} --enabled`"
        return ""

    async def create(
        self,
        principal: Principal,
        *,
        user: str,
        role: Role,
        team: str = "",
        expires_at: datetime | None = None,
        reason: str = "",
    ) -> tuple[Token, str]:
        """Create a token and, if unknown, its user. Return both forms. Raise Forbidden, Invalid or StoreUnavailable."""
        require(principal, "tokens.create")
        check_name("user", user)
        if team:
            self._users.check_team(team)
        if role not in ROLES:
            raise Invalid("role", f"is `{role}`", list(ROLES))
        now = self._now()
        if expires_at is not None and expires_at <= now:
            raise Invalid("expires_at", "is in the past")
        known = self._users.find(user)
        if known is not None and team not in {"", known.team}:
            raise Invalid("team", f"is `{team}`, but `{user}` is in another team", [known.team])
        token, text = made(user, role, created_by=principal.user, now=now, expires_at=expires_at)
        async with self._changes.write(KIND, principal, "token.create") as change:
            await store.add(change.connection, self._organisation, token)
            await change.concerns([token.id])
            if known is None:
                known = User(name=user, team=team or principal.team, created_at=now)
                await self._users.enter(change, known)
            await change.audit(token.id, after=shown(token, known.team), reason=reason)
        return token, text

    async def create_for_hooks(self, principal: Principal, machine: str) -> tuple[Token, str]:
        """Create a machine's `hook` token. Raise Forbidden, PersonRequired, Conflict (too many) or StoreUnavailable."""
        require(principal, "tokens.hook")
        now = self._now()
        token, text = made(principal.user, "hook", created_by=principal.user, now=now, expires_at=None, machine=machine)
        async with self._changes.write(KIND, principal, "token.create") as change:
            if await store.live(change.connection, self._organisation, "hook", now, principal.user) >= MOST_HOOK_TOKENS:
                raise Conflict(
                    f"you have {MOST_HOOK_TOKENS} tokens for hooks; revoke an unused one"
                    " (`baton token list`, `baton token revoke`)"
                )
            if self._users.find(principal.user) is None:
                await self._users.enter(change, User(name=principal.user, team=principal.team, created_at=now))
            await store.add(change.connection, self._organisation, token)
            await change.concerns([token.id])
            await change.audit(token.id, after=shown(token, principal.team), reason=f"for the hooks of {machine}")
        return token, text

    async def list_tokens(self, principal: Principal, *, user: str = "") -> list[Token]:
        """List the tokens visible to a principal, newest first. Raise StoreUnavailable."""
        require(principal, "tokens.read")
        await self.flush()
        with StoreErrors("tokens cannot be read now; try again"):
            tokens = await store.load_all(self._database, self._organisation)
        return [token for token in tokens if user in {"", token.user} and self._covers(principal, "tokens.read", token)]

    async def revoke(self, principal: Principal, token_id: str, reason: str = "") -> None:
        """Revoke a token, idempotently. Raise NotFound or StoreUnavailable."""
        require(principal, "tokens.revoke")
        token = self._known.get(token_id)
        if token is None or not self._covers(principal, "tokens.revoke", token):
            raise NotFound(f"there is no token `{token_id}`")
        if token.revoked_at is not None:
            return
        now = self._now()
        async with self._changes.write(KIND, principal, "token.revoke") as change:
            await store.revoke(change.connection, self._organisation, token_id, now)
            await change.concerns([token_id])
            await change.audit(
                token_id, before=shown(token, self.team_of(token)), after={"revoked_at": now.isoformat()}, reason=reason
            )

    def team_of(self, token: Token) -> str:
        """Return the team of a token's user, "" if they were removed."""
        return self._users.team_of(token.user)

    async def flush(self) -> None:
        """Store last-use times. Keep them while the database is unavailable."""
        used, self._used = self._used, {}
        try:
            await store.note_used(self._database, self._organisation, used)
        except DatabaseUnavailable:
            self._used = used | self._used

    def _covers(self, principal: Principal, action: str, token: Token) -> bool:
        return covers(principal, action, user=token.user, team=self.team_of(token))


def principal_of(organisation: str, user: User, token: Token) -> Principal:
    """Return a token's principal. A `hook` token represents its user's agents."""
    is_agent = token.role == "hook"
    role = "developer" if is_agent else token.role
    return Principal(organisation=organisation, team=user.team, user=user.name, role=role, agent=is_agent)


def made(
    user: str, role: str, *, created_by: str, now: datetime, expires_at: datetime | None, machine: str = ""
) -> tuple[Token, str]:
    """Create a token. Return its stored form, and its text (not stored)."""
    token_id = secrets.token_hex(6)
    text = f"baton_{token_id}_{secrets.token_hex(32)}"
    token = Token(
        id=token_id,
        digest=digest_of(text),
        user=user,
        role=role,
        created_at=now,
        created_by=created_by,
        expires_at=expires_at,
        machine=machine,
    )
    return token, text


def digest_of(text: str) -> str:
    """Return the stored digest of a token's text."""
    return sha256(text.encode()).hexdigest()


def shown(token: Token, team: str) -> dict[str, object]:
    """Return a token with its user's team, as audited."""
    fields: dict[str, object] = msgspec.to_builtins(token) | {"team": team}
    return {name: value for name, value in fields.items() if name != "digest" and value not in (None, "")}
