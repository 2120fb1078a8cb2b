"""Pages of long lists: an opaque cursor, at most 200 items, and the next cursor."""

import base64
import binascii
import csv
import io
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from fastapi import Depends, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from baton.kernel.base.errors import Invalid, PreconditionFailed

T = TypeVar("T")
Cursor = Annotated[str, Query(max_length=4_096, description="`next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=200)]
Text = Annotated[str, Query(max_length=1_024)]


class PageQuery(BaseModel):
    """Query parameters of a long list. Subclasses add the filters."""

    cursor: str = Field("", max_length=4_096, description="`next_cursor` of the page before.")
    limit: int = Field(50, ge=1, le=200)

    def filters(self) -> dict[str, Any]:
        """Return the filters by name: all fields except `cursor` and `limit`."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in PageQuery.model_fields}


def after(cursor: str, parts: int = 1) -> tuple[str, ...]:
    """Return the key of the previous page's last item; all "" for the first page. Raise Invalid."""
    if not cursor:
        return ("",) * parts
    try:
        key = msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode()), type=tuple[str, ...])
    except (binascii.Error, msgspec.DecodeError, ValueError):
        key = ()
    if len(key) != parts:
        raise Invalid("cursor", "is not a cursor; pass `next_cursor` of the previous page")
    return key


def page(found: Sequence[T], limit: int, key: Callable[[T], tuple[str, ...]]) -> tuple[Sequence[T], str | None]:
    """Cut a page from `limit` + 1 items. Return it with the next page's cursor, None on the last."""
    if len(found) <= limit:
        return found, None
    items = found[:limit]
    return items, base64.urlsafe_b64encode(msgspec.json.encode(key(items[-1]))).decode()


# `ETag` and `If-Match` prevent lost updates.

IfMatch = Annotated[
    str | None,
    Header(
        alias="If-Match", max_length=200, description='The `ETag` of the replaced version, such as `"3"`; `*` for any.'
    ),
]


def etag(version: int | str) -> str:
    """Return the `ETag` of a version."""
    return f'"{version}"'


def check_if_match(if_match: str | None, current: int | str, *, required: bool = True) -> None:
    """Compare `If-Match` (tags, `*`, None unless `required`) with the stored version. Raise PreconditionFailed."""
    if if_match is None:
        if not required:
            return
        raise PreconditionFailed(f'the header `If-Match` is missing; the current version is `"{current}"`')
    # A compressing proxy makes our tags weak (`W/"3"`). Versions are exact, so weak tags match too.
    tags = [tag.strip().removeprefix("W/").strip('"') for tag in if_match.split(",")]
    if "*" not in tags and str(current) not in tags:
        raise PreconditionFailed(
            f'`If-Match` is `{if_match}`, the current version is `"{current}"`; nothing was changed'
        )


# Tables as CSV, safe to open in a spreadsheet.

JSON_OR_CSV: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {"text/csv": {"schema": {"type": "string"}}},
        "description": "JSON, or CSV if requested by `Accept`.",
    }
}  # the `responses` of endpoints with an optional table
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # starts of formulas. Agents choose the recorded commands.


def _as_table(request: Request) -> bool:
    """Return whether an `Accept` header names CSV and not JSON."""
    kinds = {part.partition(";")[0].strip().lower() for part in request.headers.get("accept", "").split(",")}
    return "text/csv" in kinds and not kinds & {"application/json", "application/*"}


AsTable = Annotated[bool, Depends(_as_table)]  # whether a request asks for CSV


def csv_response(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    """Return a table with its header row as a response."""
    return Response(csv_rows([columns, *rows]), media_type="text/csv")


def csv_rows(rows: Iterable[Sequence[object]]) -> bytes:
    """Return rows as CSV. An apostrophe prefixes cells that look like formulas."""
    text = io.StringIO()
    csv.writer(text).writerows(
        [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in row] for row in rows
    )
    return text.getvalue().encode()


# Exports: whole lists as lines of JSON or CSV, a page at a time, so that any length needs little memory.

ExportFormat = Literal["ndjson", "csv"]
EXPORTED: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "One item a line; a CSV begins with the names of its columns.",
        "content": {
            "application/x-ndjson": {"schema": {"type": "string"}, "example": '{"id":"0198f3…"}\n'},
            "text/csv": {"schema": {"type": "string"}},
        },
    }
}
"""The `responses` of an export."""


def exported(
    name: str, form: ExportFormat, columns: Sequence[str], pages: AsyncIterator[Iterable[BaseModel]]
) -> StreamingResponse:
    """Return all pages of models as one file."""

    async def parts() -> AsyncIterator[bytes]:
        if form == "csv":
            yield csv_rows([columns])
        async for models in pages:
            if form == "csv":
                rows = (one.model_dump(mode="json") for one in models)
                yield csv_rows([_cell(row[column]) for column in columns] for row in rows)
            else:
                yield b"".join(one.model_dump_json(exclude_none=True).encode() + b"\n" for one in models)

    kind = "text/csv" if form == "csv" else "application/x-ndjson"
    download = {"content-disposition": f'attachment; filename="{name}.{form}"'}
    return StreamingResponse(parts(), media_type=kind, headers=download)


def _cell(value: Any) -> str:
    """Return a value of JSON as a cell: a list joined by blanks, an object as JSON, "" for null."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return " ".join(f"{one['id']}:{one['effect']}" if isinstance(one, dict) else str(one) for one in value)
        case dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)
