"""What stands behind all workers of one machine and is there once: schema, first token, Valkey, drain. It answers nobody."""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from baton.engine.call.principal import Principal
from baton.kernel.base.home import HomeInUse, HomeLock
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.redis.bundled import Valkey, ValkeyFailed
from baton.operate import migrate
from baton.people import first_token
from baton.records.pipeline.drain_process import DrainProcess

log = logging.getLogger(__name__)

MENDABLE = (DatabaseUnavailable, HomeInUse, OSError, ValkeyFailed, ValueError)
"""What keeps it from starting and is no bug of its own."""


@asynccontextmanager
async def backing(settings: Settings) -> AsyncIterator[str]:
    """Take the home folder, start it, give the URL of the Redis to use, and take it down again; records that wait are stored first.

    Raises:
        MENDABLE: for a reason that an operator can mend.
    """
    lock = HomeLock(settings.home)
    killed = lock.take()
    if killed:
        log.warning("the server before this one (process %s) was killed; what it had answered is kept", killed)
    async with AsyncExitStack() as stack:
        stack.callback(lock.release)
        await migrate.upgrade(settings)
        redis_url = settings.redis_url
        if not redis_url:
            valkey = Valkey(settings.home)
            await valkey.start()
            stack.push_async_callback(valkey.stop)
            redis_url = valkey.url
        await _show_first_token(settings)
        draining = DrainProcess(settings, redis_url)
        draining.start()
        stack.push_async_callback(draining.stop)
        yield redis_url


async def _show_first_token(settings: Settings) -> None:
    """Make a first admin's token for a server that asks for tokens and has none, and show it once."""
    if not settings.auth_on:
        return
    admin = Principal(organisation=settings.organisation, team=settings.team, user=settings.default_user, role="admin")
    file = settings.home / "admin-token"
    database = Database(settings)
    try:
        token = await first_token.ensure(database, admin, file)
    finally:
        await database.close()
    if token:
        print(  # noqa: T201 - for whoever starts the server; a log would keep it
            f"The first admin's token, shown once (also in `{file.absolute()}`): {token}", flush=True
        )
