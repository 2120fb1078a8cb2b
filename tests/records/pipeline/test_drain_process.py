"""A server's message if its drain could not store everything before the stop."""

from types import SimpleNamespace

import pytest

from baton.records.pipeline.drain_process import DrainProcess


@pytest.mark.parametrize("in_time", [True, False])
async def test_a_stop_that_leaves_records_in_the_stream_is_logged(caplog, in_time):
    async def stop(_ask, *, within_s):
        return in_time

    drain = object.__new__(DrainProcess)
    drain._keeper = SimpleNamespace(stop=stop)
    await drain.stop()
    assert [record.levelname for record in caplog.records] == ([] if in_time else ["WARNING"])
