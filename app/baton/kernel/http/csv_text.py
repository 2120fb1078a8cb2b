"""Tables as CSV, safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Annotated, Any

from fastapi import Depends, Request, Response

JSON_OR_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "JSON, or CSV where `Accept` asks."}
}
"""The `responses` of an endpoint that answers with a table where it is asked to."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would take for a formula. Agents choose their commands."""


def wants_csv(accept: str) -> bool:
    """Return whether an `Accept` header asks for CSV rather than JSON: it names the one and not the other."""
    kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
    return "text/csv" in kinds and not kinds & {"application/json", "application/*"}


def _as_table(request: Request) -> bool:
    return wants_csv(request.headers.get("accept", ""))


AsTable = Annotated[bool, Depends(_as_table)]
"""Whether a request asks for CSV."""


def as_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Return a table with the names of its columns."""
    return csv_rows([columns]) + csv_rows(rows)


def csv_response(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> Response:
    """Return a table as an answer."""
    return Response(as_csv(columns, rows), media_type="text/csv")


def csv_rows(rows: Iterable[Sequence[object]]) -> bytes:
    """Return rows; texts that a spreadsheet would calculate get an apostrophe in front."""
    text = io.StringIO()
    csv.writer(text).writerows([safe_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return text.getvalue().encode()


def safe_cell(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(_FORMULA) else text
