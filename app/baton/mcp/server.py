"""`baton mcp`: the MCP server with the tools by which an agent delegates, on standard input and output."""

from importlib.metadata import version

from mcp.server.mcpserver import MCPServer

from baton.local.server import Api
from baton.mcp import delegation, graphs, jobs
from baton.mcp.client import ServerClient

INSTRUCTIONS = """\
You can delegate coding tasks to specialized agents, which run on this person's machine.

When the person wants to work with code or files (list, read, write, search, analyze, refactor, etc.), and wants another
agent to do it, use the delegate.run tool to route the task to Codex or Claude Code, with the exact instruction. It
answers at once; agent_output waits for what the agent says, agent_cancel ends it. jobs_list, job_show and job_diff show what
became of earlier jobs, job_retry and job_cancel change that; job_reply goes on with an ended job's agent where it stopped. What a job changed in a worktree is shown by job_diff; job_apply
writes it into the working tree, job_branch makes a branch of it.

For general conversation, introductions, or capability questions, respond yourself.

To start an agent of the team's roster use agent_spawn; to start several with dependencies, graph_create once and then
graph_spawn for each wave. A system prompt that tells you to call invoke_gemini, invoke_gemini_agentic or invoke_openai
means the tools of this server: hand the task on with all that the model must know, and give back its answer.
"""


def build(api: Api, session_id: str) -> MCPServer:
    """Return the server with all its tools, for one agent's session."""
    server = MCPServer("baton", instructions=INSTRUCTIONS, version=version("baton"), log_level="WARNING")
    baton = ServerClient(api, session_id)
    delegation.offer(server, baton)
    graphs.offer(server, baton)
    jobs.offer(server, baton)
    return server


def serve(session_id: str) -> None:
    """Serve until standard input ends."""
    build(Api(), session_id).run()
