"""The way from an agent's tools to the server: its public HTTP API, with the person's own token. It offers no tool itself."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import quote

import anyio
from mcp.server.mcpserver.exceptions import ToolError

from baton.local.server import Api, ApiError

ENDED = frozenset({"completed", "failed", "cancelled", "skipped"})
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
"""Pauses between two looks at a job grow from the one to the other, in seconds."""
CANCEL_S = 5.0
"""How long a tool that is given up takes at most to cancel its job, in seconds."""
Tell = Callable[[str], Awaitable[None]]
"""Tells the client how far a job is."""


class Baton:
    """Speaks to the server for one agent's session."""

    def __init__(self, api: Api, session_id: str) -> None:
        self._api = api
        self.session_id = session_id

    async def request(
        self, method: str, path: str, body: dict[str, Any] | None = None, query: dict[str, str] | None = None
    ) -> Any:
        """Make a request and give the answer's JSON; it ends also when the tool call is given up.

        Raises:
            ToolError: with the server's own words.
        """
        try:
            return await asyncio.to_thread(self._api.request, method, path, body=body, query=query)
        except ApiError as error:
            raise ToolError(str(error)) from None

    async def job(self, job_id: str) -> dict[str, Any]:
        """Look at a job. Raises ToolError."""
        found: dict[str, Any] = await self.request("GET", f"/jobs/{quote(job_id, safe='')}")
        return found

    async def ended(self, job_id: str, tell: Tell, timeout_s: float | None = None) -> dict[str, Any]:
        """Wait for a job's end, or for so many seconds, and give the job. Raises ToolError."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        pause_s, told = FIRST_PAUSE_S, ""
        while True:
            job = await self.job(job_id)
            if job["state"] in ENDED or (end is not None and time.monotonic() >= end):
                return job
            now = f"{job['state']} {job['progress']}".strip()
            if now != told:
                await tell(now)
                told = now
            await asyncio.sleep(pause_s if end is None else max(min(pause_s, end - time.monotonic()), 0))
            pause_s = min(pause_s * 1.5, LONGEST_PAUSE_S)

    async def output(self, job_id: str) -> str:
        """Give what a job's agent has said. Raises ToolError."""
        found = await self.request("GET", f"/jobs/{quote(job_id, safe='')}/output")
        return str(found["output"])

    async def cancel(self, job_id: str) -> dict[str, Any]:
        """Cancel a job. Raises ToolError."""
        found: dict[str, Any] = await self.request("POST", f"/jobs/{quote(job_id, safe='')}/cancel")
        return found

    async def answer(self, job_id: str, tell: Tell) -> str:
        """Wait for a job's end and give its answer; a job whose caller gives up is cancelled.

        Raises:
            ToolError: the job did not complete.
        """
        try:
            job = await self.ended(job_id, tell)
        except asyncio.CancelledError:
            with anyio.move_on_after(CANCEL_S, shield=True):
                await self.cancel(job_id)
            raise
        if job["state"] != "completed":
            error = job.get("error") or {}
            raise ToolError(f"{job_id} is {job['state']}: {error.get('detail') or 'it gives no reason'}")
        return await self.output(job_id)
