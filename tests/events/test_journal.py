"""The journal of entries that wait: what a dead process leaves, and what is left of a damaged one."""

import random
import shutil
from itertools import pairwise

import pytest

from baton.events import journal
from baton.events.journal import _COUNTERS, _FRAME, Journal, crc32


def left(folder, copy):
    # A copy is nobody's: the process of the folder's only journal seems dead.
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    return Journal(copy).open()


def test_dead_process_leaves_what_waits_in_order_however_the_ring_wraps_or_fills(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "SIZE", 200)
    one, chance, waiting, fills = Journal(tmp_path / "journal"), random.Random(7), [], []  # noqa: S311
    one.open()
    for number in range(300):
        if chance.random() < 0.5:
            waiting.append(b"%d" % number * chance.randint(1, 12))
            one.add(waiting[-1])
        else:
            count = chance.randint(0, min(5, len(waiting)))
            one.remove(waiting[:count])
            del waiting[:count]
        assert left(tmp_path / "journal", tmp_path / "copy") == waiting[: one.kept]
        fills.append(one.kept < len(waiting))
    assert {(True, False), (False, True)} <= set(pairwise(fills))
    one.remove(waiting)
    one.close()
    assert [path.name for path in (tmp_path / "journal").iterdir()] == ["lock"]


def framed(content):
    return _FRAME.pack(len(content), crc32(content)) + content


ONE, TWO = framed(b"one"), framed(b"two").replace(b"w", b"W")
DAMAGED = [
    (b"", 0), (b"\0" * 9, 0), (_COUNTERS.pack(0, 0), 0), (_COUNTERS.pack(0, 0) + ONE, 0),
    (_COUNTERS.pack(2**64 - 1, 0) + ONE, 0), (_COUNTERS.pack(0, 2**64 - 1) + ONE, 1),
    (_COUNTERS.pack(0, 40) + ONE + b"\0" * 40, 1), (_COUNTERS.pack(0, 40) + ONE + TWO + b"\0" * 20, 1),
    (_COUNTERS.pack(0, 40) + ONE + _FRAME.pack(2**32 - 1, 7) + b"\0" * 20, 1),
]  # fmt: skip


def test_damaged_journals_are_read_up_to_the_damage_and_hold_up_no_start(tmp_path):
    for number, (content, _) in enumerate(DAMAGED):
        (tmp_path / f"{number}.journal").write_bytes(content)
    assert Journal(tmp_path).open() == [b"one"] * sum(found for _, found in DAMAGED)
    assert len(list(tmp_path.glob("*.journal"))) == 1


@pytest.mark.parametrize("fault", ["no folder", "disk full"])
def test_without_a_journal_entries_are_in_memory_only_and_it_is_said(tmp_path, monkeypatch, caplog, fault):
    folder = tmp_path / "journal"
    if fault == "no folder":
        folder.write_text("a file")
    else:
        monkeypatch.setattr(journal, "SIZE", 1 << 60)
        folder.mkdir()
        (folder / "1-1.journal").write_bytes(_COUNTERS.pack(0, len(ONE)) + ONE)
    one, left_before = Journal(folder), [b"one"] * (fault == "disk full")
    assert one.open() == left_before
    one.add(b"x")
    one.remove([*left_before, b"x"])
    one.close()
    assert "its journal cannot be used" in caplog.text
    assert [path.name for path in folder.glob("*.journal")] == ["1-1.journal"] * len(left_before)
