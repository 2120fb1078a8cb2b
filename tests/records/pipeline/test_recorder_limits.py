"""What of a record waits, and how many leave at once."""

import pytest

from baton.engine.call.record import LONGEST_PROJECT, MOST_PATHS
from baton.engine.text.masking import WINDOW
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.records.pipeline.recorder import LARGEST_BATCH, Recorder, masked
from tests.support.records import record

SECRET = "sk-" + "a1" * 12


@pytest.fixture
def recorder():
    """A recorder without a Redis, which has not begun."""
    database = Database(Settings(database_url="sqlite:///:memory:"))
    return Recorder(Settings(records_queue=5), "redis://127.0.0.1:1", database)


def waiting(recorder):
    recorder._build()
    return [entry[0] for entry in recorder._queue]


def test_a_record_waits_with_no_more_than_masking_looks_at(recorder):
    recorder.put(record(command="x" * (2 * WINDOW), paths=("y" * (2 * WINDOW),) * (MOST_PATHS + 1)))
    (kept,) = waiting(recorder)
    assert len(kept.command) == WINDOW
    assert [len(path) for path in kept.paths] == [2 * LONGEST_PROJECT] * MOST_PATHS


@pytest.mark.parametrize("at", [LONGEST_PROJECT - 8, LONGEST_PROJECT - 26, 0])
def test_a_secret_on_a_path_s_border_is_masked_though_the_path_was_cut_before(recorder, at):
    path = "/" * at + SECRET + "/" + "z" * (2 * WINDOW)
    recorder.put(record(paths=(path,)))
    (kept,) = waiting(recorder)
    assert masked(kept).paths == masked(record(paths=(path,))).paths
    assert SECRET[:8] not in str(masked(kept).paths)


@pytest.mark.parametrize(
    ("sizes", "leave"),
    [
        ([1, 1, 1], 3),
        ([LARGEST_BATCH // 2, LARGEST_BATCH // 2], 2),
        ([LARGEST_BATCH // 2, LARGEST_BATCH, 1], 1),
        ([LARGEST_BATCH * 2, 1], 1),
    ],
)
def test_records_leave_in_order_and_no_more_at_once_than_masking_takes_milliseconds_for(recorder, sizes, leave):
    made = [record(command="x" * size, session_id="", tool="") for size in sizes]
    recorder._queue.extend((one, size) for one, size in zip(made, sizes, strict=True))
    assert [entry[0] for entry in recorder._next(10)] == made[:leave]
    assert len(recorder._next(1)) == 1


async def test_what_does_not_fit_is_counted_one_by_one(recorder):
    for _ in range(7):
        recorder.put(record())
    assert await recorder.stats() == {
        "queued": 5, "dropped": 2, "shed": 0, "appended": 0, "waiting": 0, "set_aside": 0, "spool_mb": 0, "spool_most_mb": 0,
    }  # fmt: skip
