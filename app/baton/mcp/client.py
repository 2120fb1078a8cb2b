"""HTTP client of the agent's tools, with the person's own token."""

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
CHATTY_S = 0.5  # minimum interval between two requests for a job, in seconds
CANCEL_S = 5.0  # time for a cancelled tool call to cancel its job, in seconds
ACTION_S = 5.0  # server-side wait of one request for a job's event or a runner's action, in seconds
MOST_REQUESTS = 100  # maximum number of concurrent requests. Each waiting call has one.
AWAY_PACE_S = 2.0  # minimum interval of requests while the server is unavailable, in seconds
AWAY_S = 600.0  # maximum unavailability of the server during a wait for a job, in seconds
ProgressSink = Callable[[str], Awaitable[None]]  # reports a job's progress to the client


def standing(job: dict[str, Any]) -> str:
    """Describe why a job is blocked, or return ""."""
    if since := job.get("disconnected_since"):
        return f"disconnected since {since}"
    if waiting := job.get("waiting"):
        return f"since {waiting['since']}: {waiting['detail']}"
    return f"waiting for {job['waiting_for']}" if job.get("waiting_for") else ""


def _lacks_runner(job: dict[str, Any]) -> bool:
    return (job.get("waiting") or {}).get("reason") in {"no_runner", "runner_offline", "not_served"}


class ServerUnavailable(ToolError):
    """The server did not answer, or cannot now."""


def resume_hint(job_id: str) -> str:
    """Explain how to continue waiting for a job, for a call that ends before the client's timeout."""
    return f"It continues; call agent_output(task_id={job_id!r}) again to continue waiting for its answer."


class ServerClient:
    """Calls the server for one agent's session."""

    def __init__(self, api: Api, session_id: str) -> None:
        self._api = api
        self._limiter = anyio.CapacityLimiter(MOST_REQUESTS)
        self.session_id = session_id

    async def request(
        self, method: str, path: str, body: dict[str, Any] | None = None, query: dict[str, str] | None = None
    ) -> Any:
        """Send a request and return the response's JSON, even if the tool call is cancelled. Raise ToolError."""
        try:
            asking = partial(self._api.request, method, path, body=body, query=query)
            return await anyio.to_thread.run_sync(asking, abandon_on_cancel=True, limiter=self._limiter)
        except (Refused, TokenRefused, PersonNeeded) as error:
            raise ToolError(str(error)) from None
        except ApiError as error:
            raise ServerUnavailable(str(error)) from None

    async def job(self, job_id: str) -> dict[str, Any]:
        """Return a job. Raise ToolError."""
        found: dict[str, Any] = await self.request("GET", f"/jobs/{quote(job_id, safe='')}")
        return found

    async def ended(self, job_id: str, tell: ProgressSink, timeout_s: float) -> dict[str, Any]:
        """Wait for a job's end with a timeout, and return the job. Raise ToolError.

        A job without a connected runner is returned at once: only a person can change that. After a first answer the
        server may be unavailable for `AWAY_S`: its restart must not cost the agent's answer.
        """
        end, told = time.monotonic() + timeout_s, ""
        job, heard = await self.job(job_id), time.monotonic()
        while True:
            left_s = end - time.monotonic()
            if job["state"] in ENDED or left_s <= 0 or _lacks_runner(job):
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
            except ServerUnavailable:
                if time.monotonic() - heard > AWAY_S:
                    raise
                pace_s = AWAY_PACE_S
            # Limits the rate for very talkative agents.
            rest_s = pace_s - (time.monotonic() - began) if job["state"] not in ENDED else 0
            await asyncio.sleep(max(min(rest_s, end - time.monotonic()), 0))

    async def output(self, job_id: str) -> str:
        """Return the agent's answer so far. Raise ToolError."""
        found = await self.request("GET", f"/jobs/{quote(job_id, safe='')}/output")
        return str(found["output"])

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """Cancel a job. Raise ToolError."""
        found: dict[str, Any] = await self.request("POST", f"/jobs/{quote(job_id, safe='')}/cancel")
        return found

    async def used(self, job_id: str, verb: str, asked: dict[str, Any], tell: ProgressSink) -> dict[str, Any]:
        """Request an action on a job's result, and return its outcome. Raise ToolError."""
        path = f"/jobs/{quote(job_id, safe='')}"
        found: dict[str, Any] = await self.request("POST", f"{path}/{verb}", asked | {"wait_s": ACTION_S})
        while found["state"] in {"asked", "taken"}:
            await tell(f"{verb}: {found['state']}")
            query = {"wait_s": str(ACTION_S)}
            found = await self.request("GET", f"{path}/actions/{quote(found['id'], safe='')}", query=query)
        return found

    async def answer(self, job_id: str, tell: ProgressSink, timeout_s: float) -> str:
        """Wait for a job's answer, or explain how to continue. Cancel it with the tool call. Raise ToolError."""
        try:
            job = await self.ended(job_id, tell, timeout_s)
        except asyncio.CancelledError:
            with anyio.move_on_after(CANCEL_S, shield=True):
                await self.cancel(job_id)
            raise
        if job["state"] not in ENDED:
            why = f": {job['waiting']['detail']}" if _lacks_runner(job) else ""
            return f"The task {job_id} is {job['state']}{why}. {resume_hint(job_id)}"
        if job["state"] != "completed":
            error = job.get("error") or {}
            raise ToolError(f"{job_id} is {job['state']}: {error.get('detail') or 'no reason was given'}")
        return await self.output(job_id)
