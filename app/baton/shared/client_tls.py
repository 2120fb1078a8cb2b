"""The TLS context of clients on a developer's machine."""

import ssl
from functools import cache

import httpx2


def client_tls(url: str) -> ssl.SSLContext:
    """Return the TLS context for a URL, with the machine's authorities or `SSL_CERT_FILE`, read once (20 ms)."""
    return _machine() if url.lower().startswith("https:") else no_tls()


@cache
def no_tls() -> ssl.SSLContext:
    """Return a context that trusts nobody, for connections without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _machine() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
