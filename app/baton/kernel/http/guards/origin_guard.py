"""Which requests are served at all: by Host and Origin.

On loopback there is no token, so a web page that a developer visits must not be able to post here: neither from its
own origin, nor through a name that it points at 127.0.0.1 (DNS rebinding).
"""

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import urlsplit

from baton.kernel.base.errors import BatonError, ForbiddenHost, ForbiddenOrigin

LOOPBACK = frozenset({"127.0.0.1", "localhost", "baton.localhost", "::1"})


class Guard:
    """Checks the Host of every request, and the Origin of those that carry one."""

    def __init__(self, allowed_hosts: Iterable[str]) -> None:
        self._allowed = LOOPBACK | {host.lower() for host in allowed_hosts}

    def refusal(self, headers: dict[bytes, bytes], *, page: bool = False) -> BatonError | None:
        """Return the error for a request with refused headers (names in lower case), or None.

        A `page` that a person goes to may be reached from anywhere: by a link in a chat, from the OpenID provider. It has
        no data of anybody, and can be in no frame.
        """
        host = headers.get(b"host", b"")
        name = _host_name(host.decode("latin-1"))
        if name not in self._allowed:
            return ForbiddenHost(
                f"the Host header names `{name}`; allowed: {', '.join(f'`{h}`' for h in sorted(self._allowed))}"
                " (set BATON_ALLOWED_HOSTS to add one)",
            )
        if page and headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document":
            return None
        origin = headers.get(b"origin")
        if origin is not None and not _same(origin, host):
            return ForbiddenOrigin(f"a page of `{origin.decode('latin-1')}` may not post here")
        if headers.get(b"sec-fetch-site") in {b"cross-site", b"same-site"}:
            return ForbiddenOrigin("a page of another site may not post here")
        return None


@lru_cache(maxsize=64)
def _host_name(host: str) -> str:
    try:
        return (urlsplit(f"//{host}").hostname or "").lower()
    except ValueError:
        return host


def _same(origin: bytes, host: bytes) -> bool:
    return origin.partition(b"://")[2].lower() == host.lower()
