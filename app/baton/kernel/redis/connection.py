"""From a URL to an open connection: redis-py connects, speaks TLS and authenticates.

`redis://`, `rediss://` and `unix://` are redis-py's own. `sentinel://host:26379,host:26379/mymaster` asks the
sentinels, one after the other, where the master is, each time anew; `sentinels://` does all of it over TLS. The user
and password before the hosts are the sentinels'; what follows `?` (`password`, `username`, `db`, `ssl_…`) is the
master's.
"""

import asyncio
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from redis.asyncio.connection import AbstractConnection, Connection, parse_url

CONNECT_S = 2.0
"""Longest wait for a connection with its handshake, in seconds; it happens in the background."""
_SENTINELS = {"sentinel": "redis", "sentinels": "rediss"}
_SENTINEL_PORT = 26_379


class RedisUnavailable(Exception):
    """Redis gave no answer: away, hung, or its answer was an error. Whether the command ran is not known."""


class SentinelURL:
    """The parts of a `sentinel://` URL.

    Raises:
        ValueError: It names no host or no master.
    """

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._scheme = _SENTINELS[parts.scheme]
        self.master_name = parts.path.strip("/")
        self._login, _, hosts = parts.netloc.rpartition("@")
        self._hosts = [host for host in hosts.split(",") if host]
        self._options = parse_qsl(parts.query)
        if not self.master_name or not self._hosts:
            raise ValueError(
                "`BATON_REDIS_URL` names no sentinel or no master; it looks like"
                " `sentinel://host1:26379,host2:26379/mymaster?password=…`"
            )

    @property
    def sentinels(self) -> list[str]:
        """Where the sentinels are, as redis-py takes it."""
        login = f"{self._login}@" if self._login else ""
        tls = urlencode([(name, value) for name, value in self._options if name.startswith("ssl_")])
        return [f"{self._scheme}://{login}{_with_port(host)}/0?{tls}" for host in self._hosts]

    def master(self, host: str, port: int) -> str:
        """Where the master is, as redis-py takes it."""
        name = f"[{host}]" if ":" in host else quote(host)
        return f"{self._scheme}://{name}:{port}?{urlencode(self._options)}"


def _with_port(host: str) -> str:
    return host if host.rpartition("]")[2].count(":") else f"{host}:{_SENTINEL_PORT}"


def check(url: str) -> None:
    """Look at a URL without connecting.

    Raises:
        ValueError: It is none that `opened` takes.
    """
    if urlsplit(url).scheme in _SENTINELS:
        SentinelURL(url)
    else:
        parse_url(url)


async def opened(url: str) -> AbstractConnection:
    """Connect to the Redis of a URL, or to the master that its sentinels name.

    Raises:
        RedisUnavailable: With what went wrong.
        ValueError: If the URL is not valid.
    """
    if urlsplit(url).scheme not in _SENTINELS:
        return await _open(url)
    wanted = SentinelURL(url)
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
            reason = "the one that the sentinels name is a replica"
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
        raise RedisUnavailable(str(error) or "redis gave no answer to the handshake") from error


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
        raise RedisUnavailable(str(error) or "redis gave no answer to the handshake") from error
    await _ask(connection, "PING")
    return connection
