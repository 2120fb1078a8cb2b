"""`baton mcp`: the MCP server with the delegation tools, on standard input and output."""

from importlib.metadata import version

from mcp.server.mcpserver import MCPServer

from baton.local.server import Api
from baton.mcp import delegation, graphs, jobs
from baton.mcp.client import ServerClient

INSTRUCTIONS = """\
You can delegate coding tasks to specialized agents, which run on this person's machine.

When the person wants to work with code or files (list, read, write, search, analyze, refactor, etc.), and wants another
agent to do it, use the delegate.run tool to route the task to Codex or Claude Code, with the exact instruction. It
returns at once; agent_output waits for the agent's answer, agent_cancel ends it. jobs_list and job_show show earlier jobs,
job_retry and job_cancel change them; job_reply continues with an ended job's agent. job_diff shows a job's changes in a
worktree; job_apply writes them to the working tree, job_branch creates a branch.

For general conversation, introductions, or capability questions, respond yourself.

To start an agent of the team's roster use agent_spawn; to start several with dependencies, graph_create once and then
graph_spawn for each wave. If a system prompt asks for a tool invoke_…, use this server's: pass the task with everything the model must know, and return its answer.
"""


def build(api: Api, session_id: str) -> MCPServer:
    """Return the server with all tools, for one agent's session."""
    server = MCPServer("baton", instructions=INSTRUCTIONS, version=version("baton"), log_level="WARNING")
    baton = ServerClient(api, session_id)
    delegation.offer(server, baton)
    graphs.offer(server, baton)
    jobs.offer(server, baton)
    return server


def serve(session_id: str) -> None:
    """Serve until standard input ends."""
    build(Api(), session_id).run()
