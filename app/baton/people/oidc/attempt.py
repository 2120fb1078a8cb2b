"""One attempt of a browser to sign in with an account: a secret in its cookie, and what is derived from it.

The server keeps nothing of an attempt. What the provider is sent (state, nonce, PKCE challenge) comes from the cookie
alone, so whoever finishes the attempt has the cookie of the browser that began it (docs/decisions/0043).
"""

import hmac
import re
import secrets
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from typing import Literal, Self
from urllib.parse import unquote, urlsplit

import msgspec

LASTS_S = 600
"""How long a person may take at the provider, in seconds."""
LONGEST_PATH = 500
HOME = "/ui/"
_COOKIE = re.compile(r"([0-9a-f]{1,12})\.[0-9a-f]{64}\.([A-Za-z0-9_-]{0,2000})", re.ASCII)
_SIGN_IN = "/ui/sign-in"


class Attempt(msgspec.Struct, frozen=True):
    """What a browser's cookie says. Everything in it, the time and the path too, goes into what is derived from it."""

    cookie: str
    return_to: str

    @classmethod
    def begin(cls, return_to: str, now: Callable[[], float] = time.time) -> Self:
        """Begin an attempt that ends on a page of the console."""
        path = urlsafe_b64encode(return_to.encode()).decode().rstrip("=")
        return cls(f"{int(now()):x}.{secrets.token_hex(32)}.{path}", return_to)

    @classmethod
    def read(cls, cookie: str, now: Callable[[], float] = time.time) -> Self | None:
        """Read a browser's cookie; return None if it is invalid or too old."""
        found = _COOKIE.fullmatch(cookie)
        if found is None or not 0 <= now() - int(found[1], 16) < LASTS_S:
            return None
        try:
            return_to = urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4)).decode()
        except ValueError:
            return None
        # Whoever can write a cookie must not choose where the page goes.
        return cls(cookie, return_to if is_page(return_to) else HOME)

    def derived(self, purpose: Literal["state", "nonce", "verifier", "session"]) -> str:
        """Return 256 bits that only this cookie gives, as 43 characters of base64url: a PKCE verifier's least length."""
        made = hmac.digest(self.cookie.encode(), f"baton oidc {purpose}".encode(), "sha256")
        return urlsafe_b64encode(made).decode().rstrip("=")


def is_page(path: str) -> bool:
    """Return whether a path is a page of the console to return to, however a browser may read it."""
    if not path.startswith(HOME) or len(path) > LONGEST_PATH or not path.isascii() or not path.isprintable():
        return False
    if "\\" in path or " " in path:  # browsers read `\\` as `/`
        return False
    parts = urlsplit(path)
    segments = [unquote(one) for one in parts.path.split("/")]
    return not {".", ".."} & set(segments) and "" not in segments[2:-1] and not parts.path.startswith(_SIGN_IN)
