"""Calls the server for an agent's tools: its public HTTP API, with the person's own token."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any
from urllib.parse import quote

import anyio
from mcp.server.mcpserver.exceptions import ToolError

from baton.local.server import Api, ApiError, PersonNeeded, Refused, TokenRefused

ENDED = frozenset({"completed", "failed", "cancelled", "skipped"})
CHATTY_S = 0.5
"""Shortest time between two looks at a job, in seconds."""
CANCEL_S = 5.0
"""How long a cancelled tool call may take to cancel its job, in seconds."""
ACTION_S = 5.0
"""How long one request waits for a job's next event, or for what a runner does with a result, in seconds."""
MOST_REQUESTS = 100
"""Most requests at once; each of the calls that wait has one."""
AWAY_PACE_S = 2.0
"""Shortest time between two looks while the server is away, in seconds."""
AWAY_S = 600.0
"""How long the server may stay away while a tool waits for a job, in seconds."""
ProgressSink = Callable[[str], Awaitable[None]]
"""Tells the client how far a job is."""


def standing(job: dict[str, Any]) -> str:
    """Return what keeps a job from going on, in words; "" for nothing."""
    if since := job.get("disconnected_since"):
        return f"disconnected since {since}"
    if waiting := job.get("waiting"):
        return f"since {waiting['since']}: {waiting['detail']}"
    return f"waiting for {job['waiting_for']}" if job.get("waiting_for") else ""


class ServerAway(ToolError):
    """The server did not answer, or cannot now."""


def resume_hint(job_id: str) -> str:
    """Return how an agent goes on waiting for a job, whose call ended before the client would have given it up."""
    return f"It goes on; call agent_output(task_id={job_id!r}) again to go on waiting for its answer."


class ServerClient:
    """Calls the server for one agent's session."""

    def __init__(self, api: Api, session_id: str) -> None:
        self._api = api
        self._limiter = anyio.CapacityLimiter(MOST_REQUESTS)
        self.session_id = session_id

    async def request(
        self, method: str, path: str, body: dict[str, Any] | None = None, query: dict[str, str] | None = None
    ) -> Any:
        """Make a request and return the answer's JSON; it runs to its end even if the tool call is cancelled.

        Raises:
            ToolError: If the server refuses it or is away; with the server's own words.
        """
        try:
            asking = partial(self._api.request, method, path, body=body, query=query)
            return await anyio.to_thread.run_sync(asking, abandon_on_cancel=True, limiter=self._limiter)
        except (Refused, TokenRefused, PersonNeeded) as error:
            raise ToolError(str(error)) from None
        except ApiError as error:
            raise ServerAway(str(error)) from None

    async def job(self, job_id: str) -> dict[str, Any]:
        """Return a job. Raise ToolError."""
        found: dict[str, Any] = await self.request("GET", f"/jobs/{quote(job_id, safe='')}")
        return found

    async def ended(self, job_id: str, tell: ProgressSink, timeout_s: float) -> dict[str, Any]:
        """Wait until a job has ended, or at most so many seconds, and return the job.

        Once the server has answered it may be away for `AWAY_S`: a restart of it must not cost an agent its answer.

        Raises:
            ToolError: If the server refuses to show the job, or stays away.
        """
        end, told = time.monotonic() + timeout_s, ""
        job, heard = await self.job(job_id), time.monotonic()
        while True:
            left_s = end - time.monotonic()
            if job["state"] in ENDED or left_s <= 0:
                return job
            now, seen = f"{job['state']} {standing(job) or job['progress']}".strip(), job["events"]
            if now != told:
                await tell(now)
                told = now
            began, pace_s = time.monotonic(), CHATTY_S
            # The server answers at the next event.
            query = {"wait_s": f"{min(ACTION_S, left_s):.3f}", "after": str(seen)}
            try:
                job = await self.request("GET", f"/jobs/{quote(job_id, safe='')}", query=query)
                heard = time.monotonic()
            except ServerAway:
                if time.monotonic() - heard > AWAY_S:
                    raise
                pace_s = AWAY_PACE_S
            # An agent that talks all the time is looked at now and then.
            rest_s = pace_s - (time.monotonic() - began) if job["state"] not in ENDED else 0
            await asyncio.sleep(max(min(rest_s, end - time.monotonic()), 0))

    async def output(self, job_id: str) -> str:
        """Return what a job's agent has answered so far. Raise ToolError."""
        found = await self.request("GET", f"/jobs/{quote(job_id, safe='')}/output")
        return str(found["output"])

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """Cancel a job. Raise ToolError."""
        found: dict[str, Any] = await self.request("POST", f"/jobs/{quote(job_id, safe='')}/cancel")
        return found

    async def used(self, job_id: str, verb: str, asked: dict[str, Any], tell: ProgressSink) -> dict[str, Any]:
        """Ask a job's runner to do something with its result, and return what became of it. Raise ToolError."""
        path = f"/jobs/{quote(job_id, safe='')}"
        found: dict[str, Any] = await self.request("POST", f"{path}/{verb}", asked | {"wait_s": ACTION_S})
        while found["state"] in {"asked", "taken"}:
            await tell(f"{verb}: {found['state']}")
            query = {"wait_s": str(ACTION_S)}
            found = await self.request("GET", f"{path}/actions/{quote(found['id'], safe='')}", query=query)
        return found

    async def answer(self, job_id: str, tell: ProgressSink, timeout_s: float) -> str:
        """Wait until a job has ended and return its answer; if the tool call is cancelled, cancel the job.

        If that takes longer than so many seconds, return how to go on waiting.

        Raises:
            ToolError: If the job did not complete.
        """
        try:
            job = await self.ended(job_id, tell, timeout_s)
        except asyncio.CancelledError:
            with anyio.move_on_after(CANCEL_S, shield=True):
                await self.cancel(job_id)
            raise
        if job["state"] not in ENDED:
            return f"The task {job_id} is {job['state']}. {resume_hint(job_id)}"
        if job["state"] != "completed":
            error = job.get("error") or {}
            raise ToolError(f"{job_id} is {job['state']}: {error.get('detail') or 'no reason was given'}")
        return await self.output(job_id)
