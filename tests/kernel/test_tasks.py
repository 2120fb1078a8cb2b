"""Periodic tasks: of each server, or of one server for all."""

import asyncio
from unittest.mock import AsyncMock

import pytest

from baton.kernel import kernel
from baton.kernel.base.pause import end_with
from baton.kernel.base.sql import DatabaseUnavailable
from baton.kernel.kernel import PeriodicTask


async def test_of_several_servers_one_does_a_task_in_its_period(database, monkeypatch):
    monkeypatch.setattr(kernel, "LOOK_S", 0.001)
    looks, done, stop = [], [], asyncio.Event()
    take = kernel.announce.take_turn

    async def noted(*arguments):
        looks.append(await take(*arguments))
        return looks[-1]

    monkeypatch.setattr(kernel.announce, "take_turn", noted)

    def work(number):
        return lambda _: done.append(number)

    tasks = [PeriodicTask("purge", 3_600, work(number), one_server=True) for number in range(3)]
    running = [asyncio.create_task(one.repeat(database, "default", stop)) for one in tasks]
    while len(looks) < 9:  # noqa: ASYNC110 - nothing tells of a look
        await asyncio.sleep(0.001)
    stop.set()
    await asyncio.gather(*running)
    assert len(done) == 1


async def test_the_next_period_belongs_to_any_server(database):
    done, stop = [], asyncio.Event()

    def work(_):
        done.append(1)
        if len(done) == 2:
            stop.set()

    tasks = [PeriodicTask("purge", 0.01, work, one_server=True) for _ in range(2)]
    await asyncio.gather(*(one.repeat(database, "default", stop) for one in tasks))
    assert len(done) >= 2


@pytest.mark.parametrize(("error", "logged"), [(RuntimeError("broken"), 1), (DatabaseUnavailable("away"), 0)])
async def test_a_task_continues_after_a_failure_and_logs_it_except_outages(database, caplog, error, logged):
    done, stop = [], asyncio.Event()

    async def work(_):
        done.append(1)
        if len(done) == 1:
            raise error
        stop.set()

    await PeriodicTask("flush", 0.01, work).repeat(database, "default", stop)
    assert (len(done), caplog.text.count("`flush` failed")) == (2, logged)


@pytest.mark.parametrize(("at_stop", "times"), [(True, 2), (False, 1)])
async def test_work_at_the_stop_is_done_once_more(database, at_stop, times):
    done, stop = [], asyncio.Event()

    async def work(_):
        done.append(1)

    running = asyncio.create_task(PeriodicTask("flush", 3_600, work, at_stop=at_stop).repeat(database, "default", stop))
    while not done:  # noqa: ASYNC110
        await asyncio.sleep(0)
    await asyncio.sleep(0)  # let it begin its pause
    stop.set()
    await running
    assert len(done) == times


async def test_an_event_starts_the_next_period_at_once(database):
    done, stop, wake = [], asyncio.Event(), asyncio.Event()

    def work(_):
        done.append(1)
        (stop if len(done) == 2 else wake).set()

    await PeriodicTask("look", 3_600, work, wake=wake).repeat(database, "default", stop)
    assert len(done) == 2


async def test_a_stop_cancels_work_that_hangs_and_only_that():
    stop = asyncio.Event()
    asyncio.get_running_loop().call_soon(stop.set)
    await end_with(asyncio.Event().wait, stop)
    with pytest.raises(ZeroDivisionError):
        await end_with(AsyncMock(side_effect=ZeroDivisionError), asyncio.Event())
