"""A real cut of the network between runner and server: nothing passes, in neither direction, and no connection is closed."""

import asyncio
import contextlib
import io
import json
import os
import subprocess
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import msgspec
import pytest
from sqlalchemy import update

from baton.delegate.core.stores.tables import JOBS, RUNNERS
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.mcp.client import standing
from baton.runner.config import RunnerConfig
from baton.runner.home import Home
from baton.runner.runner import JobRunner, TerminalProgress
from baton.runner.wire import Link
from tests.runner.conftest import AGENT, happens
from tests.support.server import BATON, serving

pytestmark = pytest.mark.slow("waits until requests that nobody answers are given up")

CHUNKS = 200


class Way:
    """A way to the server that can be cut: what comes is then dropped, and who sent it is not told."""

    def __init__(self, url):
        self.there = urlsplit(url)
        self.cut = False
        self.dropped = 0
        self.tasks, self.writers = set(), []

    async def open(self):
        self.server = await asyncio.start_server(self.connect, "127.0.0.1", 0)
        return f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def connect(self, reader, writer):
        there_reader, there_writer = await asyncio.open_connection(self.there.hostname, self.there.port)
        self.writers += [writer, there_writer]
        lost = [self.cut]  # of a connection from before the cut nothing passes afterwards, either: its packets are gone
        pair = [
            asyncio.create_task(self.pass_on(*one, lost)) for one in ((reader, there_writer), (there_reader, writer))
        ]
        self.tasks |= set(pair)

    async def pass_on(self, reader, writer, lost):
        with contextlib.suppress(OSError):
            while data := await reader.read(65_536):
                lost[0] = lost[0] or self.cut
                if lost[0]:
                    self.dropped += len(data)
                    continue
                writer.write(data)
                await writer.drain()
        if not lost[0]:
            writer.close()

    async def close(self):
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        for writer in self.writers:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in self.writers), return_exceptions=True)


class Person:
    """Who delegated, on a machine with a way of its own to the server."""

    def __init__(self, server, api, home):
        self.server, self.api, self.home = server, api, home

    async def sees(self, job_id, found):
        async with asyncio.timeout(120):
            while not found(job := (await asyncio.to_thread(self.api.get, f"/jobs/{job_id}")).json()):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
            return job

    async def types(self, *words):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "BATON_URL": self.server.url}
        env["BATON_TOKEN"] = self.server.token_of("ada")
        done = await asyncio.to_thread(
            subprocess.run, [BATON, "jobs", *words], env=env, capture_output=True, text=True, check=True
        )
        return done.stdout


async def test_events_during_a_network_cut_arrive_in_order(shop, tmp_path):
    go_on, end = tmp_path / "go-on", tmp_path / "end"
    with serving(tmp_path / "server") as server, server.client(**{"Baton-User": "ada"}) as api:
        database = Database(Settings(database_url=f"sqlite:///{server.home}/baton.db"))
        way = Way(server.url)
        providers = {"codex": {"command": AGENT}}
        config = msgspec.convert({"workspaces": {"shop": str(shop)}, "providers": providers}, RunnerConfig)
        link = Link(url=await way.open(), token=server.token_of("ada"))
        runner = JobRunner(config, link, Home(tmp_path / "home"), dict(os.environ), TerminalProgress(io.StringIO()))
        running = asyncio.create_task(runner.run())

        person = Person(server, api, tmp_path)
        try:
            prompt = f"say begun\nawait {go_on}\ncount {CHUNKS}\nawait {end}\nsay the end"
            made = await asyncio.to_thread(api.post, "/delegate", json={"user_prompt": prompt, "timeout_s": 600})
            job_id = made.json()["job"]["id"]
            await person.sees(job_id, lambda job: job["state"] == "running")
            way.cut = True
            go_on.touch()
            spool = tmp_path / "home" / "spool" / f"{job_id}.1.jsonl"
            await happens(lambda: f'"{CHUNKS - 1} "'.encode() in spool.read_bytes())
            heard = datetime.now(UTC) - timedelta(seconds=75)  # the lease is a minute: it is let run out at once
            async with database.transaction() as connection:
                await connection.execute(update(JOBS).values(lease_until=heard + timedelta(seconds=60)))
                await connection.execute(update(RUNNERS).values(last_seen=heard))
            away = await person.sees(job_id, lambda job: job.get("disconnected_since"))
            assert away["state"] == "running"
            assert standing(away) == f"disconnected since {away['disconnected_since']}"
            for words in (("list",), ("show", job_id)):
                assert "disconnected since " in await person.types(*words)
            assert way.dropped > 0
            way.cut = False
            end.touch()
            done = await person.sees(job_id, lambda job: job["state"] in {"completed", "failed"})
            assert (done["state"], done.get("disconnected_since"), done.get("late_result")) == ("completed", None, None)
            assert [one["state"] for one in done["attempts"]] == ["completed"]
            events = await asyncio.to_thread(events_of, api, job_id)
            texts = [
                event["update"]["content"]["text"]
                for event in events
                if event.get("source") == "delegated_agent"
                and event["update"]["sessionUpdate"] == "agent_message_chunk"
            ]
            assert texts == ["begun", *(f"{n} " for n in range(CHUNKS)), "the end"]
        finally:
            runner.drain()
            runner.drain()
            await asyncio.wait_for(running, 60)
            await way.close()
            await database.close()


def events_of(api, job):
    with api.stream("GET", f"/jobs/{job}/events") as stream:
        return [json.loads(line[5:]) for line in stream.iter_lines() if line.startswith("data:")]
