"""The word vectors of the `wordllama` wheel, without its code: memory-mapped, so that processes share its 16 MB."""

import importlib.util
import json
import math
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

DIMENSIONS = 256
REMEMBERED = 10_000  # maximum number of cached word vectors: about eleven megabytes
LONGEST_WORD = 40
_PACKAGE = "wordllama"
_TABLE = "weights/l2_supercat_256.safetensors"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"
_TENSOR = "embedding.weight"


class WordTableMissing(Exception):
    """The table is not installed or has another format. The message names the file."""


class WordTable:
    """Converts strings to vectors: the mean of their tokens' rows."""

    def __init__(self, folder: Path) -> None:
        """Map the table of an installed wheel. Raise WordTableMissing if a file is missing or unreadable."""
        try:
            self._tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
            self._rows = _map(folder / _TABLE)
        except Exception as error:  # the tokenizer's library raises nothing narrower
            raise WordTableMissing(f"`{folder}`: {error}") from error
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._known: dict[str, NDArray[np.float32]] = {}

    def embed(self, text: str) -> NDArray[np.float32]:
        """Return a string's vector: `DIMENSIONS` numbers of length 1, or zeros without a token."""
        known = self._known
        sums = [found if (found := known.get(word)) is not None else self._sum(word) for word in text.split()]
        if not sums:
            return np.zeros(DIMENSIONS, dtype=np.float32)
        total: NDArray[np.float32] = np.add.reduce(sums, axis=0)
        length = math.sqrt(float(np.dot(total, total)))
        return total / np.float32(length) if length else total

    def _sum(self, word: str) -> NDArray[np.float32]:
        """Add up the rows of a word's tokens. No token of this vocabulary spans a space, so words are independent."""
        ids = self._tokenizer.encode(word, add_special_tokens=False).ids
        total: NDArray[np.float32] = self._rows[ids].sum(axis=0, dtype=np.float32)
        if len(word) <= LONGEST_WORD:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[word] = total
        return total


@cache
def shared() -> WordTable:
    """Return the process's table, loaded at the first call. Raise WordTableMissing if it is not installed."""
    return find_table()


def find_table() -> WordTable:
    """Load the table of the installed wheel. Raise WordTableMissing if the wheel is not installed."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or spec.origin is None:
        raise WordTableMissing(f"the package `{_PACKAGE}` is not installed")
    return WordTable(Path(spec.origin).parent)


def _map(path: Path) -> NDArray[np.float16]:
    """Map the only tensor of a safetensors file: header length (8 bytes), header, rows."""
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(min(length, 1 << 20)))[_TENSOR]
    if header["dtype"] != "F16" or header["shape"][1] != DIMENSIONS:
        raise WordTableMissing(f"`{path}` holds {header['dtype']} rows of {header['shape'][1]}")
    start = 8 + length + header["data_offsets"][0]
    return np.asarray(np.memmap(path, dtype=np.float16, mode="r", offset=start, shape=tuple(header["shape"])))
