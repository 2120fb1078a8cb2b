import asyncio

from baton.kernel.base import pause
from baton.kernel.base.pause import keep_up, tick


async def test_failed_work_restarts_and_ends_on_request(monkeypatch, caplog):
    monkeypatch.setattr(pause, "AGAIN_S", 0.0)
    begun, going_on = [], asyncio.Event()

    async def work(stop):
        begun.append(1)
        if len(begun) < 3:
            raise OSError("no watches are left")
        going_on.set()
        await stop.wait()

    stop = asyncio.Event()
    keeping = asyncio.create_task(keep_up(work, stop))
    await asyncio.wait_for(going_on.wait(), 60)
    assert (len(begun), keeping.done()) == (3, False)
    assert caplog.text.count("OSError: no watches are left") == 2
    stop.set()
    await asyncio.wait_for(keeping, 60)


async def test_work_without_anything_to_do_is_done_once():
    begun = []

    async def work(_stop):
        begun.append(1)

    await keep_up(work, asyncio.Event())
    assert begun == [1]


async def test_a_server_that_stops_does_not_wait_for_work_that_fell_over(monkeypatch):
    monkeypatch.setattr(pause, "AGAIN_S", 3_600.0)
    stop, fallen = asyncio.Event(), asyncio.Event()

    async def work(_stop):
        fallen.set()
        raise OSError

    keeping = asyncio.create_task(keep_up(work, stop))
    await asyncio.wait_for(fallen.wait(), 60)
    stop.set()
    await asyncio.wait_for(keeping, 60)


async def test_ticks_of_all_periods_end_together_and_at_an_event(monkeypatch):
    loop, ends, event = asyncio.get_running_loop(), set(), asyncio.Event()

    async def wait(_waits, **given):
        ends.add(loop.time() + given["timeout"])

    with monkeypatch.context() as patched:
        patched.setattr(asyncio, "wait", wait)
        for now in (100.5, 101.25, 104.0):
            patched.setattr(loop, "time", lambda now=now: now)
            for seconds in (1, 2, 5):
                await tick(seconds, event)
    assert ends == {101, 102, 105, 106}
    event.set()
    await asyncio.wait_for(tick(3_600, asyncio.Event(), event), 60)
