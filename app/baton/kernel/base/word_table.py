"""The word vectors of the `wordllama` wheel, without its code: memory-mapped, so that processes share its 16 MB.

Its tokens are found without the tokenizer's library, which would take 16 MB more in each process.
"""

import importlib.util
import json
import math
from functools import cache
from itertools import pairwise
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

DIMENSIONS = 256
REMEMBERED = 10_000  # maximum number of cached word vectors: about eleven megabytes
LONGEST_WORD = 40  # longer words are not cached, and read in pieces: merging takes quadratic time
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
            model = msgspec.json.decode((folder / _TOKENIZER).read_bytes(), type=dict[str, msgspec.Raw])["model"]
            vocabulary = msgspec.json.decode(model, type=dict[str, msgspec.Raw])["vocab"]
            self._ids = msgspec.json.decode(vocabulary, type=dict[str, int])
            self._rows = _map(folder / _TABLE)
        except (OSError, ValueError, LookupError) as error:
            raise WordTableMissing(f"`{folder}`: {error}") from error
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
        spelled = f"\N{LOWER ONE EIGHTH BLOCK}{word}"
        starts = range(0, len(spelled), LONGEST_WORD)
        ids = [number for at in starts for number in self._tokens(spelled[at : at + LONGEST_WORD])]
        total: NDArray[np.float32] = self._rows[ids].sum(axis=0, dtype=np.float32)
        if len(word) <= LONGEST_WORD:
            if len(self._known) >= REMEMBERED:
                self._known.clear()
            self._known[word] = total
        return total

    def _tokens(self, piece: str) -> list[int]:
        """Merge neighbours, the token with the lowest number first. An unknown letter is a token for each byte."""
        number, none, parts = self._ids.get, len(self._ids), list[str]()
        for letter in piece:
            parts += [letter] if number(letter) else [f"<0x{byte:02X}>" for byte in letter.encode(errors="replace")]
        merged = [number(left + right, none) for left, right in pairwise(parts)]
        while merged and (first := min(merged)) != none:
            at = merged.index(first)
            parts[at : at + 2] = [parts[at] + parts[at + 1]]
            around = parts[max(at - 1, 0) : at + 2]
            merged[max(at - 1, 0) : at + 2] = [number(left + right, none) for left, right in pairwise(around)]
        return [self._ids[part] for part in parts]


@cache
def shared() -> WordTable:
    """Return the process's table, loaded at the first call. Raise WordTableMissing if the wheel is not installed."""
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
