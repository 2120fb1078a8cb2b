"""Pages of long lists: an opaque cursor in, at most 200 items and the next cursor out."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import Query
from pydantic import BaseModel, Field

from baton.kernel.base.errors import Invalid

T = TypeVar("T")
Cursor = Annotated[str, Query(max_length=4_096, description="`next_cursor` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=200)]
Text = Annotated[str, Query(max_length=1_024)]


class PageQuery(BaseModel):
    """The query parameters of a long list: its filters stand in a class of their own, under these two.

    One model per list, because a row of ten parameters hides which of them are filters.
    """

    cursor: str = Field("", max_length=4_096, description="`next_cursor` of the page before.")
    limit: int = Field(50, ge=1, le=200)

    def filters(self) -> dict[str, Any]:
        """Return the filters by name: everything but `cursor` and `limit`."""
        return {name: getattr(self, name) for name in type(self).model_fields if name not in PageQuery.model_fields}


def after(cursor: str, parts: int = 1) -> tuple[str, ...]:
    """Return the key of the last item of the page before, of so many parts; all "" for the first page.

    Raises:
        Invalid: The cursor is not one of ours.
    """
    if not cursor:
        return ("",) * parts
    try:
        key = msgspec.json.decode(base64.urlsafe_b64decode(cursor.encode()), type=tuple[str, ...])
    except (binascii.Error, msgspec.DecodeError, ValueError):
        key = ()
    if len(key) != parts:
        raise Invalid("cursor", "is not a cursor; take `next_cursor` of the page before")
    return key


def page(found: Sequence[T], limit: int, key: Callable[[T], tuple[str, ...]]) -> tuple[Sequence[T], str | None]:
    """Cut a page out of `limit` + 1 items, and give the cursor of the next page, None on the last."""
    if len(found) <= limit:
        return found, None
    items = found[:limit]
    return items, base64.urlsafe_b64encode(msgspec.json.encode(key(items[-1]))).decode()
