"""The decisions of an hour or a day by column: each distinct value once, and for each decision its value's number.

An hour has few different values in most columns, so a decision takes about a byte in each, and numpy counts thousands
of decisions in the time a database takes to read one row. A day in one piece costs little more than an hour, because
most costs of a piece do not grow with its decisions.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from baton.people.users import RowScope
from baton.shared.storable import storable

Mask = NDArray[np.bool_]
Codes = NDArray[np.unsignedinteger[Any]]
_ID_BYTES = 16
_WIDTHS: tuple[tuple[int, type[np.unsignedinteger[Any]]], ...] = (
    (2**8, np.uint8),
    (2**16, np.uint16),
    (2**32, np.uint32),
)
_decode = msgspec.msgpack.Decoder(tuple[int, list[Any], bytes]).decode


class _Column(NamedTuple):
    values: list[Any]
    codes: Codes


class Piece:
    """The decisions of an hour or a day in the order of their ids, or a part of them.

    Attributes:
        hour: Its first hour, counted from 1970 in UTC.
        count: How many decisions.
    """

    def __init__(self, hour: int, count: int, columns: Mapping[str, _Column], ids: bytes = b"") -> None:
        self.hour = hour
        self.count = count
        self._columns = columns
        self._ids = ids

    @classmethod
    def of_rows(cls, hour: int, ids: Iterable[str], columns: Mapping[str, Sequence[Any]]) -> "Piece":
        """Make columns from the values of rows sorted by id."""
        packed_ids = bytes.fromhex("".join(ids).replace("-", ""))
        encoded = {name: _encoded(values) for name, values in columns.items()}
        return cls(hour, len(packed_ids) // _ID_BYTES, encoded, packed_ids)

    @classmethod
    def unpack(cls, hour: int, packed: Mapping[str, bytes]) -> "Piece":
        """Read columns written by `pack`; the ids may be skipped."""
        columns, ids, count = {}, b"", 0
        for name, data in packed.items():
            count, values, codes = _decode(data)
            if name == "id":
                ids = codes
            else:
                columns[name] = _Column(values, np.frombuffer(codes, _width(len(values))) if codes else _zeros(count))
        return cls(hour, count, columns, ids)

    def joined(self, later: Sequence["Piece"]) -> "Piece":
        """Return one piece joining this one and its successors, with the same columns."""
        pieces = [self, *later]
        columns = {name: _joined([(one.values(name), one.codes(name)) for one in pieces]) for name in self._columns}
        ids = b"".join(one.ids().tobytes() for one in pieces)
        return Piece(self.hour, sum(one.count for one in pieces), columns, ids)

    def pack(self) -> dict[str, bytes]:
        """Return each column, and the ids as `id`, as bytes."""
        packed = {
            name: (self.count, column.values, column.codes.tobytes() if len(column.values) > 1 else b"")
            for name, column in self._columns.items()
        }
        packed["id"] = (self.count, [], self._ids)
        return {name: msgspec.msgpack.encode(one) for name, one in packed.items()}

    def values(self, name: str) -> list[Any]:
        """Return the different values of a column; `codes` are places in it."""
        return self._columns[name].values

    def codes(self, name: str) -> Codes:
        """Return each decision's value number in a column."""
        return self._columns[name].codes

    def where(self, name: str, meets: Callable[[Any], bool]) -> Mask:
        """Return the decisions with a column's value meeting a condition."""
        column = self._columns[name]
        return np.fromiter(map(meets, column.values), np.bool_, len(column.values))[column.codes]

    def counts(self, name: str, mask: Mask) -> dict[Any, int]:
        """Return the number of calls of a mask by value of a column, without values of no call."""
        column = self._columns[name]
        counts = np.bincount(column.codes[mask], self.calls()[mask], len(column.values)).astype(np.int64).tolist()
        return {value: count for value, count in zip(column.values, counts, strict=True) if count}

    def calls(self) -> NDArray[np.int64]:
        """Return how many calls each decision counts for: more than one if the rate limit refused further ones."""
        return self.numbers("repeats") + 1

    def numbers(self, name: str) -> NDArray[np.int64]:
        """Return the values of an integer column."""
        column = self._columns[name]
        return np.array(column.values, np.int64)[column.codes]

    def ids(self) -> NDArray[np.void]:
        """Return the id of each decision, as 16 bytes."""
        return np.frombuffer(self._ids, "V16")

    def minutes(self) -> NDArray[np.int64]:
        """Return the minute of each decision, counted from 1970."""
        # A UUIDv7 begins with its milliseconds, in 48 bits.
        first_half = np.frombuffer(self._ids, ">u8").reshape(-1, 2)[:, 0]
        return ((first_half >> np.uint64(16)) // np.uint64(60_000)).astype(np.int64)

    def between(self, least: str, below: str, newest: str) -> "Piece":
        """Return the decisions from an id on and before another one, and up to a third one; "" is no bound."""
        places = range(self.count)
        start = bisect_left(places, _bytes_of(least), key=self._id) if least else 0
        stop = bisect_left(places, _bytes_of(below), key=self._id) if below else self.count
        if newest:
            stop = min(stop, bisect_right(places, _bytes_of(newest), key=self._id))
        stop = max(start, stop)
        columns = {name: _Column(one.values, one.codes[start:stop]) for name, one in self._columns.items()}
        return Piece(self.hour, stop - start, columns, self._ids[start * _ID_BYTES : stop * _ID_BYTES])

    def _id(self, place: int) -> bytes:
        return self._ids[place * _ID_BYTES : (place + 1) * _ID_BYTES]


Condition = Callable[[Piece], Mask]
"""Returns which decisions of a piece meet it."""


def is_equal(name: str, value: object) -> Condition:
    """Return the condition that a column equals a value."""
    return lambda piece: piece.where(name, lambda one: bool(one == value))


def in_scope(scope: RowScope) -> list[Condition]:
    """Return the conditions of a scope, as `RowScope.limit` has them for rows."""
    if not scope.user:
        return []
    own = is_equal("user", storable(scope.user))
    if not scope.team:
        return [own]
    team = is_equal("team", storable(scope.team))
    return [lambda piece: own(piece) | team(piece)]


def met(piece: Piece, conditions: Iterable[Condition]) -> Mask:
    """Return the decisions of a piece meeting all conditions."""
    mask = np.ones(piece.count, np.bool_)
    for condition in conditions:
        mask &= condition(piece)
        if not mask.any():
            break
    return mask


class Groups(NamedTuple):
    """Decisions of a piece grouped by equal values in some columns.

    Attributes:
        keys: The common values of each group.
        places: The decisions in the order of their groups, and within a group in the order of their ids.
        starts: Each group's start in `places`.
        counts: How many decisions each has.
    """

    keys: list[tuple[Any, ...]]
    places: NDArray[np.intp]
    starts: NDArray[np.intp]
    counts: NDArray[np.intp]

    def first(self) -> NDArray[np.intp]:
        """Return the first decision of each group."""
        return self.places[self.starts]

    def last(self) -> NDArray[np.intp]:
        """Return the last decision of each group."""
        last: NDArray[np.intp] = self.places[self.starts + self.counts - 1]
        return last

    def sums(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum rows of numbers by group. Each row has a number for each decision of the piece."""
        sums: NDArray[np.int64] = np.add.reduceat(numbers[:, self.places], self.starts, axis=1)
        return sums

    def tallies(self, masks: Sequence[Mask], calls: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many calls of each group are in each mask: one row per group, one column per mask."""
        of = np.empty(self.places.max() + 1, np.intp)
        of[self.places] = np.repeat(np.arange(len(self.starts)), self.counts)
        # By places: a decision outside of the groups has no group.
        within = np.zeros(len(masks[0]), np.bool_)
        within[self.places] = True
        chosen = [np.flatnonzero(mask & within) for mask in masks]
        return np.array([np.bincount(of[one], calls[one], len(self.starts)) for one in chosen]).astype(np.int64).T


def grouped(piece: Piece, names: Sequence[str], mask: Mask) -> Groups:
    """Group the decisions of a nonempty mask by the values of some columns."""
    chosen = np.flatnonzero(mask)
    combined = np.zeros(len(chosen), np.int64)
    for name in names:
        combined = combined * len(piece.values(name)) + piece.codes(name)[chosen]
    # Sixteen bits are sorted in linear time.
    is_small = prod(len(piece.values(name)) for name in names) <= 2**16
    order = np.argsort(combined.astype(np.uint16) if is_small else combined, kind="stable")
    in_order = combined[order]
    starts = np.flatnonzero(np.concatenate(([True], in_order[1:] != in_order[:-1])))
    parts: list[list[Any]] = []
    rest = in_order[starts]
    for name in reversed(names):
        values = piece.values(name)
        rest, codes = np.divmod(rest, len(values))
        parts.append([values[code] for code in codes.tolist()])
    keys = list(zip(*reversed(parts), strict=True)) if parts else [()]
    return Groups(keys, chosen[order], starts, np.diff(starts, append=len(chosen)))


def _encoded(values: Sequence[Any]) -> _Column:
    codes = {value: number for number, value in enumerate(dict.fromkeys(values))}
    coded = np.fromiter(map(codes.__getitem__, values), _width(len(codes)), len(values))
    return _Column(list(codes), coded)


def _joined(columns: Sequence[tuple[list[Any], Codes]]) -> _Column:
    numbers: dict[Any, int] = {}
    places = [[numbers.setdefault(value, len(numbers)) for value in values] for values, _ in columns]
    width = _width(len(numbers))
    coded = [np.array(of_column, width)[codes] for of_column, (_, codes) in zip(places, columns, strict=True)]
    return _Column(list(numbers), np.concatenate(coded))


def _width(values: int) -> type[np.unsignedinteger[Any]]:
    return next(width for most, width in _WIDTHS if values <= most)


def _zeros(count: int) -> Codes:
    return np.zeros(count, np.uint8)


def _bytes_of(key: str) -> bytes:
    return bytes.fromhex(key.replace("-", ""))
