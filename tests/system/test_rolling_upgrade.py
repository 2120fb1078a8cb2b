"""Two versions of the server on one Postgres and one Valkey: an upgrade server by server, and a rollback."""

import asyncio
import os
import shutil
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from redis import Redis

from baton.events.log import NEWER
from tests.support import server as servers
from tests.support.processes import children
from tests.support.server import serving, until
from tests.support.terminal import ROOT

CHANGES = {
    "events/log.py": [
        ('WAITS = b"r"', 'WAITS = b"r2"'),
        ("READS: tuple[bytes, ...] = (WAITS,)", 'READS: tuple[bytes, ...] = (WAITS, b"r")'),
    ],
    "rules/call/record.py": [
        ("    repeats: Annotated[", '    written_by: Annotated[Name, Meta(description="A version.")] = "old"\n    repeats: Annotated['),
    ],
    "shared/decided.py": [("    return Record(\n        id=decision.id,", '    return Record(\n        written_by="new",\n        id=decision.id,')],
}  # fmt: skip
"""What the next version changes: the name of a log entry's field, and a record's fields."""


class Versions:
    """The calls through two servers, and what the database has of them."""

    def __init__(self, url, admin):
        self.url, self.admin, self.count = url, {"Authorization": f"Bearer {admin}"}, 0
        self.tokens = []

    def call(self, decides, reports):
        """Decide a call at one server and report its end to another, each with another token of role `hook`."""
        self.count += 1
        call = {"session_id": "s", "tool_name": "Read", "tool_input": {"file_path": "a.py"}}
        call |= {"tool_use_id": f"t{self.count}", "cwd": "/x"}
        for number, (server, name) in enumerate(((decides, "PreToolUse"), (reports, "PostToolUse"))):
            token = {"Authorization": f"Bearer {self.tokens[(self.count + number) % 2]}"}
            with server.agent(**token) as http:
                answer = http.post("/hooks/claude-code", json=call | {"hook_event_name": name, "tool_response": {}})
            assert (answer.status_code, answer.headers.get("baton-degraded")) == (200, None), answer.text
            # A tool takes longer than its decision waits in the server.
            with server.agent(**self.admin) as http:
                until(lambda http=http: http.get("/status").json()["records"]["queued"] == 0)

    def stored(self):
        """Return the versions and outcomes of the stored calls, by number."""

        async def read():
            connection = await asyncpg.connect(self.url)
            try:
                return await connection.fetch("SELECT tool_use_id, written_by, outcome FROM decisions")
            finally:
                await connection.close()

        rows = asyncio.run(read())
        return {int(row["tool_use_id"][1:]): (row["written_by"], row["outcome"]) for row in rows}


def token_of(server, admin):
    with server.agent(Authorization=f"Bearer {admin}") as http:
        made = http.post("/tokens", json={"user": "ada", "role": "hook"})
    assert made.status_code == 201, made.text
    return made.json()["text"]


def knows(server, token):
    with server.agent(Authorization=f"Bearer {token}") as http:
        return http.get("/me").status_code != 401


def next_version(folder):
    """Write the next version of Baton; return its `app`."""
    for path in ROOT.iterdir():
        if path.name not in {"app", ".git", ".venv"}:
            (folder / path.name).symlink_to(path)
    shutil.copytree(ROOT / "app", folder / "app")
    for name, changes in CHANGES.items():
        file = folder / "app" / "baton" / name
        text = file.read_text()
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        file.write_text(text)
    return folder / "app"


def started(arguments, env, log):
    with Path(log).open("wb") as said:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "baton", *arguments], env=os.environ | env, stdout=said, stderr=said
        )


@pytest.mark.slow("starts servers of two versions")
def test_an_upgrade_and_a_rollback_lose_no_call_no_outcome_and_no_token(
    tmp_path, postgres_url, valkey_url, monkeypatch
):
    (tmp_path / "next").mkdir()
    env = {"BATON_REDIS_URL": valkey_url, "BATON_DATABASE_URL": postgres_url}
    with serving(tmp_path / "old", **env) as old, monkeypatch.context() as patched:
        patched.setattr(servers.forge, "start", started)
        admin = (tmp_path / "old" / "admin-token").read_text().strip()
        all_calls = Versions(postgres_url, admin)
        asyncio.run(add_column(postgres_url))
        with serving(tmp_path / "new", **env, PYTHONPATH=str(next_version(tmp_path / "next"))) as new:
            all_calls.tokens += token_of(old, admin), token_of(new, admin)
            until(lambda: all(knows(server, one) for server in (old, new) for one in all_calls.tokens))
            (drain,) = until(lambda: children(new.process.pid, called="drain_main"))
            drain.suspend()
            pairs = [(old, old), (old, new), (new, old), (new, new)]
            try:
                for number in range(40):
                    all_calls.call(*pairs[number % 4])
                with Redis.from_url(valkey_url) as valkey:
                    until(lambda: valkey.xlen(NEWER) >= 36, about=all_calls.stored)
                early = all_calls.stored()
                assert {version for version, _ in early.values()} <= {"old"}, "old drains leave entries of new servers"
            finally:
                drain.resume()
            for number in range(40):
                all_calls.call(*pairs[number % 4])
            whole = {n: (("old", "old", "new", "new")[(n - 1) % 4], "ran") for n in range(1, 81)}
            until(lambda: all_calls.stored() == whole, about=lambda: differing(all_calls.stored(), whole))
            # A rollback: first the old servers stop, then the new ones, which store what is left.
            for number in range(40):
                all_calls.call(*pairs[number % 4])
            assert old.stop() == 0
            assert new.stop() == 0
        whole = {n: (("old", "old", "new", "new")[(n - 1) % 4], "ran") for n in range(1, 121)}
        assert all_calls.stored() == whole
        old.start()
        for _ in range(4):
            all_calls.call(old, old)
        whole |= dict.fromkeys(range(121, 125), ("old", "ran"))
        until(lambda: all_calls.stored() == whole, about=lambda: differing(all_calls.stored(), whole))


async def add_column(url):
    """Migrate as the next version does."""
    connection = await asyncpg.connect(url)
    await connection.execute("ALTER TABLE decisions ADD COLUMN written_by varchar NOT NULL DEFAULT 'old'")
    await connection.close()


def differing(found, wanted):
    return {n: found.get(n) for n, one in wanted.items() if found.get(n) != one}
