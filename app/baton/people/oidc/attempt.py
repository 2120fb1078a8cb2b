"""One sign-in attempt of a browser: a secret in its cookie, and values derived from it.

The server stores nothing of an attempt. State, nonce and PKCE challenge are derived from the cookie alone, so only the
browser that started the attempt can finish it (docs/decisions/0043).
"""

import hmac
import re
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any, Literal, Self
from urllib.parse import unquote, urlsplit

import msgspec

from baton.kernel.base.oidc_settings import OidcSettings

LASTS_S = 600  # maximum duration of an attempt at the provider, in seconds
LONGEST_PATH = 500
HOME = "/ui/"
_COOKIE = re.compile(r"([0-9a-f]{1,12})\.[0-9a-f]{64}\.([A-Za-z0-9_-]{0,2000})", re.ASCII)
_SIGN_IN = "/ui/sign-in"


class SignInAttempt(msgspec.Struct, frozen=True):
    """The content of a browser's cookie. The derived values depend on all of it, including time and path."""

    cookie: str
    return_to: str

    @classmethod
    def begin(cls, return_to: str, now: Callable[[], float] = time.time) -> Self:
        """Start an attempt that ends on a page of the console."""
        path = urlsafe_b64encode(return_to.encode()).decode().rstrip("=")
        return cls(f"{int(now()):x}.{secrets.token_hex(32)}.{path}", return_to)

    @classmethod
    def read(cls, cookie: str, now: Callable[[], float] = time.time) -> Self | None:
        """Parse a browser's cookie. Return None if it is invalid or too old."""
        found = _COOKIE.fullmatch(cookie)
        if found is None or not 0 <= now() - int(found[1], 16) < LASTS_S:
            return None
        try:
            return_to = urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4)).decode()
        except ValueError:
            return None
        # A forged cookie must not choose the target page.
        return cls(cookie, return_to if is_page(return_to) else HOME)

    def derived(self, purpose: Literal["state", "nonce", "verifier", "session"]) -> str:
        """Derive 256 bits from the cookie, as 43 characters of base64url: the minimum length of a PKCE verifier."""
        made = hmac.digest(self.cookie.encode(), f"baton oidc {purpose}".encode(), "sha256")
        return urlsafe_b64encode(made).decode().rstrip("=")


def is_page(path: str) -> bool:
    """Return whether a path is a safe page of the console to return to, for every browser."""
    if not path.startswith(HOME) or len(path) > LONGEST_PATH or not path.isascii() or not path.isprintable():
        return False
    if "\\" in path or " " in path:  # browsers read `\\` as `/`
        return False
    parts = urlsplit(path)
    segments = [unquote(one) for one in parts.path.split("/")]
    return not {".", ".."} & set(segments) and "" not in segments[2:-1] and not parts.path.startswith(_SIGN_IN)


# An account at the provider, and its user.

GOOGLE = "https://accounts.google.com"
LONGEST_NAME = 200


class NamesNobody(Exception):
    """The account maps to no user. The message says why, for the person and the audit log."""


class Account(msgspec.Struct, frozen=True):
    """An account confirmed by the provider: its issuer and the claims of a verified ID token."""

    issuer: str
    claims: dict[str, Any]

    @property
    def text(self) -> str:
        """The account as stored with a user. An issuer has no blank; the subject follows the first blank."""
        return f"{self.issuer} {self.claims['sub']}"

    def user_name(self, settings: OidcSettings) -> str:
        """Return the user name. Raise NamesNobody if the claim is missing, unverified or of another domain."""
        claim = settings.oidc_user_claim
        name = self.claims.get(claim)
        if not isinstance(name, str) or not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise NamesNobody(f"the account has no valid user name in its claim `{claim}`")
        if claim == "email" and self.claims.get("email_verified") not in (True, "true"):
            raise NamesNobody("the provider has not verified the account's address")
        domain = settings.oidc_domain.lower()
        if not domain:
            return name
        local, _, its = name.rpartition("@")
        if its.lower() != domain or not local:
            raise NamesNobody(f"the account `{name}` is not one of `{domain}`")
        # Anybody can create an account with a company's address. Only `hd` proves that the company manages it.
        if self.issuer == GOOGLE and str(self.claims.get("hd", "")).lower() != domain:
            raise NamesNobody(f"the account `{name}` is not managed by `{domain}`")
        return local
