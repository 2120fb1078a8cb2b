"""Faults: a killed runner, lost answers, an unavailable server, a truncated spool. Nothing is lost or doubled."""

import asyncio
import json
import os
import signal

import psutil
import pytest

from baton.runner.home import Home, RunnerHomeInUse
from baton.runner.wire import RequestRefused
from tests.runner.conftest import ended, happens
from tests.support.processes import is_gone


@pytest.mark.slow("waits for calls to be tried again")
async def test_events_are_counted_once_when_answers_get_lost(server, running):
    server.forgotten = 4
    job = server.give("count 40\nsleep 0.3\ncount 40\nsleep 0.3\nsay end")
    async with running():
        finish = await ended(server, job)
        await happens(lambda: not server.forgotten)
    numbers = "".join(f"{n} " for n in range(40))
    assert "".join(server.texts(job)) == finish["output"] == f"{numbers}{numbers}end"
    assert len(server.sent) > len(set(server.sent))


async def test_unaccepted_events_are_sent_again(server, running):
    server.short = 3
    job = server.give("count 100\nsay end")
    async with running():
        finish = await ended(server, job)
    assert "".join(server.texts(job)) == finish["output"]
    assert not server.short


async def test_a_server_without_the_job_ends_it(server, running, tmp_path):
    pid, go_on = tmp_path / "pid", tmp_path / "go-on"
    job = server.give(f"pid {pid}\nsay begun\nawait {go_on}\nsay more\nsleep 60")
    async with running():
        await happens(lambda: server.texts(job))
        server.events[job].clear()
        go_on.touch()
        await happens(lambda: is_gone(int(pid.read_text())))
        assert (await ended(server, job))["error"]["code"] == "events_refused"


async def test_a_job_continues_while_the_server_is_unavailable(server, running, tmp_path):
    go_on, spool = tmp_path / "go-on", tmp_path / "home" / "spool"
    job = server.give(f"say begun\nawait {go_on}\ncount 50")
    async with running() as runner:
        await happens(lambda: server.texts(job))
        server.away = True
        await happens(lambda: "retrying" in runner.told.getvalue())
        go_on.touch()
        await happens(lambda: b'"49 "' in (spool / f"{job}.1.jsonl").read_bytes())
        assert server.texts(job) == ["begun"]
        server.away = False
        finish = await ended(server, job)
    assert "".join(server.texts(job)) == finish["output"] == "begun" + "".join(f"{n} " for n in range(50))


@pytest.mark.matrix(4)
@pytest.mark.parametrize(
    "answer",
    [
        (200, b"<html>log in</html>"),
        (302, b""),
        (404, b"<html>no such site</html>"),
        (401, b'{"code": "unauthenticated", "detail": "the token has expired"}'),
    ],
    ids=["page", "redirect", "proxy", "token"],
)
async def test_a_job_survives_a_foreign_server_s_answers(server, running, answer, tmp_path):
    go_on = tmp_path / "go-on"
    job = server.give(f"say begun\nawait {go_on}\ncount 20")
    async with running() as runner:
        await happens(lambda: server.texts(job))
        server.strange = answer
        go_on.touch()
        await happens(lambda: "retrying" in runner.told.getvalue())
        server.strange = None
        finish = await ended(server, job)
    assert "".join(server.texts(job)) == finish["output"] == "begun" + "".join(f"{n} " for n in range(20))


@pytest.mark.slow("waits for a lease to end")
async def test_events_of_a_killed_runner_arrive_and_its_agents_end(server, laptop, tmp_path):
    pid, child, go_on = (tmp_path / name for name in ("pid", "child", "go-on"))
    job = server.give(f"pid {pid}\nignore\nchild {child}\nsay begun\nawait {go_on}\ncount 20\nsleep 60")
    first = laptop()
    await happens(lambda: server.texts(job))
    server.away = True
    go_on.touch()
    spool = tmp_path / "state" / "baton" / "runner" / "spool" / f"{job}.1.jsonl"
    await happens(lambda: b'"19 "' in spool.read_bytes())
    first.send_signal(signal.SIGKILL)
    first.wait()
    await happens(lambda: is_gone(int(pid.read_text())) and is_gone(int(child.read_text())))
    with spool.open("ab") as file:
        file.write(b'{"seq":99,"type":"session.upd')
    server.away = False
    second = laptop()
    await happens(lambda: len({poll["boot_id"] for poll in server.polls}) == 2)
    assert "".join(server.texts(job)) == "begun" + "".join(f"{n} " for n in range(20))
    assert not spool.exists()
    assert server.polls[-1]["active"] == []
    second.send_signal(signal.SIGTERM)
    assert await asyncio.to_thread(second.wait, 60) == 0


async def test_the_next_runner_reports_a_stored_end(server, running, tmp_path):
    go_on = tmp_path / "go-on"
    job = server.give(f"say begun\nawait {go_on}\nsay the end")
    async with running() as runner:
        await happens(lambda: server.texts(job))
        server.away = True
        go_on.touch()
        spool = tmp_path / "home" / "spool" / f"{job}.1.jsonl"
        await happens(lambda: b'"finish"' in spool.read_bytes())
        for task in runner._running.values():
            task.cancel()
    assert spool.exists()
    server.away = False
    async with running():
        finish = await ended(server, job)
    assert finish["output"] == "".join(server.texts(job)) == "begunthe end"


@pytest.mark.slow("starts runners")
async def test_a_foreign_or_invalid_spool_is_dropped(server, running, tmp_path):
    folder = tmp_path / "home" / "spool"
    folder.mkdir(parents=True)
    lines = [{"job": "job_1", "attempt": 1, "token": "old"}, {"seq": 1, "type": "session.update", "body": {}}]
    (folder / "job_1.1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "broken.1.jsonl").write_text("nonsense\n")
    async with running() as runner:
        await happens(lambda: server.polls)
        assert "is no longer this runner's: " in runner.told.getvalue()
    assert not list(folder.iterdir())


async def test_a_refused_token_forgets_nothing_that_an_earlier_run_left(server, running, tmp_path):
    folder = tmp_path / "home" / "spool"
    folder.mkdir(parents=True)
    lines = [{"job": "job_1", "attempt": 1, "token": "old"}, {"seq": 1, "type": "session.update", "body": {}}]
    (folder / "job_1.1.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    server.strange = (401, b'{"code": "unauthenticated", "detail": "who are you"}')
    with pytest.raises(RequestRefused, match="who are you"):
        async with running():
            await asyncio.Event().wait()
    assert (folder / "job_1.1.jsonl").exists()


async def test_an_agent_killed_by_force_fails_its_job(server, running, tmp_path):
    pid, child = tmp_path / "pid", tmp_path / "child"
    job = server.give(f"pid {pid}\nchild {child}\nsay begun\nsleep 60")
    async with running():
        await happens(lambda: server.texts(job))
        os.kill(int(pid.read_text()), signal.SIGKILL)
        finish = await ended(server, job)
    assert (finish["state"], finish["error"]["code"], finish["output"]) == ("failed", "agent_died", "begun")
    await happens(lambda: is_gone(int(child.read_text())))


@pytest.mark.parametrize("killed", ["inner", "outer", pytest.param("both", marks=pytest.mark.slow("waits for both"))])
async def test_a_killed_supervisor_leaves_no_process(server, running, tmp_path, killed):
    pid, child = tmp_path / "pid", tmp_path / "child"
    job = server.give(f"pid {pid}\nignore\nchild {child}\nsay begun\nsleep 60")
    async with running():
        await happens(lambda: server.texts(job))
        inner = psutil.Process(int(pid.read_text())).parent()
        outer = inner.parent()
        assert "supervisor.py" in " ".join(outer.cmdline())
        for process in {"inner": [inner], "outer": [outer], "both": [outer, inner]}[killed]:
            process.kill()
        await happens(lambda: is_gone(int(pid.read_text())) and is_gone(int(child.read_text())))
        assert (await ended(server, job))["state"] == "failed"
        await happens(lambda: is_gone(inner.pid) and is_gone(outer.pid))


@pytest.mark.slow("starts two runners")
def test_a_second_runner_is_kept_out_of_a_folder(tmp_path):
    first = Home(tmp_path).lock()
    with pytest.raises(RunnerHomeInUse, match="another runner already uses"):
        Home(tmp_path).lock()
    os.close(first)
    os.close(Home(tmp_path).lock())
    assert Home(tmp_path).runner_id == Home(tmp_path).runner_id


async def test_a_refused_runner_ends_at_once(server, running):
    server.poll = lambda _body: (401, {"code": "unauthenticated", "detail": "who are you"})
    with pytest.raises(RequestRefused, match="who are you"):
        async with running():
            await asyncio.Event().wait()
