"""A job's whole diff, from its runner through Redis. The server stores the first 96 KiB (decision 0029)."""

import asyncio

import msgspec
from uuid_utils import uuid7

from baton.delegate.core.job import Job
from baton.delegate.core.notifier import JobNotifier, wait
from baton.delegate.core.states import JobStates
from baton.delegate.core.stores import runners as store
from baton.delegate.jobs.service import visible
from baton.delegate.results.service import check_result, check_runner
from baton.kernel.base.errors import Conflict, NotFound, RunnerAway
from baton.kernel.base.sql import StoreErrors
from baton.kernel.redis.client import Redis
from baton.lib.text.masking import mask
from baton.people.users import require
from baton.rules.call.call import Principal

WAIT_S = 8.0  # timeout of the runner, in seconds
KEPT_S = 60  # expiry of a page and of its request in Redis, in seconds
LONGEST_PAGE = 262_144  # maximum length of a runner's page, in characters. Our runner sends at most 96 KiB.
_LOOK_S = 0.5  # polling interval of Redis without a notification, in seconds
_AWAY = "the diff cannot be read now; try again"


class DiffPage(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a diff, of all files or of `path`. Offsets are in bytes. `error`: why there is none."""

    path: str = ""
    offset: int = 0
    text: str = ""
    next_offset: int | None = None
    error: str = ""


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request in Redis: its addressee, and the answer."""

    user: str
    runner: str
    job: str
    page: DiffPage | None = None


_encode = msgspec.json.encode
_decode = msgspec.json.Decoder(_Asked).decode


class DiffPages:
    """Requests pages of diffs from runners."""

    def __init__(self, states: JobStates, notifier: JobNotifier, redis: Redis) -> None:
        self._states = states
        self._notifier = notifier
        self._redis = redis

    async def read(self, principal: Principal, job_id: str, path: str, offset: int) -> tuple[Job, DiffPage]:
        """Return a job and a page of its diff. Raise Conflict, NotFound, RunnerAway or StoreUnavailable."""
        require(principal, "jobs.read")
        action_id = f"act_{uuid7().hex}"
        with StoreErrors(_AWAY):
            async with self._states.transaction() as transaction:
                job = visible(principal, await self._states.lock(transaction, job_id), job_id, "jobs.read")
                check_result(job)
                await check_runner(transaction, job)
                # Stored before the command, so that the answer finds its request.
                await self._put(action_id, _Asked(user=job.runner_user, runner=job.runner_id, job=job.id))
                command = {"verb": "diff", "by_agent": principal.agent, "path": path, "offset": offset}
                await store.add_command(
                    transaction.connection, job, store.RESULT_COMMAND, command, transaction.now, action_id
                )
                transaction.topics.add(f"runner {job.runner_user}")
            page = await self._answer(job, action_id)
        if page.error:
            raise Conflict(page.error)
        return job, page

    async def record(self, principal: Principal, runner_id: str, job_id: str, action_id: str, page: DiffPage) -> None:
        """Store a page from its runner, with secrets masked. Raise NotFound without a request, or StoreUnavailable."""
        require(principal, "jobs.run")
        with StoreErrors(_AWAY):
            known = await self._get(action_id)
            if known is None or (known.user, known.runner, known.job) != (principal.user, runner_id, job_id):
                raise NotFound(
                    f"the runner `{runner_id}` was not asked for page `{action_id[:100]}` of `{job_id[:100]}`"
                )
            masked = msgspec.structs.replace(page, text=mask(page.text), error=mask(page.error))
            await self._put(action_id, msgspec.structs.replace(known, page=masked))
        self._notifier.notify(f"job {job_id}")

    async def _answer(self, job: Job, action_id: str) -> DiffPage:
        ends = asyncio.get_running_loop().time() + WAIT_S
        with self._notifier.subscribe(f"job {job.id}") as woken:
            while True:
                known = await self._get(action_id)
                if known is not None and known.page is not None:
                    await self._redis.call(b"DEL", _key(action_id))
                    return known.page
                left_s = ends - asyncio.get_running_loop().time()
                if left_s <= 0:
                    raise RunnerAway(
                        f"the runner `{job.runner_id}` did not answer in {WAIT_S:.0f} s; try again, or use"
                        " `baton jobs diff` on its machine"
                    )
                await wait(woken, min(left_s, _LOOK_S))

    async def _put(self, action_id: str, asked: _Asked) -> None:
        await self._redis.call(b"SET", _key(action_id), _encode(asked), b"EX", str(KEPT_S))

    async def _get(self, action_id: str) -> _Asked | None:
        found = await self._redis.call(b"GET", _key(action_id))
        return None if found is None else _decode(found)


def _key(action_id: str) -> bytes:
    return b"{baton}:diff-page:" + action_id.encode()
