"""Opens Redis connections by URL: redis-py connects, speaks TLS and authenticates.

`redis://`, `rediss://` and `unix://` are redis-py's own. `sentinel://host:26379,host:26379/mymaster` asks the sentinels
in turn for the master, for each connection; `sentinels://` uses TLS for all. User and password before the hosts are the
sentinels'. The options after `?` (`password`, `username`, `db`, `ssl_…`) are the master's. `cluster://host,host` and
`clusters://` ask a cluster's nodes in turn. All keys have the hash tag `{baton}`, so one master has them: a node with
other slots names it.
"""

import asyncio
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from redis.asyncio.connection import AbstractConnection, Connection, parse_url
from redis.exceptions import MovedError

from baton.kernel.base.errors import Unavailable
from baton.lib.text.urls import split_hosts

CONNECT_S = 2.0  # timeout for connecting in the background, with the handshake, in seconds
_SENTINELS = {"sentinel": "redis", "sentinels": "rediss"}
_SENTINEL_PORT = 26_379
_CLUSTERS = {"cluster": "redis", "clusters": "rediss"}


class RedisUnavailable(Unavailable):
    """Redis is unavailable, hung, or answered with an error. The command may or may not have run."""


class SentinelURL:
    """The parts of a `sentinel://` URL. Raise ValueError if it has no host or no master."""

    def __init__(self, url: str) -> None:
        parts = split_hosts(url)
        self._scheme = _SENTINELS[parts.scheme]
        self.master_name = parts.path.strip("/")
        self._login, _, hosts = parts.netloc.rpartition("@")
        self._hosts = [host for host in hosts.split(",") if host]
        self._options = parse_qsl(parts.query)
        if not self.master_name or not self._hosts:
            raise ValueError(
                "`BATON_REDIS_URL` has no sentinel or no master; use"
                " `sentinel://host1:26379,host2:26379/mymaster?password=…`"
            )

    @property
    def sentinels(self) -> list[str]:
        """The URLs of the sentinels, for redis-py."""
        login = f"{self._login}@" if self._login else ""
        tls = urlencode([(name, value) for name, value in self._options if name.startswith("ssl_")])
        return [f"{self._scheme}://{login}{_with_port(host)}/0?{tls}" for host in self._hosts]

    def master(self, host: str, port: int) -> str:
        """Return the URL of the master, for redis-py."""
        name = f"[{host}]" if ":" in host else quote(host)
        return f"{self._scheme}://{name}:{port}?{urlencode(self._options)}"


def _with_port(host: str) -> str:
    return host if host.rpartition("]")[2].count(":") else f"{host}:{_SENTINEL_PORT}"


def check(url: str) -> None:
    """Check a URL without connecting. Raise ValueError if `opened` does not support it."""
    if split_hosts(url).scheme in _SENTINELS:
        SentinelURL(url)
    else:
        for node in _nodes(url):
            parse_url(node)


def _nodes(url: str) -> list[str]:
    """Return the URLs of a cluster's nodes, or the URL itself."""
    parts = split_hosts(url)
    if parts.scheme not in _CLUSTERS:
        return [url]
    return [_with_host(url, host, _CLUSTERS[parts.scheme]) for host in parts.netloc.rpartition("@")[2].split(",")]


def _with_host(url: str, host: str, scheme: str) -> str:
    parts = split_hosts(url)
    login, at, _ = parts.netloc.rpartition("@")
    return parts._replace(scheme=scheme, netloc=login + at + host).geturl()


async def opened(url: str) -> AbstractConnection:
    """Connect to a Redis, to the sentinels' master or to the cluster's. Raise RedisUnavailable, or ValueError for the URL."""
    if split_hosts(url).scheme in _SENTINELS:
        return await _master(SentinelURL(url))
    reasons = []
    for node in _nodes(url):
        try:
            return await _owner(node)
        except RedisUnavailable as error:
            reasons.append(str(error))
    raise RedisUnavailable("; ".join(dict.fromkeys(reasons)))


async def _owner(url: str) -> AbstractConnection:
    """Connect to a Redis, or to the master with Baton's slot if that Redis is a node of a cluster."""
    connection = await _open(url)
    try:
        await _ask(connection, "EXISTS", "{baton}:probe")
    except RedisUnavailable as error:
        moved = error.__cause__
        if not isinstance(moved, MovedError):
            raise
        # A node that does not know its own name sends none: it is the one that was asked.
        host = moved.host or split_hosts(url).hostname or ""
        host = f"[{host}]" if ":" in host else host
        return await _open(_with_host(url, f"{host}:{moved.port}", split_hosts(url).scheme))
    return connection


async def _master(wanted: SentinelURL) -> AbstractConnection:
    reason = "no sentinel knows it"
    for sentinel in wanted.sentinels:
        try:
            place = await _asked(sentinel, "SENTINEL", "GET-MASTER-ADDR-BY-NAME", wanted.master_name)
            if place is None:
                continue
            connection = await _open(wanted.master(place[0].decode(), int(place[1])))
            if (await _ask(connection, "ROLE"))[0] == b"master":
                return connection
            await connection.disconnect(nowait=True)
            reason = "the sentinels name a replica"
        except RedisUnavailable as error:
            reason = str(error)
    raise RedisUnavailable(f"the master `{wanted.master_name}` cannot be reached: {reason}")


async def _asked(url: str, *command: str) -> Any:
    connection = await _open(url)
    try:
        return await _ask(connection, *command)
    finally:
        await connection.disconnect(nowait=True)


async def _ask(connection: AbstractConnection, *command: str) -> Any:
    try:
        async with asyncio.timeout(CONNECT_S):
            await connection.send_command(*command)
            return await connection.read_response()
    except asyncio.CancelledError:
        await connection.disconnect(nowait=True)
        raise
    except Exception as error:
        await connection.disconnect(nowait=True)
        raise RedisUnavailable(str(error) or "redis did not answer the handshake") from error


async def _open(url: str) -> AbstractConnection:
    options: dict[str, Any] = dict(parse_url(url))
    kind: type[AbstractConnection] = options.pop("connection_class", Connection)
    options |= {"protocol": 2, "socket_timeout": CONNECT_S, "socket_connect_timeout": CONNECT_S, "driver_info": None}
    connection = kind(**options)
    try:
        async with asyncio.timeout(CONNECT_S):
            await connection.connect()  # type: ignore[no-untyped-call]
    except asyncio.CancelledError:
        await connection.disconnect(nowait=True)
        raise
    except Exception as error:
        await connection.disconnect(nowait=True)
        raise RedisUnavailable(str(error) or "redis did not answer the handshake") from error
    await _ask(connection, "PING")
    return connection
