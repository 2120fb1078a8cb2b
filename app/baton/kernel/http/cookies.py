"""The cookie of a signed-in browser: its name, how it is set, and what it stands for in a request."""

from typing import Literal

from baton.kernel.base.errors import ForbiddenOrigin

Kind = Literal["baton", "baton-attempt"]
"""The cookie of a signed-in browser, and the cookie during a sign-in at the OpenID provider."""
READING = frozenset({"GET", "HEAD", "OPTIONS"})
"""Methods that change nothing."""
_SECURE = "__Host-"
"""Names that begin so are taken by browsers from HTTPS alone, for this host alone."""
_SAME_ORIGIN = b"same-origin"


def name(host: str, *, secure: bool, kind: Kind = "baton") -> str:
    """Return the cookie's name on a host (`Host`, with its port): cookies ignore ports, so its name holds the port."""
    port = host.rpartition(":")[2]
    return f"{_SECURE if secure else ''}{kind}-{port if port.isdigit() else 443 if secure else 80}"


def set_cookie(host: str, text: str, *, secure: bool, max_age_s: int, kind: Kind = "baton") -> str:
    """Return the `Set-Cookie` that signs a browser in, or begins to; with an age of 0 it takes the cookie away."""
    attributes = f"Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
    return f"{name(host, secure=secure, kind=kind)}={text}; {attributes}"


def with_session(method: str, headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return the headers of a request with its cookie as the token that it is.

    A request that has a token of its own is a program's, and its cookie counts for nothing.

    Raises:
        ForbiddenOrigin: If the request changes something and does not say that it comes from a page of this server.
    """
    if b"authorization" in headers:
        return headers
    session = _session(headers)
    if not session:
        return headers
    if method not in READING and (refused := _refusal(headers)):
        raise refused
    return headers | {b"authorization": b"Bearer " + session}


def _session(headers: dict[bytes, bytes]) -> bytes:
    host = headers.get(b"host", b"").decode("latin-1")
    names = {name(host, secure=secure).encode("latin-1") for secure in (False, True)}
    for part in headers.get(b"cookie", b"").split(b";"):
        key, _, value = part.strip().partition(b"=")
        if key in names and value:
            return value
    return b""


def _refusal(headers: dict[bytes, bytes]) -> ForbiddenOrigin | None:
    """Return why a change by cookie is refused. The origin guard has compared an `Origin` with the `Host` already."""
    site = headers.get(b"sec-fetch-site")
    if site == _SAME_ORIGIN or (site is None and b"origin" in headers):
        return None
    return ForbiddenOrigin(
        "a signed-in browser may change something from a page of this server alone; a program sends a token"
    )
