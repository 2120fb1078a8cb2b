"""A really full disk: nothing is lost, memory stays bounded, people are notified, slots are freed, the runner ends."""

import asyncio
import contextlib
import resource
import signal
import subprocess
from pathlib import Path

import pytest

from baton.runner.outbox import MOST_UNSTORED
from baton.runner.spool import AttemptSpool, event_line
from tests.runner.conftest import ended, happens

MIB = 1 << 20


class LimitedFiles:
    """No file may grow any more: writes end in the middle, with EFBIG."""

    def __init__(self, folder):
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self):
        largest = max((path.stat().st_size for path in self.folder.rglob("*") if path.is_file()), default=0)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + 10, self.before[1]))

    def free(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, self.before)

    close = free


class SmallDisk:
    """A file system of its own that has no block left: ENOSPC."""

    def __init__(self, folder: Path, mib: int = 24) -> None:
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", str(folder)]
        self.fails = subprocess.run(mount, check=False, capture_output=True).returncode

    def fill(self) -> None:
        if self.fails:
            pytest.skip("no file system may be mounted here")
        with (self.folder / "filler").open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 4_096)

    def free(self) -> None:
        (self.folder / "filler").unlink(missing_ok=True)

    def close(self) -> None:
        subprocess.run(["umount", "-l", str(self.folder)], check=False)


@pytest.fixture(params=[LimitedFiles, pytest.param(SmallDisk, marks=pytest.mark.slow("mounts a file system"))])
def disk(request, tmp_path):
    """The file system of the runner's home."""
    made = request.param(tmp_path / "home")
    yield made
    made.close()


def test_a_failed_write_leaves_no_partial_line_and_is_repeated(disk):
    spool = AttemptSpool(disk.folder / "spool", "job_1", 1, "t")
    spool.add([event_line(1, "session.update", {"n": 1})])
    disk.fill()
    more = [event_line(seq, "session.update", {"text": "x" * 50_000}) for seq in (2, 3)]
    for _ in range(2):
        with pytest.raises(OSError, match=r"File too large|No space"):
            spool.add(more)
        assert spool.path.read_bytes().count(b"\n") == 2
        assert spool.path.read_bytes().endswith(b"\n")
    disk.free()
    spool.add(more)
    assert [bytes(event) for event in spool.read().events][1:] == more
    found = AttemptSpool.open(spool.path)
    assert (found.job, found.attempt, found.token, len(found.read().events)) == ("job_1", 1, "t", 3)


async def test_a_job_waits_for_disk_space_and_continues(server, running, disk, tmp_path):
    go_on, end = tmp_path / "go-on", tmp_path / "end"
    job = server.give(f"count 50\nawait {go_on}\ncount 200\nawait {end}\nsay the end")
    async with running() as runner:
        await happens(lambda: len(server.texts(job)) == 50)
        disk.fill()
        go_on.touch()
        await happens(lambda: (job, "disk") in server.waiting_for)
        await happens(lambda: server.polls[-1]["slots"] == 0)
        assert f"{job[:12]} waits for disk: " in runner.told.getvalue()
        assert len(server.texts(job)) < 250  # the last block of a file may have had room
        assert server.polls[-1]["active"] != []
        disk.free()
        await happens(lambda: len(server.texts(job)) == 250)
        assert "continues: the disk has space again" in runner.told.getvalue()
        end.touch()
        finish = await ended(server, job)
        await happens(lambda: server.polls[-1]["slots"] == 2)
    numbers = "".join(f"{n} " for n in (*range(50), *range(200)))
    assert "".join(server.texts(job)) == finish["output"] == f"{numbers}the end"
    assert finish["state"] == "completed"
    assert not list((disk.folder / "spool").iterdir())


@pytest.mark.slow("an agent says megabytes")
async def test_a_verbose_agent_waits_and_memory_is_bounded(server, running, disk, tmp_path):
    go_on, done = tmp_path / "go-on", tmp_path / "done"
    text = "\n".join(["big 100000"] * 150)
    job = server.give(f"say begun\nawait {go_on}\n{text}\npid {done}")
    async with running() as runner:
        await happens(lambda: server.texts(job))
        (running_job,) = runner._jobs.values()
        disk.fill()
        go_on.touch()
        await happens(lambda: running_job.outbox._unstored_size >= MOST_UNSTORED)
        await asyncio.sleep(1)
        assert running_job.outbox._unstored_size < 2 * MOST_UNSTORED
        assert not done.exists()
        disk.free()
        finish = await ended(server, job)
    assert finish["state"] == "completed"
    assert len("".join(server.texts(job))) == 15_000_000 + len("begun")


@pytest.mark.slow("a disk that stays full")
async def test_an_ended_agent_s_output_is_sent_although_the_disk_is_full(server, running, disk, tmp_path):
    go_on = tmp_path / "go-on"
    job, other = server.give(f"say begun\nawait {go_on}\ncount 200"), server.give("say begun\nsleep 60")
    async with running():
        await happens(lambda: server.texts(job) and server.texts(other))
        disk.fill()
        go_on.touch()
        finish = await ended(server, job)
        server.command(other, "cancel")
        await ended(server, other)
        await happens(lambda: server.polls[-1]["active"] == [])
    assert (finish["state"], "".join(server.texts(job))) == (
        "completed",
        "begun" + "".join(f"{n} " for n in range(200)),
    )


@pytest.mark.slow("a disk that stays full")
async def test_a_new_job_starts_no_agent_while_the_disk_is_full(server, running, disk, tmp_path):
    pid = tmp_path / "pid"
    async with running():
        await happens(lambda: server.polls)
        disk.fill()
        resource.setrlimit(resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY)) if isinstance(
            disk, LimitedFiles
        ) else None
        job, other = server.give(f"pid {pid}"), server.give("say done")
        await happens(lambda: (job, "disk") in server.waiting_for)
        server.command(job, "cancel")
        assert (await ended(server, job))["state"] == "cancelled"
        disk.free()
        assert (await ended(server, other))["output"] == "done"
    assert not pid.exists()


@pytest.mark.slow("waits longer than the job may take")
async def test_waiting_for_the_disk_does_not_count_as_time(server, running, disk, tmp_path):
    go_on, end = tmp_path / "go-on", tmp_path / "end"
    job = server.give(f"say begun\nawait {go_on}\nbig 9000\nawait {end}", timeout_s=3)
    async with running():
        await happens(lambda: server.texts(job))
        disk.fill()
        go_on.touch()
        await happens(lambda: (job, "disk") in server.waiting_for)
        await asyncio.sleep(4)
        assert job not in server.finished
        disk.free()
        end.touch()
        assert (await ended(server, job))["state"] == "completed"


@pytest.mark.slow("a disk that stays full")
async def test_a_stopped_runner_with_a_full_disk_does_not_wait_for_jobs(server, running, disk, tmp_path):
    go_on = tmp_path / "go-on"
    job = server.give(f"say begun\nawait {go_on}\nignore\nbig 9000\nsleep 600")
    async with running(hurry=False, drain_s=600, cancel_grace_s=600):
        await happens(lambda: server.texts(job))
        disk.fill()
        go_on.touch()
        await happens(lambda: (job, "disk") in server.waiting_for)
    assert (server.finished[job]["state"], server.texts(job)) == ("cancelled", ["begun", "x" * 9_000])
    assert server.polls[-1]["active"] == []


@pytest.mark.slow("starts a runner of its own")
async def test_a_runner_that_also_logs_to_the_full_disk_ends_by_sigterm(server, laptop, tmp_path):
    go_on = tmp_path / "go-on"
    job = server.give(f"say begun\nawait {go_on}\nsay more\nsleep 600")
    runner = laptop()
    await happens(lambda: server.texts(job))
    resource.prlimit(runner.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
    go_on.touch()
    await happens(lambda: (job, "disk") in server.waiting_for)
    runner.send_signal(signal.SIGTERM)
    await asyncio.to_thread(runner.wait, 60)
    assert "".join(server.texts(job)) == "begunmore"
    assert "Traceback" not in (tmp_path / "runner.out").read_text()


@pytest.mark.slow
async def test_an_end_that_is_stored_and_not_sent_stays_this_runners_until_its_next_start(server, running, tmp_path):
    go_on = tmp_path / "go-on"
    job = server.give(f"say begun\nawait {go_on}\nsay the end")
    async with running() as runner:
        await happens(lambda: server.texts(job))
        server.post_away = True
        go_on.touch()
        await happens(lambda: b'"finish"' in (tmp_path / "home" / "spool" / f"{job}.1.jsonl").read_bytes())
        assert not runner._draining.is_set()
    assert [one["job"] for one in server.polls[-1]["active"]] == [job]
    server.post_away = False
    async with running():
        assert (await ended(server, job))["output"] == "begunthe end"
        await happens(lambda: not list((tmp_path / "home" / "spool").iterdir()))
