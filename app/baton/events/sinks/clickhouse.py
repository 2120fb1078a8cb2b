"""The ClickHouse sink: each event is a row of one table, inserted over HTTP."""

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

import httpx2

from baton.events.sinks.runner import SinkEvent, SinkFailed
from baton.kernel.http.outbound_guard import outbound_tls

TIMEOUT_S = 30.0
"""Longest that an insert may take, in seconds."""
_TABLE = re.compile(r"/(\w+)/(\w+)/?", re.ASCII)
_OPTIONS = {
    "input_format_skip_unknown_fields": "1",  # a table without one of the columns is right, too
    "input_format_json_read_objects_as_strings": "1",
    "date_time_input_format": "best_effort",
    "wait_end_of_query": "1",  # the status is that of the whole insert
}


class ClickHouseSink:
    """Inserts a page of events at once. The table drops repeated ones (`ReplacingMergeTree`)."""

    name = "clickhouse"
    attempts = 0

    def __init__(self, url: str) -> None:
        """Read `clickhouse://[user:password@]host[:port]/database/table`, or `clickhouses://` for TLS.

        Raises:
            ValueError: If it is no such URL.
        """
        parts = urlsplit(url)
        table = _TABLE.fullmatch(parts.path)
        try:
            port = parts.port
        except ValueError:  # its text may be a part of a password with a `/`
            table = None
        if parts.scheme not in {"clickhouse", "clickhouses"} or not parts.hostname or table is None:
            raise ValueError("BATON_KAFKA_URL must be `clickhouse://[user:password@]host:8123/database/table`")
        tls = parts.scheme == "clickhouses"
        host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
        self._client = httpx2.AsyncClient(
            base_url=f"{'https' if tls else 'http'}://{host}:{port or (8443 if tls else 8123)}",
            params=_OPTIONS | {"query": f"INSERT INTO `{table[1]}`.`{table[2]}` FORMAT JSONEachRow"},
            auth=(unquote(parts.username), unquote(parts.password or "")) if parts.username else None,
            verify=outbound_tls(),
            timeout=TIMEOUT_S,
            trust_env=False,
        )

    async def send(self, events: Sequence[SinkEvent]) -> None:
        """Insert events; see `Sink`."""
        try:
            answer = await self._client.post("/", content=b"\n".join(one.event for one in events))
        except httpx2.HTTPError as error:
            raise SinkFailed(f"{type(error).__name__}: {error}"[:200]) from error
        if answer.status_code != httpx2.codes.OK:
            # Its text quotes the row: it does not reach the log.
            code = answer.headers.get("x-clickhouse-exception-code", "unknown")
            raise SinkFailed(f"ClickHouse answered {answer.status_code}, exception code {code}")

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
