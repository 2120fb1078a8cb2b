"""Texts as vectors, by the static word table that routing uses too; it is read when the first text is."""

import asyncio
import logging

import numpy as np
from numpy.typing import NDArray

from baton.kernel.base import word_table

log = logging.getLogger(__name__)

Vector = NDArray[np.float32]
LONGEST_EMBEDDED = 2_000
"""Characters of a text that its vector is made of."""


class Meanings:
    """Makes vectors of texts. Without the table there are none, and texts are compared by their words alone."""

    def __init__(self) -> None:
        self._table: word_table.WordTable | None = None
        self._reading: asyncio.Task[None] | None = None

    @property
    def missing(self) -> bool:
        """Return whether the table was looked for and is not installed."""
        return self._table is None and self._reading is not None and self._reading.done()

    async def vector(self, text: str) -> Vector | None:
        """Return a text's vector of length 1, all zeros if no word of it is known; None without the table."""
        if self._table is None:
            if self._reading is None:
                self._reading = asyncio.create_task(self._read())
            await asyncio.shield(self._reading)
        return None if self._table is None else self._table.embed(text[:LONGEST_EMBEDDED])

    async def _read(self) -> None:
        try:
            self._table = await asyncio.to_thread(word_table.shared)
        except word_table.WordTableMissing as error:
            log.warning("patterns are found by their words alone: %s", error)


def packed(vector: Vector | None) -> bytes | None:
    """Return a vector as it is stored: 512 bytes of float16."""
    return None if vector is None else vector.astype(np.float16).tobytes()


def unpacked(stored: bytes | None) -> Vector:
    """Return a stored vector, all zeros where there is none."""
    if stored is None or len(stored) != word_table.DIMENSIONS * 2:
        return np.zeros(word_table.DIMENSIONS, dtype=np.float32)
    return np.frombuffer(stored, dtype=np.float16).astype(np.float32)
