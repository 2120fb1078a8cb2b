"""A runner on this machine, with the small agent as its providers, and a fake server."""

import asyncio
import importlib
import io
import os
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
import yaml

from baton.runner.config import RunnerConfig
from baton.runner.home import Home
from baton.runner.wire import Link
from tests.runner.stand_in import StandIn

BATON = str(Path(sys.executable).with_name("baton"))
AGENT = [sys.executable, "-I", "-S", str(Path(__file__).with_name("agent.py"))]


@pytest.fixture(scope="session")
def drives():
    """Return what finds a class of a running job by its module in `baton.runner`.

    The library that drives agents takes longer to import than most tests here, and each worker collects all of them.
    """
    return lambda module, name: getattr(importlib.import_module(f"baton.runner.{module}"), name)


@pytest.fixture
def server():
    stand_in = StandIn()
    yield stand_in
    stand_in.close()


@pytest.fixture
def shop(tmp_path):
    """A folder with one file; it is the workspace `shop`."""
    folder = tmp_path / "shop"
    folder.mkdir()
    (folder / "a.txt").write_text("one\n")
    return folder


@pytest.fixture
def repository(shop):
    """The workspace as a git repository with one commit."""
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(shop, *arguments)
    return shop


def git(folder, *arguments):
    env = {"PATH": os.environ["PATH"], "GIT_CONFIG_GLOBAL": "/dev/null"}
    env |= {f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    done = subprocess.run(["git", *arguments], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def settings(shop):
    def make(**more):
        provider = {"command": AGENT} | more.pop("provider", {})
        return {
            "slots": 2,
            "cancel_grace_s": 0.3,
            "workspaces": {"shop": str(shop)},
            "providers": {"codex": provider},
        } | more

    return make


@pytest.fixture
def running(server, settings, tmp_path, drives):
    """Run a runner in this loop, as often as wanted; at the end it is stopped as by two Ctrl-C."""

    @asynccontextmanager
    async def run(hurry=True, **more):
        config = msgspec.convert(settings(**more), RunnerConfig)
        told = io.StringIO()
        progress = drives("runner", "TerminalProgress")(told)
        runner = drives("runner", "JobRunner")(
            config, Link(url=server.url), Home(tmp_path / "home"), dict(os.environ), progress
        )
        runner.told = told
        task = asyncio.create_task(runner.run())
        body = asyncio.current_task()
        task.add_done_callback(lambda _: body.cancel() if not task.cancelled() and task.exception() else None)
        try:
            yield runner
        except asyncio.CancelledError:
            if task.done():
                task.result()
            raise
        finally:
            runner.drain()
            if hurry:
                runner.drain()
            await asyncio.wait_for(task, 60)

    return run


@pytest.fixture
def laptop(server, settings, tmp_path):
    """A home with a `runner.yaml`; gives what starts `baton runner run` in it, and ends what it started."""
    file = tmp_path / "config" / "baton" / "runner.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(yaml.safe_dump(settings()))
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    env |= {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), "BATON_URL": server.url}
    env |= {"XDG_STATE_HOME": str(tmp_path / "state")}
    started = []

    def start():
        log = (tmp_path / "runner.out").open("ab")
        started.append(subprocess.Popen([BATON, "runner", "run"], env=env, stdout=log, stderr=log))
        log.close()
        return started[-1]

    start.env = env
    yield start
    for process in started:
        process.kill()
        process.wait()


async def happens(found, seconds=60, every_s=0.02):
    """Wait until a function gives something true, and give it back; for what happens in this loop."""
    async with asyncio.timeout(seconds):
        while not (value := found()):  # noqa: ASYNC110
            await asyncio.sleep(every_s)
        return value


async def ended(server, job):
    """Wait for the end of a job, as the stand-in was told it."""
    return await happens(lambda: server.finished.get(job))
