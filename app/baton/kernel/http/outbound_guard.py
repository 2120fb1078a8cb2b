"""Limits API-configured requests to public addresses and allowed hosts (server-side request forgery)."""

import asyncio
import ipaddress
import socket
import ssl
from collections.abc import Iterable
from functools import cache
from urllib.parse import urlsplit, urlunsplit

import httpx2
import msgspec

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # NAT64: translated to IPv4, possibly internal


class OutboundRefused(Exception):
    """The URL is invalid, or leads to an internal address."""


class Destination(msgspec.Struct, frozen=True):
    """A URL with the host's checked address in it. `host` is the `Host` header, `name` the TLS name."""

    url: str
    host: str
    name: str


def is_public(address: _Address) -> bool:
    """Return whether an address is public, including embedded IPv4 addresses."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour is not None or address.teredo is not None or address in _TRANSLATED:
            return False
    return address.is_global and not address.is_multicast


def checked_url(url: str) -> str:
    """Return a valid HTTP URL with a host and without user or password. Raise OutboundRefused for any other."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise OutboundRefused("is not a URL") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise OutboundRefused("must be an `http://` or `https://` URL with a host")
    if parts.username or parts.password:
        raise OutboundRefused("must not contain a user or a password")
    if port == 0:
        raise OutboundRefused("has the invalid port 0")
    return url


async def destination(url: str, allowed: Iterable[str] = ()) -> Destination:
    """Resolve a URL's host and check its addresses. The request then uses the checked address.

    Hosts in `allowed` (`host` or `host:port`) may be internal. Raise OutboundRefused for no address or an internal one.
    """
    parts = urlsplit(checked_url(url))
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise OutboundRefused(f"host `{host}` has no address") from None
    addresses = [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]
    internal = [address for address in addresses if not is_public(address)]
    if internal and not {host, f"{host}:{port}"} & set(allowed):
        raise OutboundRefused(
            f"host `{host}` has the internal address {internal[0]}; an operator may allow it by BATON_WEBHOOK_HOSTS"
        )
    address = addresses[0]
    shown = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004
    pinned = urlunsplit((parts.scheme, f"{shown}:{port}", parts.path or "/", parts.query, ""))
    return Destination(pinned, parts.netloc, host)


# Certificate checks of outgoing requests.


@cache
def outbound_tls() -> ssl.SSLContext:
    """Return the process's shared TLS context. Each new one would read the machine's certificates again."""
    return httpx2.create_ssl_context(trust_env=False)
