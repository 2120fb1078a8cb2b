"""The TLS context of clients that run on a developer's machine."""

import ssl
from functools import cache

import httpx2


def client_tls(url: str) -> ssl.SSLContext:
    """Return what checks the certificate of the server at `url`: the machine's authorities, or those of `SSL_CERT_FILE`.

    They take 20 ms to read, so they are read once, and never for a URL without TLS: its context trusts nobody.
    """
    return _machine() if url.lower().startswith("https:") else no_tls()


@cache
def no_tls() -> ssl.SSLContext:
    """Return a context that trusts nobody, for connections without TLS."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@cache
def _machine() -> ssl.SSLContext:
    return httpx2.create_ssl_context()
