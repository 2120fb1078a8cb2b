"""One HTTP request within a time, over the interpreter's own sockets: importing `socket` takes longer than the request."""

import _socket  # the module `socket` is this one in Python, with enums that take 8 ms to make
import _thread
import os
import time

TYPE_CHECKING = False  # as in `typing`: its import takes longer than the request, too
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from ssl import SSLContext
    from typing import Any

LOOPBACK = ("localhost", "127.0.0.1", "::1")
_PORTS = {"http": 80, "https": 443}
_MOST = 64 << 20
"""Bytes of an answer: more than any answer of Baton has."""


class NoAnswerError(Exception):
    """The server gave no answer: the cause and the remedy. `hung` means a timeout."""

    def __init__(self, why: str, advice: str = "", *, hung: bool = False) -> None:
        super().__init__(why)
        self.advice = advice
        self.hung = hung


class Answer:
    """An HTTP answer: the status with its reason (`200 OK`), the header lines, the body."""

    __slots__ = ("body", "head", "status")

    def __init__(self, raw: bytes) -> None:
        head, _, self.body = raw.partition(b"\r\n\r\n")
        first, _, self.head = head.partition(b"\r\n")
        version, _, status = first.partition(b" ")
        if not (version.startswith(b"HTTP/") and status[:3].isdigit()):
            raise NoAnswerError("answered something that is not HTTP")
        self.status = status.decode("latin-1")
        length = self.header("content-length")
        if "chunked" in self.header("transfer-encoding").lower():
            self.body = _without_chunks(self.body)
        elif length.isdigit():
            if len(self.body) < int(length):
                raise NoAnswerError("broke off its answer")
            self.body = self.body[: int(length)]

    def header(self, name: str) -> str:
        """Return a header's value, "" without it."""
        for line in self.head.split(b"\r\n"):
            key, _, value = line.partition(b":")
            if key.decode("latin-1").lower() == name:
                return value.strip().decode("utf-8", "replace")
        return ""


class Url:
    """The parts of a URL needed by a request."""

    __slots__ = ("host", "path", "port", "scheme", "user")

    def __init__(self, text: str) -> None:
        self.scheme, mark, rest = text.partition("://")
        if not mark:
            self.scheme, rest = "http", text
        place, slash, path = rest.partition("/")
        self.user, _, place = place.rpartition("@")
        host, _, port = place.rpartition(":")
        if (place.startswith("[") and (not host or not port.isdigit())) or not host:
            host, port = place, ""
        self.host = host.strip("[]")
        self.path = (slash + path).rstrip("/")
        self.port = int(port) if port.isdigit() else _PORTS.get(self.scheme, 0)
        if not self.host or not self.port:
            raise NoAnswerError("has no http or https url", "Correct BATON_URL in the config file.")

    @property
    def place(self) -> str:
        """Return host and port as a request names them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS.get(self.scheme) else f"{host}:{self.port}"


def post(
    url: Url,
    headers: list[tuple[bytes, bytes]],
    body: bytes,
    *,
    target: str,
    times: tuple[float, float],
    ca_file: str,
    method: str = "POST",
) -> Answer:
    """Post a body; `times` are the seconds to connect and for all of it. No redirect is followed.

    It runs in a thread: a DNS lookup cannot be cancelled, and the process may end before it returns.

    Raises:
        NoAnswerError: If there was no whole HTTP answer within the time.
    """
    done = _thread.allocate_lock()
    result: list[Answer | Exception] = []
    done.acquire()

    def work() -> None:
        try:
            result.append(Answer(_exchange(url, headers, body, f"{method} {target}", times, ca_file)))
        except Exception as error:  # noqa: BLE001 - a thread without a result would look like a hung server
            result.append(error)
        finally:
            done.release()

    _thread.start_new_thread(work, ())
    if not done.acquire(timeout=times[1]):
        raise _slow(times[1])
    found = result[0]
    if isinstance(found, Answer):
        return found
    if isinstance(found, NoAnswerError):
        raise found
    raise failure(found, times[1])


def _slow(seconds: float) -> NoAnswerError:
    return NoAnswerError(f"did not answer within {seconds:g} s: it is overloaded or hangs", hung=True)


def failure(error: Exception, seconds: float) -> NoAnswerError:
    """Return the cause of an error of the network, and the remedy."""
    if isinstance(error, TimeoutError):
        return _slow(seconds)
    if isinstance(error, ConnectionRefusedError):
        return NoAnswerError("refuses connections", "Start it: baton serve.")
    if isinstance(error, ConnectionError):
        return NoAnswerError("broke off its answer")
    if isinstance(error, _socket.gaierror):
        return NoAnswerError("has a name that is not known", "Correct BATON_URL in the config file.")
    if type(error).__name__ == "ChangedRulesError":
        why = "does not answer, and another program has changed the rules for that"
        return NoAnswerError(why, "Start the server, and find the program: baton relay status.")
    if type(error).__name__ == "SSLCertVerificationError":
        return NoAnswerError("has no certificate that is trusted here", "Set BATON_CA_FILE in the config file.")
    return NoAnswerError(f"cannot be asked ({str(error) or type(error).__name__})")


def _exchange(
    url: Url, headers: list[tuple[bytes, bytes]], body: bytes, line: str, times: tuple[float, float], ca_file: str
) -> bytes:
    until = time.monotonic() + times[1]
    connection = reach(url, times[0], until, lambda: _default_trust(ca_file))
    method, _, target = line.partition(" ")
    first, own = lines_of(url, method, target)
    lines = [first.encode(), b"Connection: close"]
    names = {name.lower() for name, _ in headers}
    lines += [f"{name}: {value}".encode() for name, value in own if name.lower().encode() not in names]
    lines += [name + b": " + value for name, value in headers]
    lines.append(b"Content-Length: " + str(len(body)).encode())
    connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n" + body)
    return _read(connection, until)


def reach(url: Url, seconds: float, until: float, trust: "Callable[[], SSLContext]") -> "Any":
    """Return a new connection to a server, through the environment's proxy if it names one. `trust` is asked for TLS alone."""
    proxy = _proxy(url, os.environ)
    connection = _connect(proxy or url, seconds, until)
    return _secured(connection, url, proxy, trust(), until) if url.scheme == "https" else connection


def lines_of(url: Url, method: str, target: str) -> "tuple[str, list[tuple[str, str]]]":
    """Return a request's first line, and the headers that the way to the server needs."""
    proxy, path, headers = _proxy(url, os.environ), url.path + target, [("Host", url.place)]
    if proxy and url.scheme == "http":
        path = f"http://{url.place}{path}"
        headers += _authorization(proxy, "Proxy-Authorization")
    if url.user:
        headers += _authorization(url, "Authorization")
    return f"{method} {path} HTTP/1.1", headers


def trusted(ca_file: str) -> "SSLContext":
    """Return what is trusted: a file's certificates, without one those of the operating system."""
    if ca_file:
        return _default_trust(ca_file)
    import ssl

    import truststore

    return truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _default_trust(ca_file: str) -> "SSLContext":
    import ssl

    return ssl.create_default_context(cafile=ca_file or None)


def _connect(end: Url, seconds: float, until: float) -> "Any":
    error: Exception = NoAnswerError("has a name that is not known")
    until_connected = time.monotonic() + seconds
    # As bytes: a string would be encoded by IDNA, and its tables take 15 ms to import.
    name = end.host.encode("ascii" if end.host.isascii() else "idna")
    for family, kind, protocol, _, address in _socket.getaddrinfo(name, end.port, 0, _socket.SOCK_STREAM):
        connection = _socket.socket(family, kind, protocol)
        connection.settimeout(max(0.01, until_connected - time.monotonic()))
        try:
            connection.connect(address)
        except OSError as failed:
            connection.close()
            is_slow = isinstance(failed, TimeoutError)
            error = NoAnswerError(f"could not be reached within {seconds:g} s", hung=True) if is_slow else failed
            continue
        connection.settimeout(max(0.01, until - time.monotonic()))
        return connection
    raise error


def _secured(connection: "Any", url: Url, proxy: Url | None, context: "SSLContext", until: float) -> "Any":
    import socket

    wrapped = socket.socket(fileno=connection.detach())
    wrapped.settimeout(max(0.01, until - time.monotonic()))
    if proxy:
        lines = [f"CONNECT {url.host}:{url.port} HTTP/1.1".encode(), f"Host: {url.host}:{url.port}".encode()]
        lines += [f"{name}: {value}".encode() for name, value in _authorization(proxy, "Proxy-Authorization")]
        wrapped.sendall(b"\r\n".join(lines) + b"\r\n\r\n")
        head = b""
        while b"\r\n\r\n" not in head and (part := wrapped.recv(1)):
            head += part
        if head.split(b" ")[1:2] != [b"200"]:
            raise NoAnswerError("is not reached by the proxy")
    return context.wrap_socket(wrapped, server_hostname=url.host)


def _read(connection: "Any", until: float) -> bytes:
    parts: list[bytes] = []
    size = 0
    while size < _MOST:
        connection.settimeout(max(0.01, until - time.monotonic()))
        part = connection.recv(65_536)
        if not part:
            break
        parts.append(part)
        size += len(part)
        if _is_whole(parts):  # do not wait for a server keeping the connection open
            break
    if not parts:
        raise NoAnswerError("broke off its answer")
    return b"".join(parts)


def _is_whole(parts: list[bytes]) -> bool:
    if len(parts) > 1:
        parts[:] = [b"".join(parts)]
    head, found, body = parts[0].partition(b"\r\n\r\n")
    length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0].strip()
    return bool(found) and length.isdigit() and len(body) >= int(length)


def _without_chunks(text: bytes) -> bytes:
    parts: list[bytes] = []
    while True:
        size, _, text = text.partition(b"\r\n")
        try:
            count = int(size.partition(b";")[0], 16)
        except ValueError:
            raise NoAnswerError("broke off its answer") from None
        if not count:
            return b"".join(parts)
        if len(text) < count:
            raise NoAnswerError("broke off its answer")
        parts.append(text[:count])
        text = text[count:].removeprefix(b"\r\n")


def _proxy(url: Url, env: "Mapping[str, str]") -> Url | None:
    """Return the environment's proxy as curl does: none for loopback, HTTP_PROXY ignored."""
    if url.host in LOOPBACK:
        return None
    names = ("http_proxy",) if url.scheme == "http" else ("https_proxy", "HTTPS_PROXY")
    named = next((env[name] for name in (*names, "all_proxy", "ALL_PROXY") if env.get(name)), "")
    for entry in (env.get("no_proxy") or env.get("NO_PROXY") or "").split(","):
        domain = entry.strip().lstrip(".").lower()
        if domain == "*" or (domain and (url.host.lower() == domain or url.host.lower().endswith(f".{domain}"))):
            return None
    if not named:
        return None
    proxy = Url(named)
    if proxy.scheme != "http":
        raise NoAnswerError("has a proxy that is not an http proxy")
    return proxy


def _authorization(end: Url, name: str) -> list[tuple[str, str]]:
    if not end.user:
        return []
    from base64 import b64encode
    from urllib.parse import unquote

    user, _, password = end.user.partition(":")
    return [(name, "Basic " + b64encode(f"{unquote(user)}:{unquote(password)}".encode()).decode())]
