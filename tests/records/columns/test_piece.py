"""Decisions by column, without a database."""

import random
from collections import Counter
from uuid import UUID

import numpy as np

from baton.records.columns.piece import Piece, grouped
from tests.support.cases import every


def piece(**columns):
    count = len(next(iter(columns.values())))
    return Piece.of_rows(0, [str(UUID(int=number)) for number in range(count)], columns)


@every("different", [3, 200, 300])  # only 300 by 300 pairs need more than sixteen bits
def test_decisions_are_grouped_by_several_columns_however_many_values_these_have(different):
    choice = random.Random(different)  # noqa: S311 - no secret
    users = [*range(different), *choice.choices(range(different), k=5_000)]
    sessions = [*range(different), *choice.choices(range(different), k=5_000)]
    found = grouped(piece(user=users, session=sessions), ("user", "session"), np.ones(len(users), np.bool_))
    counts = Counter(zip(users, sessions, strict=True))
    assert len(found.keys) == len(counts)
    assert dict(zip(found.keys, found.counts.tolist(), strict=True)) == counts
