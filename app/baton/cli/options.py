"""Options shared by many commands, and the parser of time spans."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal
from urllib.parse import quote

import typer

from baton.local.server import ApiError
from baton.shared.time_span import time_span

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a script.")]
Reason = Annotated[str, typer.Option(help="The reason, for the audit log.")]
Everybody = Annotated[
    bool,
    typer.Option("--all/--mine", help="Everybody's, as in the console, or only yours; on a server without tokens."),
]
Limit = Annotated[int, typer.Option(min=1, max=200, help="Show at most this many.")]


class UsageError(ApiError):
    """The command cannot be carried out as it was typed; the exit status is 2."""


def path_of(*parts: str | int) -> str:
    """Return a path of the API, such as `/users/ada`. A name in it may have slashes. Raise UsageError for an empty one."""
    if "" in parts:
        raise UsageError("a name or an id is empty; give one")
    return "".join(f"/{quote(str(one), safe='')}" for one in parts)


def span_of(unit: timedelta) -> Callable[[str], timedelta]:
    """Return a parser of time spans such as `30m`. It accepts a bare number of a unit as well."""

    def parse(text: str) -> timedelta:
        return int(text) * unit if re.fullmatch(r"[0-9]{1,9}", text) else _span(text)

    return parse


def _span(text: str) -> timedelta:
    try:
        return time_span(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def from_now(text: str) -> str:
    """Return the moment a time span from now, as RFC 3339; "" for ""."""
    return (datetime.now(UTC) + _span(text)).isoformat() if text else ""


def past(text: str) -> str:
    """Return an RFC 3339 timestamp from a past time span or a timestamp; "" for ""."""
    if not text:
        return ""
    try:
        return (datetime.now(UTC) - time_span(text)).isoformat()
    except (ValueError, OverflowError):
        pass
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"`{text}` is neither a time span such as `30m`, `12h`, `7d`, nor a moment such as `2026-05-01`"
        ) from None
    return (moment if moment.tzinfo else moment.astimezone()).isoformat()


Expires = Annotated[
    str,
    typer.Option(parser=from_now, metavar="SPAN", help="When it ends by itself, such as 30m, 8h, 90d. Default: never."),
]
Since = Annotated[
    str, typer.Option(parser=past, metavar="SPAN", help="How far back: 30m, 12h, 7d, or a moment such as 2026-05-01.")
]
Until = Annotated[
    str, typer.Option(parser=past, metavar="SPAN", help="The end of the time: 30m, 12h, 7d ago, or a moment.")
]
ExportFormat = Annotated[Literal["ndjson", "csv"], typer.Option("--format", help="Format of an export.")]
