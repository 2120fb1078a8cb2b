"""Write decisions as lines of JSON or CSV, a page at a time, so that an export of any length needs little memory."""

import csv
import io
from collections.abc import AsyncIterator, Sequence
from typing import Any

from baton.engine.call.record import Record
from baton.records.review.bodies import DecisionModel

COLUMNS = tuple(name for name in DecisionModel.model_fields if name != "prompt")
"""The columns of a CSV export. Prompts are shown with one decision only."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""How a cell begins that a spreadsheet would take for a formula. Agents choose their commands."""


async def as_ndjson(pages: AsyncIterator[Sequence[Record]]) -> AsyncIterator[bytes]:
    """Yield one JSON object a line for each decision."""
    async for page in pages:
        models = (DecisionModel.of(record) for record in page)
        yield b"".join(one.model_dump_json(exclude_none=True).encode() + b"\n" for one in models)


async def as_csv(pages: AsyncIterator[Sequence[Record]]) -> AsyncIterator[bytes]:
    """Yield a header and one row for each decision; lists are joined by a blank, absent values are empty."""
    yield _rows([COLUMNS])
    async for page in pages:
        models = (DecisionModel.of(record).model_dump(mode="json") for record in page)
        yield _rows([tuple(_cell(one[name]) for name in COLUMNS) for one in models])


def _rows(rows: Sequence[Sequence[str]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return _safe(
                " ".join(f"{one['id']}:{one['effect']}" if isinstance(one, dict) else str(one) for one in value)
            )
        case str():
            return _safe(value)
        case _:
            return str(value)


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text
