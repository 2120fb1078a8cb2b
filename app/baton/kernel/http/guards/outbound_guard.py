"""Where the server may send requests that a person configured through the API: to public addresses, and to hosts allowed by name.

Otherwise whoever may register an URL could have the server ask what only the server can reach.
"""

import asyncio
import ipaddress
import socket
from collections.abc import Iterable
from urllib.parse import urlsplit, urlunsplit

import msgspec

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")
"""Addresses that a gateway turns into IPv4 addresses, internal ones too."""


class OutboundRefused(Exception):
    """The URL leads to an internal address, or to none."""


class Destination(msgspec.Struct, frozen=True):
    """An URL with the host's checked address in it, and the host's name for the header `Host` and for TLS."""

    url: str
    host: str
    name: str


def is_public(address: _Address) -> bool:
    """Return whether an address is one of the public internet, with no way round by IPv6."""
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address.sixtofour is not None or address.teredo is not None or address in _TRANSLATED:
            return False
    return address.is_global and not address.is_multicast


def checked_url(url: str) -> str:
    """Return an URL that may be registered.

    Raises:
        OutboundRefused: If it is no HTTP URL with a host, or holds a user or a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise OutboundRefused("is no URL") from None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise OutboundRefused("must be an `http://` or `https://` URL with a host")
    if parts.username or parts.password:
        raise OutboundRefused("must not hold a user or a password")
    if port == 0:
        raise OutboundRefused("names no port that can be reached")
    return url


async def destination(url: str, allowed: Iterable[str] = ()) -> Destination:
    """Resolve an URL's host and check its address; what is sent then goes to that address, whatever the name says later.

    Args:
        url: The URL.
        allowed: Hosts, as `host` or `host:port`, that may be internal.

    Raises:
        OutboundRefused: If the host has no address, or any of its addresses is internal.
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
        raise OutboundRefused(f"host `{host}` has the internal address {internal[0]}")
    address = addresses[0]
    shown = f"[{address}]" if address.version == 6 else str(address)  # noqa: PLR2004
    pinned = urlunsplit((parts.scheme, f"{shown}:{port}", parts.path or "/", parts.query, ""))
    return Destination(pinned, parts.netloc, host)
