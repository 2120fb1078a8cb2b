"""Measures what one change of shared state costs a server by how much of that kind there is: the mode, tokens, users.

Run it with `python -m bench.scale.changes`. It counts CPU time of the server that makes the change and of one that hears of it.
"""

import asyncio
import tempfile
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

from baton.engine.call.modes import ModeSetting
from baton.engine.call.principal import Principal
from baton.kernel.base.caller import Caller
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.redis.client import Redis
from baton.modes import store as modes_store
from baton.modes.service import Modes
from baton.operate import migrate
from baton.people import tokens_store, users_store
from baton.people.directory import User
from baton.people.tokens import Tokens, made
from baton.people.users import Users

SIZES = (10, 1_000, 10_000)
CHANGES = 50
ADMIN = Principal(user="root", team="web", role="admin")


class Server:
    """What a server knows of the shared state."""

    def __init__(self, database: Database) -> None:
        self.changes = Changes(Redis("unix:///nowhere", timeout_s=1), database, "default")
        self.users = Users(database, self.changes, organisation="default", team="web")
        self.tokens = Tokens(database, self.changes, self.users, organisation="default")
        self.modes = Modes(database, self.changes, organisation="default", auto_level="strict")

    async def start(self) -> "Server":
        """Read everything."""
        for load in (self.users.load, self.tokens.load, self.modes.load, self.changes.catch_up):
            await load()
        return self


async def fill(database: Database, size: int) -> None:
    """Store as many users, tokens and settings."""
    now = datetime.now(UTC)
    async with database.transaction() as connection:
        await users_store.put(connection, "default", User(name="root", team="web", created_at=now))
        for number in range(size):
            name = f"user-{number}"
            await users_store.put(connection, "default", User(name=name, team="web", created_at=now))
            token, _ = made(name, "developer", created_by="root", now=now, expires_at=None)
            await tokens_store.add(connection, "default", token)
            await modes_store.change(connection, "default", put=[ModeSetting(scope="user", id=name, enabled=True)])


async def measure(size: int) -> None:
    """Print the CPU time of a change of each kind, in ms."""
    with tempfile.TemporaryDirectory(prefix="baton-scale-") as folder:
        settings = Settings(home=Path(folder), database_url=f"sqlite:///{folder}/scale.db")
        await migrate.upgrade(settings)
        database = Database(settings)
        await fill(database, size)
        one, other = await Server(database).start(), await Server(database).start()
        person = Caller(principal=ADMIN, project="p")

        async def token(number: int) -> None:
            await one.tokens.create(ADMIN, user=f"user-{number % size}", role="developer")

        async def user(number: int) -> None:
            await one.users.put_user(ADMIN, f"user-{number % size}", team="", disabled=False)

        async def mode(number: int) -> None:
            setting = ModeSetting(scope="user", id=f"user-{number % size}", enabled=number % 2 == 0)
            await one.modes.put(person, setting)

        kinds: dict[str, Callable[[int], Awaitable[None]]] = {"token": token, "user": user, "mode": mode}
        for name, work in kinds.items():
            makes, hears = 0.0, 0.0
            for number in range(CHANGES + 1):
                started = time.process_time()
                await work(number)
                middle = time.process_time()
                await other.changes.catch_up()
                if number:  # the first one reads all
                    makes, hears = makes + middle - started, hears + time.process_time() - middle
            print(f"{size:8} {name:8}{makes / CHANGES * 1000:8.1f}{hears / CHANGES * 1000:8.1f}", flush=True)
        await database.close()


def main() -> None:
    """Measure each size."""
    print("CPU ms per change, by how many users, tokens and settings there are\n    each           makes   hears")
    for size in SIZES:
        asyncio.run(measure(size))


if __name__ == "__main__":
    main()
