"""Records on disk while the database is unavailable: bounded, in order, whole after a crash."""

import pytest

from baton.records.pipeline.spool import Spool, SpoolFull


@pytest.fixture
def spool(tmp_path):
    one = Spool(tmp_path / "spool", 10_000)
    yield one
    one.close()


def emptied(spool, most=3):
    found = []
    while contents := spool.read(most):
        spool.remove()
        found += contents
    return found


def test_records_come_out_as_they_went_in_and_leave_no_file(spool, tmp_path, monkeypatch):
    monkeypatch.setattr("baton.records.pipeline.spool.LARGEST_FILE", 20)
    for number in range(10):
        spool.append([b"%d" % number, b"", b"x" * number])
    assert len(list((tmp_path / "spool").glob("*.records"))) > 2
    assert emptied(spool) == [part for number in range(10) for part in (b"%d" % number, b"", b"x" * number)]
    assert spool.bytes == 0
    assert list((tmp_path / "spool").glob("*.records")) == []
    spool.append([b"again"])
    assert emptied(spool) == [b"again"]


def test_what_was_read_comes_again_until_it_is_removed(spool):
    spool.append([b"a", b"b", b"c"])
    assert spool.read(2) == spool.read(2) == [b"a", b"b"]
    spool.remove()
    spool.append([b"d"])
    assert spool.read(9) == [b"c", b"d"]


def test_a_full_spool_rejects_a_whole_batch(spool):
    spool.append([b"x" * 9_000])
    with pytest.raises(SpoolFull, match="0 of 0 MB"):
        spool.append([b"y", b"z" * 1_000])
    spool.append([b"y"])
    assert emptied(spool) == [b"x" * 9_000, b"y"]


@pytest.mark.parametrize("cut", [1, 3, 5, 7])
def test_a_process_that_is_killed_leaves_what_it_had_written(spool, tmp_path, cut):
    spool.append([b"first", b"torn"])
    spool.close()
    [file] = (tmp_path / "spool").glob("*.records")
    file.write_bytes(file.read_bytes()[:-cut])
    after = Spool(tmp_path / "spool", 10_000)
    assert after.open()
    after.append([b"new"])
    assert emptied(after) == [b"first", b"new"]
    assert after.bytes == 0
    after.close()


def test_one_process_at_a_time_has_it(spool, tmp_path):
    spool.append([b"mine"])
    other = Spool(tmp_path / "spool", 10_000)
    assert not other.open()
    with pytest.raises(SpoolFull, match="another process"):
        other.append([b"theirs"])
    spool.close()
    assert other.open()
    assert emptied(other) == [b"mine"]
    other.close()


def test_a_disk_that_takes_nothing_is_full(tmp_path):
    (tmp_path / "file").write_text("")
    spool = Spool(tmp_path / "file" / "spool", 10_000)
    with pytest.raises(SpoolFull):
        spool.append([b"x"])
