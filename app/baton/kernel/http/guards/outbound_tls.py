"""How the server checks the certificates of those that it sends requests to."""

import ssl
from functools import cache

import httpx2


@cache
def outbound_tls() -> ssl.SSLContext:
    """Return the TLS context of all clients in this process: each of its own would read the machine's certificates again."""
    return httpx2.create_ssl_context(trust_env=False)
