"""Readers of endless streams of events, over real HTTP."""

import contextlib
import json
import socket
import threading

import httpx2

from tests.support.server import NO_CERTIFICATES, until


class Reader:
    """A stream that a thread reads: its events as (id, type, data)."""

    def __init__(self, server, user=None, after="", headers=None, path="/decisions/stream", **query):
        self.events, self.last, self.status = [], after, None
        self._socket, self._told = None, False
        if headers is None:
            with server.client(**({"Baton-User": user} if user else {})) as client:
                headers = dict(client.headers)
        self._asked = {"url": server.url + path, "params": query, "headers": headers}
        if after:
            headers["Last-Event-ID"] = after
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        until(lambda: self._told or self.ended())

    def _read(self):
        event = {}
        with (
            contextlib.suppress(httpx2.HTTPError),
            httpx2.Client(timeout=90, trust_env=False, verify=NO_CERTIFICATES) as client,
            client.stream("GET", **self._asked) as answer,
        ):
            self.status = answer.status_code
            self._socket = answer.extensions["network_stream"].get_extra_info("socket")
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if line:
                    event[name] = value
                    continue
                if "data" in event:
                    self.events.append((event["id"], event["event"], json.loads(event["data"])))
                self.last = event.get("id", self.last)
                self._told = True
                event = {}

    def close(self):
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)

    @property
    def ids(self):
        return [one["id"] for _, kind, data in self.events if kind == "decisions" for one in data["items"]]

    def ended(self):
        return not self._thread.is_alive()

    def named(self, *names):
        """Return the data of the events of these names."""
        return [data for _, name, data in self.events if name in names]


@contextlib.contextmanager
def readers():
    """Yield what opens readers; they are closed at the end."""
    opened = []

    def make(*arguments, **named):
        opened.append(Reader(*arguments, **named))
        return opened[-1]

    try:
        yield make
    finally:
        for reader in opened:
            reader.close()
