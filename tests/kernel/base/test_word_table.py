"""The table of word vectors: read in place from the wheel, never downloaded, reported if missing."""

import shutil
import socket
from pathlib import Path

import numpy as np
import pytest
import wordllama
from tokenizers import Tokenizer

from baton.kernel.base.word_table import WordTable, WordTableMissing, shared

FOLDER = Path(wordllama.__file__).parent


def test_the_word_table_is_memory_mapped_and_offline(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("nothing may be downloaded")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    table = WordTable(FOLDER)
    rows, base = table._rows, table._rows
    while base is not None and not isinstance(base, np.memmap):
        base = base.base
    assert isinstance(base, np.memmap)
    assert (rows.dtype, rows.shape) == (np.float16, (32_000, 256))


def test_the_tokens_are_those_of_the_wheel_s_tokenizer():
    theirs = Tokenizer.from_file(str(FOLDER / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    for word in {*Path(__file__).read_text().split(), "naïve", "表示", "🦀🦀", "\x01"}:
        assert shared()._tokens(f"▁{word}") == theirs.encode(word, add_special_tokens=False).ids


def test_synonyms_have_close_vectors():
    table = shared()
    test, like, other = map(table.embed, ("write unit tests", "add test coverage", "bake a cake"))
    assert test @ like > test @ other
    assert float(np.linalg.norm(test)) == pytest.approx(1, abs=1e-5)
    assert not table.embed("").any()


@pytest.mark.parametrize("broken", ["nothing", "tokenizer", "weights"])
def test_a_missing_word_table_is_reported(tmp_path, broken):
    if broken != "nothing":
        for part in ("tokenizers", "weights"):
            shutil.copytree(FOLDER / part, tmp_path / part)
    if broken == "tokenizer":
        (tmp_path / "tokenizers" / "l2_supercat_tokenizer_config.json").write_text("{")
    if broken == "weights":
        (tmp_path / "weights" / "l2_supercat_256.safetensors").write_bytes(b"\x00" * 64)
    with pytest.raises(WordTableMissing):
        WordTable(tmp_path)
