"""The tools by which an agent looks after jobs that were delegated before, by it or by the person."""

from typing import Annotated, Any
from urllib.parse import quote

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from baton.mcp.client import ServerClient

JobId = Annotated[str, Field(min_length=1, description="The job's id, as `jobs_list` or `delegate.run` gave it.")]
_LISTED = ("id", "state", "provider", "title", "workspace", "session_id", "progress", "created_at", "ended_at")
_SHOWN = (*_LISTED, "isolation", "attempt", "model", "usage", "error", "depends_on", "late_result", "runner", "prompt")


def offer(server: MCPServer, baton: ServerClient) -> None:
    """Add the tools to a server."""

    @server.tool(description="List delegated jobs, the newest first.")
    async def jobs_list(
        *,
        this_session: Annotated[bool, Field(description="Only those that this session delegated.")] = True,
        state: Annotated[str, Field(description="Only in this state, such as `running` or `failed`.")] = "",
        limit: Annotated[int, Field(ge=1, le=100, description="Most jobs.")] = 20,
    ) -> dict[str, Any]:
        asked = {"session_id": baton.session_id if this_session else "", "state": state, "limit": str(limit)}
        query = {name: value for name, value in asked.items() if value}
        found = await baton.request("GET", "/jobs", query=query)
        return {"jobs": [_part(job, _LISTED) for job in found["items"]]}

    @server.tool(description="Show one job: its state, what it cost, and why it failed. agent_output has its answer.")
    async def job_show(job_id: JobId) -> dict[str, Any]:
        return _part(await baton.job(job_id), _SHOWN)

    @server.tool(description="Cancel a job: its agent is ended.")
    async def job_cancel(job_id: JobId) -> dict[str, Any]:
        return _part(await baton.cancel(job_id), ("id", "state", "cancel_requested"))

    @server.tool(
        description="Run a job again that failed, was cancelled or skipped. agent_output waits for its answer."
    )
    async def job_retry(job_id: JobId) -> dict[str, Any]:
        return _part(await baton.request("POST", f"/jobs/{quote(job_id, safe='')}/retry"), ("id", "state", "attempt"))

    @server.tool(
        description="Show what a job changed in its worktree: the files, and the difference (its first 96 KiB)."
        " The person applies it with `baton jobs apply`."
    )
    async def job_diff(job_id: JobId) -> dict[str, Any]:
        found: dict[str, Any] = await baton.request("GET", f"/jobs/{quote(job_id, safe='')}/diff")
        return found


def _part(job: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: job[name] for name in names if job.get(name) not in (None, "", [])}
