"""Measures a server's cost of one change of shared state, by the amount of data per people and teams.

Run it with `python -m bench.scale.changes`. It counts CPU time of the server making the change and of one receiving it.
"""

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import msgspec
from uuid_utils import uuid7

from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import Redis
from baton.lib.router.agents import Agent
from baton.modes import store as modes_store
from baton.modes.service import Modes
from baton.operate import migrate
from baton.people import tokens_store, users_store
from baton.people.directory import User
from baton.people.tokens import Tokens, made
from baton.people.users import Users
from baton.policies import store
from baton.policies.in_force import KIND as POLICIES
from baton.policies.in_force import Policies
from baton.policies.layers import PolicyLayers, Where
from baton.records.replay.rule_hits import RuleHits
from baton.records.review.decisions import Decisions
from baton.route.rosters import store as rosters_store
from baton.route.rosters.agents import digest_of
from baton.route.rosters.in_force import RoutingRosters
from baton.route.rosters.indexes import Indexes
from baton.route.rosters.roster import NewVersion, RosterKey
from baton.route.rosters.service import PushedRosters
from baton.rules.call.call import Principal
from baton.rules.call.modes import ModeSetting
from baton.sessions.exceptions import service as exceptions_store
from baton.sessions.exceptions.service import Exceptions, RuleException
from baton.shared import policy_folders
from baton.shared.caller import Caller
from bench.engine import rules

SIZES = (10, 1_000, 10_000)
TEAMS = (10, 200)
"""Numbers of teams with a layer and a roster of their own."""
CHANGES = 50
ADMIN = Principal(user="root", team="web", role="admin")


class Server:
    """A server's view of the shared state."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.changes = Changes(Redis("unix:///nowhere", timeout_s=1), database, "default")
        self.users = Users(database, self.changes, organisation="default", team="web")
        self.tokens = Tokens(database, self.changes, self.users, organisation="default")
        self.modes = Modes(database, self.changes, organisation="default", auto_level="strict")
        self.policies = Policies(policy_folders.shipped(), Path("/nowhere"), database, "default")
        self.changes.on(POLICIES, self.policies.load_layers, self.policies.load_some)
        self.layers = PolicyLayers(database, self.policies, self.changes, self.users)
        decisions, hits = Decisions(database), RuleHits(database, self.policies)
        self.exceptions = Exceptions(
            database, self.changes, self.users, self.policies, decisions, hits, organisation="default"
        )
        indexed = RoutingRosters(database, self.changes, self.policies, Indexes(), "default")
        self.rosters = PushedRosters(self.changes, indexed)
        self._loads = (self.users, self.tokens, self.modes, self.exceptions, indexed)

    async def start(self) -> "Server":
        """Read everything."""
        for each in self._loads:
            await each.load()
        await self.policies.load_layers()
        await self.changes.catch_up()
        return self


async def fill(database: Database, size: int) -> None:
    """Store as many users, tokens, settings and exceptions."""
    now = datetime.now(UTC)
    async with database.transaction() as connection:
        await users_store.put_row(connection, "default", User(name="root", team="web", created_at=now))
        for number in range(size):
            name = f"user-{number}"
            await users_store.put_row(connection, "default", User(name=name, team="web", created_at=now))
            token, _ = made(name, "developer", created_by="root", now=now, expires_at=None)
            await tokens_store.add(connection, "default", token)
            await modes_store.change(connection, "default", put=[ModeSetting(scope="user", id=name, enabled=True)])
            await exceptions_store.add(connection, _exception(name, now))


def _exception(user: str, now: datetime) -> RuleException:
    """Return a request; its texts are like those of many."""
    texts = dict.fromkeys(("decision_id", "project", "shown", "reason", "approvers", "granted_by"), "x")
    given = {
        "session_id": f"s-{user}",
        "user": user,
        "team": "web",
        "rule": "orchestrator/direct-edit",
        "layer": "shipped",
        "tool": "Edit",
    }
    given |= {"shape": "Edit", "condition": '{"tools":"Edit"}', "scope": "user", "state": "granted", "created_by": user}
    fields: dict[str, object] = {"id": str(uuid7()), "organisation": "default", "created_at": now, **given, **texts}
    return msgspec.convert(fields | {"expires_at": now + timedelta(hours=1)}, RuleException)


async def fill_teams(database: Database, size: int) -> None:
    """Store a layer with a rule and a roster with an agent for as many teams."""
    async with database.transaction() as connection:
        for number, (path, text) in enumerate(rules(size).items()):
            team = f"team-{number}"
            version = await store.add_layer(connection, "default", "team", team, {path: text}, by="root", reason="")
            await store.activate_layer(connection, "default", "team", team, version)
            pushed = NewVersion(agents=[Agent(name=f"agent-{number}", description="Tends tomatoes.")])
            key = RosterKey("team", team, "ours")
            await rosters_store.add(connection, "default", key, pushed, digest=digest_of(pushed.agents), by="root")


@asynccontextmanager
async def servers(fill: Callable[[Database], Awaitable[None]]) -> AsyncIterator[tuple[Server, Server]]:
    """Start two servers on a filled database."""
    with tempfile.TemporaryDirectory(prefix="baton-scale-") as folder:
        settings = Settings(home=Path(folder), database_url=f"sqlite:///{folder}/scale.db")
        await migrate.upgrade(settings)
        database = Database(settings)
        await fill(database)
        yield await Server(database).start(), await Server(database).start()
        await database.close()


async def measure(size: int) -> None:
    """Print the CPU time of a change of data per people."""
    async with servers(partial(fill, size=size)) as (one, other):
        person = Caller(principal=ADMIN, project="p")

        async def token(number: int) -> None:
            await one.tokens.create(ADMIN, user=f"user-{number % size}", role="developer")

        async def user(number: int) -> None:
            await one.users.put_user(ADMIN, f"user-{number % size}", team="", disabled=False)

        async def mode(number: int) -> None:
            setting = ModeSetting(scope="user", id=f"user-{number % size}", enabled=number % 2 == 0)
            await one.modes.put(person, setting)

        async def exception(number: int) -> None:
            asked = msgspec.structs.replace(_exception(f"user-{number % size}", datetime.now(UTC)), state="requested")
            async with one.database.transaction() as connection:
                await exceptions_store.add(connection, asked)
            until = datetime.now(UTC) + timedelta(minutes=5)
            await one.exceptions.grant(ADMIN, asked.id, scope="once", until=until, reason="")

        for name, work in {"token": token, "user": user, "mode": mode, "exception": exception}.items():
            await show(size, name, work, other)


async def measure_teams(size: int) -> None:
    """Print the CPU time of a change of data per teams, and of the start."""
    async with servers(partial(fill_teams, size=size)) as (one, other):
        started = time.process_time()
        await Server(one.database).start()
        print(f"{size:8} {'start':10}{(time.process_time() - started) * 1000:8.1f}")
        new = list(rules(size + CHANGES + 1).items())[size:]

        async def layer(number: int) -> None:
            # A new rule, as one that only moves would cost less.
            where, (path, text) = Where("team", f"team-{number % size}"), new[number]
            version = await active_version(one, where)
            await one.layers.upload(ADMIN, where, {path: text}, reason="", activate=True, if_match=f'"{version}"')

        async def roster(number: int) -> None:
            key = RosterKey("team", f"team-{number % size}", "ours")
            await one.rosters.push(ADMIN, key, NewVersion(agents=[Agent(name=f"new-{number}", description="Mends.")]))

        for name, work in {"layer": layer, "roster": roster}.items():
            await show(size, name, work, other)


async def show(size: int, name: str, work: Callable[[int], Awaitable[None]], other: Server) -> None:
    """Print the cost of a change, in ms."""
    makes, hears = 0.0, 0.0
    for number in range(CHANGES + 1):
        started = time.process_time()
        await work(number)
        middle = time.process_time()
        await other.changes.catch_up()
        if number:  # the first one reads all
            makes, hears = makes + middle - started, hears + time.process_time() - middle
    print(f"{size:8} {name:10}{makes / CHANGES * 1000:8.1f}{hears / CHANGES * 1000:8.1f}", flush=True)


async def active_version(server: Server, where: Where) -> int:
    """Return the active version of a layer."""
    async with server.database.transaction() as connection:
        return await store.active_version(connection, "default", where.tier, where.name)


def main() -> None:
    """Measure each size."""
    print("CPU ms per change, by how many there are of each\n    each             makes   hears")
    for size in SIZES:
        asyncio.run(measure(size))
    for size in TEAMS:
        asyncio.run(measure_teams(size))


if __name__ == "__main__":
    main()
