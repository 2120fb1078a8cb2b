"""The rows of a large table tried by `make test`; `make test-all` tries every row."""

from collections.abc import Iterable
from typing import Any

import pytest


def one_in(step: int, rows: Iterable[Any], why: str) -> list[Any]:
    """Return the rows as parameters of a test; all but each `step`-th, beginning with the first, are slow.

    `why` says what makes a row slow. A row of several values stays one.
    """
    slow = pytest.mark.slow(why)
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), marks=() if number % step == 0 else slow)
        for number, row in enumerate(rows)
    ]
