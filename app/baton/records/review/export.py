"""Write decisions as lines of JSON or CSV, a page at a time, so that an export of any length needs little memory."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from baton.engine.call.record import Record
from baton.kernel.http.csv_text import csv_rows
from baton.records.review.bodies import DecisionModel

COLUMNS = tuple(name for name in DecisionModel.model_fields if name != "prompt")
"""The columns of a CSV export. Prompts are shown with one decision only."""


async def as_ndjson(pages: AsyncIterator[Sequence[Record]]) -> AsyncIterator[bytes]:
    """Yield one JSON object a line for each decision."""
    async for page in pages:
        models = (DecisionModel.of(record) for record in page)
        yield b"".join(one.model_dump_json(exclude_none=True).encode() + b"\n" for one in models)


async def as_csv(pages: AsyncIterator[Sequence[Record]]) -> AsyncIterator[bytes]:
    """Yield a header and one row for each decision; lists are joined by a blank, absent values are empty."""
    yield csv_rows([COLUMNS])
    async for page in pages:
        models = (DecisionModel.of(record).model_dump(mode="json") for record in page)
        yield csv_rows([tuple(_cell(one[name]) for name in COLUMNS) for one in models])


def _cell(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return str(value).lower()
        case list():
            return " ".join(f"{one['id']}:{one['effect']}" if isinstance(one, dict) else str(one) for one in value)
        case str():
            return value
        case _:
            return str(value)
