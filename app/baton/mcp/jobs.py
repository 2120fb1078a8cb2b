"""The tools for existing jobs, delegated by the agent or the person."""

from typing import Annotated, Any
from urllib.parse import quote

from mcp.server.mcpserver import Context, MCPServer
from pydantic import BaseModel, ConfigDict, Field

from baton.mcp.client import ServerClient
from baton.mcp.delegation import progress_sink

JobId = Annotated[str, Field(min_length=1, description="The job's id, as `jobs_list` or `delegate.run` gave it.")]
Branch = Annotated[str, Field(min_length=1, max_length=200, description="The new branch.")]
_LISTED = (
    "id",
    "state",
    "provider",
    "title",
    "workspace",
    "session_id",
    "progress",
    "created_at",
    "ended_at",
    "disconnected_since",
    "waiting_for",
    "waiting",
)
_SHOWN = (*_LISTED, "isolation", "attempt", "model", "usage", "error", "depends_on", "late_result", "runner", "prompt")
_TIMES = ("queued_at", "started_at", "cancel_requested", "attempts")


class Comment(BaseModel):
    """A comment on a line of a file in the job's version."""

    model_config = ConfigDict(extra="forbid")

    file: str = Field(min_length=1, description="The path in the repository.")
    line: int = Field(ge=1, description="The line, from 1.")
    text: str = Field(min_length=1, description="Message to the agent about this line.")


def offer(server: MCPServer, baton: ServerClient) -> None:
    """Add the tools to a server."""

    @server.tool(description="List delegated jobs, the newest first.")
    async def jobs_list(
        *,
        this_session: Annotated[bool, Field(description="Only jobs of this session.")] = True,
        state: Annotated[str, Field(description="Only in this state, such as `running` or `failed`.")] = "",
        limit: Annotated[int, Field(ge=1, le=100, description="Most jobs.")] = 20,
    ) -> dict[str, Any]:
        asked = {"session_id": baton.session_id if this_session else "", "state": state, "limit": str(limit)}
        query = {name: value for name, value in asked.items() if value}
        found = await baton.request("GET", "/jobs", query=query)
        return {"jobs": [_part(job, _LISTED) for job in found["items"]]}

    @server.tool(description="Show one job: its state, cost and failure reason. agent_output has its answer.")
    async def job_show(job_id: JobId) -> dict[str, Any]:
        return _part(await baton.job(job_id), (*_SHOWN, *_TIMES))

    @server.tool(description="Cancel a job: its agent is ended.")
    async def job_cancel(job_id: JobId) -> dict[str, Any]:
        return _part(await baton.cancel(job_id), ("id", "state", "cancel_requested"))

    @server.tool(description="Rerun a failed, cancelled or skipped job. agent_output waits for its answer.")
    async def job_retry(job_id: JobId) -> dict[str, Any]:
        found = await baton.request("POST", f"/jobs/{quote(job_id, safe='')}/retry")
        return _part(found, ("id", "state", "attempt", "waiting"))

    @server.tool(
        description="Show the changes in a job's worktree: the files and the diff (`truncated` if large). With `path` or"
        " `offset`, read the whole diff in pages from its machine: `text`, and `next_offset` before the last page."
        " job_apply writes the changes to the person's working tree."
    )
    async def job_diff(
        job_id: JobId,
        path: Annotated[str, Field(description="Only this file's diff, by its path in the list of files.")] = "",
        offset: Annotated[
            int | None, Field(ge=0, description="Start of the page: 0, then `next_offset` of the previous page.")
        ] = None,
    ) -> dict[str, Any]:
        of_job = f"/jobs/{quote(job_id, safe='')}/diff"
        paged = bool(path) or offset is not None
        query = {name: value for name, value in (("path", path), ("offset", str(offset or 0))) if value}
        found: dict[str, Any] = await (
            baton.request("GET", f"{of_job}/pages", query=query) if paged else baton.request("GET", of_job)
        )
        return found

    @server.tool(
        description="Reply to an ended job: its agent continues its thread, in the workspace as it left it. Comments name"
        " a file and a line of its changes. Returns the new job; agent_output waits for its answer."
    )
    async def job_reply(
        job_id: JobId,
        message: Annotated[str, Field(description="Message to the agent.")] = "",
        comments: Annotated[list[Comment], Field(description="Comments on the job's changes.")] = [],  # noqa: B006
        model: Annotated[str, Field(description="Another model than before.")] = "",
    ) -> dict[str, Any]:
        body = {"message": message, "comments": [one.model_dump() for one in comments], "model": model}
        found = await baton.request("POST", f"/jobs/{quote(job_id, safe='')}/reply", body)
        return {"task_id": found["job"]["id"], **_part(found["job"], ("id", "state", "thread", "waiting"))}

    _offer_results(server, baton)


def _offer_results(server: MCPServer, baton: ServerClient) -> None:
    @server.tool(
        description="Write the changes of a job's worktree into the working tree, all or nothing. Conflicts are"
        " `refused` with their reasons, and nothing is written."
    )
    async def job_apply(job_id: JobId, context: Context) -> dict[str, Any]:
        return _outcome(await baton.used(job_id, "apply", {}, progress_sink(context)))

    @server.tool(description="Make a git branch of the changes in a job's worktree; no file is touched.")
    async def job_branch(job_id: JobId, branch: Branch, context: Context) -> dict[str, Any]:
        return _outcome(await baton.used(job_id, "branch", {"branch": branch}, progress_sink(context)))

    @server.tool(description="Remove a job's changes and worktree permanently. Only if the person asked for it.")
    async def job_discard(job_id: JobId, context: Context) -> dict[str, Any]:
        return _outcome(await baton.used(job_id, "discard", {}, progress_sink(context)))

    @server.tool(
        description="Push a branch of a job's changes, and open a pull or merge request with the person's `gh` or"
        " `glab`. Only if the person asked for one."
    )
    async def job_pr(
        job_id: JobId,
        context: Context,
        title: Annotated[str, Field(max_length=200, description="Its title; the job's if empty.")] = "",
        body: Annotated[str, Field(description="Its text.")] = "",
        branch: Annotated[str, Field(description="The new branch; named like the job if empty.")] = "",
        target: Annotated[str, Field(description="The branch to merge into; the usual one if empty.")] = "",
        *,
        draft: Annotated[bool, Field(description="Open it as a draft.")] = False,
    ) -> dict[str, Any]:
        given = {"title": title, "body": body, "branch": branch, "target": target, "draft": draft}
        asked = {name: value for name, value in given.items() if value}
        return _outcome(await baton.used(job_id, "pr", asked, progress_sink(context)))


def _outcome(action: dict[str, Any]) -> dict[str, Any]:
    return _part(action, ("job", "verb", "state", "code", "detail", "reasons", "changed", "branch", "url"))


def _part(job: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: job[name] for name in names if job.get(name) not in (None, "", [])}
