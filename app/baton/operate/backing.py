"""Starts the shared parts of one machine's workers: home folder, schema, first token, Valkey, storing process."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from baton.kernel.base import logs
from baton.kernel.base.home import HomeInUse, HomeLock
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database, DatabaseUnavailable
from baton.kernel.redis.bundled import Valkey, ValkeyFailed
from baton.operate import migrate
from baton.people import first_token
from baton.records.pipeline.drain_process import DrainProcess
from baton.rules.call.call import Principal

log = logging.getLogger(__name__)

MENDABLE = (DatabaseUnavailable, HomeInUse, OSError, ValkeyFailed, ValueError)
"""Start-up errors that an operator can fix."""


@asynccontextmanager
async def backing(settings: Settings) -> AsyncIterator[str]:
    """Lock the home folder and start everything; at the end store every waiting record and stop again.

    Yields:
        The URL of the Redis to use.

    Raises:
        MENDABLE: If it cannot start, for a reason that an operator can fix.
    """
    lock = HomeLock(settings.home)
    killed = lock.acquire()
    if killed:
        log.warning("the server before this one (process %s) was killed; what it had answered is kept", killed)
    async with AsyncExitStack() as stack:
        stack.callback(lock.release)
        redis_url = settings.redis_url
        if redis_url:
            await migrate.upgrade(settings)
        else:
            redis_url = await _with_schema(settings, stack)
        await _show_first_token(settings)
        draining = DrainProcess(settings, redis_url)
        draining.start()
        stack.push_async_callback(draining.stop)
        yield redis_url


async def _with_schema(settings: Settings, stack: AsyncExitStack) -> str:
    """Start Valkey, and upgrade the schema while it reads its file. Return Valkey's URL."""
    valkey = Valkey(settings.home)
    stack.push_async_callback(valkey.stop)
    starting = asyncio.create_task(valkey.start())
    try:
        await migrate.upgrade(settings)
    except BaseException:
        starting.cancel()
        await asyncio.wait([starting])
        raise
    await starting
    return valkey.url


async def _show_first_token(settings: Settings) -> None:
    """Create the first admin's token if the server requires tokens and has none, and show its location."""
    if not settings.auth_on:
        return
    admin = Principal(organisation=settings.organisation, team=settings.team, user=settings.default_user, role="admin")
    file = settings.home / "admin-token"
    database = Database(settings)
    try:
        token = await first_token.ensure(database, admin, file)
    finally:
        await database.close()
    if not token:
        return
    logs.notice(f"The first admin's token is in `{file.absolute()}`.")
    if sys.stdout.isatty():  # any other output may be a stored log
        print(f"It is shown this once: {token}", flush=True)  # noqa: T201
