"""The tools for delegation to other agents, on the person's runner."""

import os
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import TextContent
from pydantic import Field

from baton.mcp.arguments import with_job_arguments
from baton.mcp.client import ENDED, ProgressSink, ServerClient, resume_hint

# Timeouts of tool calls, shorter than the client's own.

LONGEST_WAIT_S = 600.0
MARGIN_S = 10.0  # reserve for the response's way back, in seconds
_USUAL_S = 60.0  # the timeout of most clients' tool calls (the MCP SDKs', Codex's `tool_timeout_sec`), in seconds
_NAME, _VARIABLE = "claude-code", "MCP_TOOL_TIMEOUT"


def longest_wait_s(context: Context, env: Mapping[str, str] = os.environ) -> float:
    """Return this client's maximum wait per call, in seconds. Claude Code has `MCP_TOOL_TIMEOUT`, in ms."""
    params = context.session.client_params
    if params is None or params.client_info.name != _NAME:
        return _USUAL_S - MARGIN_S
    limit = env.get(_VARIABLE, "")
    if not limit.isascii() or not limit.isdigit():
        return LONGEST_WAIT_S
    return min(max(int(limit) / 1_000 - MARGIN_S, 1.0), LONGEST_WAIT_S)


MAX_TURNS = 10  # the default of `invoke_gemini_agentic`
LONGEST_TITLE = 120  # maximum length of a task's display title, in characters

Roster = Annotated[str, Field(description="One roster by its name; the team's list if empty.")]
Prompt = Annotated[
    str, Field(min_length=1, description="The task for the model; it knows nothing else of your session.")
]
Workspace = Annotated[
    str, Field(description="The alias of a workspace of the person's runner; its first one if empty.")
]
TaskId = Annotated[str, Field(min_length=1, description="The task's id, as `agent_spawn` or `delegate.run` gave it.")]
_DELEGATE = (
    "Route a coding task to specialized agents (Codex or Claude Code) for execution. Use this for any file operations,"
    " code analysis, refactoring, or workspace exploration."
)


def offer(server: MCPServer, baton: ServerClient) -> None:
    """Add the tools to a server."""
    _offer_delegate(server, baton)
    _offer_agents(server, baton)
    _offer_models(server, baton)


def _offer_delegate(server: MCPServer, baton: ServerClient) -> None:
    @server.tool(name="delegate.run", description=_DELEGATE, structured_output=False)
    @with_job_arguments
    async def delegate_run(
        user_prompt: Annotated[str, Field(min_length=1, description="The specific coding task to perform")],
        provider: Annotated[
            str | None, Field(description="Which agent to use: 'codex' or 'claude_code' (default: codex)")
        ] = None,
        description: Annotated[str | None, Field(description="Optional brief description of the delegation")] = None,
        *,
        arguments: dict[str, Any],
    ) -> list[TextContent]:
        body = {"user_prompt": user_prompt, "provider": provider, "description": description}
        found = await baton.request("POST", "/delegate", body | arguments | {"session_id": baton.session_id})
        note = f"Its answer comes later: agent_output(task_id={found['job']['id']!r}) waits for it."
        if waiting := found["job"].get("waiting"):
            note = f"{found['job']['state']}: {waiting['detail']}. {note}"
        return [TextContent(type="text", text=found["acknowledgement"]), TextContent(type="text", text=note)]


def _offer_agents(server: MCPServer, baton: ServerClient) -> None:
    @server.tool(description="Start a sub-agent of the team's roster; returns its task's id at once.")
    @with_job_arguments
    async def agent_spawn(
        agent_type: Annotated[str, Field(min_length=1, description="The agent, as the roster calls it.")],
        prompt: Prompt,
        description: Annotated[str, Field(description="The task in a few words.")] = "",
        spawning_agent: Annotated[str, Field(description="You, as the roster calls you.")] = "",
        delegation_reason: Annotated[str, Field(description="Why you delegate; required of an orchestrator.")] = "",
        expected_outcome: Annotated[str, Field(description="The expected outcome; required of an orchestrator.")] = "",
        required_tools: Annotated[
            list[str], Field(description="The tools it needs; required of an orchestrator.")
        ] = [],  # noqa: B006 - the schema's default; nobody changes it
        thinking_budget: Annotated[int, Field(ge=0, description="In tokens; 0 for the agent's own.")] = 0,
        task_graph_id: Annotated[str, Field(description="The graph of this task.")] = "",
        task: Annotated[str, Field(description="With `task_graph_id`: the task's name in the graph.")] = "",
        roster: Roster = "",
        *,
        arguments: dict[str, Any],
    ) -> dict[str, Any]:
        body = {
            "agent_type": agent_type, "prompt": prompt, "description": description, "spawning_agent": spawning_agent,
            "delegation_reason": delegation_reason, "expected_outcome": expected_outcome, "required_tools": required_tools,
            "thinking_budget": thinking_budget, "task_graph_id": task_graph_id, "task": task, "roster": roster,
            "session_id": baton.session_id, "execute": "run",
        }  # fmt: skip
        return spawn_summary(await baton.request("POST", "/spawn", body | arguments))

    @server.tool(
        description="Wait for the end of a task, and return its agent's answer. After your client's timeout the answer so far is returned with a note. Call it again to continue waiting."
    )
    async def agent_output(
        task_id: TaskId,
        context: Context,
        *,
        block: Annotated[bool, Field(description="Wait for the end; false returns the answer so far.")] = True,
        timeout_s: Annotated[
            float, Field(ge=0, le=LONGEST_WAIT_S, description="Timeout in seconds, limited by your client's own.")
        ] = LONGEST_WAIT_S,
    ) -> dict[str, Any]:
        limit = min(timeout_s, longest_wait_s(context)) if block else 0
        job = await baton.ended(task_id, progress_sink(context), limit)
        found = {"task_id": task_id, "state": job["state"], "output": await baton.output(task_id)}
        if job["state"] not in ENDED:
            found["note"] = resume_hint(task_id)
        elif job.get("error"):
            found["error"] = job["error"]
        if job["state"] == "completed" and job["cancel_requested"]:
            found["note"] = "completed before the cancel"
        said = ("disconnected_since", "waiting", "waiting_for", "late_result")
        return found | {name: job[name] for name in said if job.get(name)}

    @server.tool(description="Cancel a task: its agent is ended.")
    async def agent_cancel(task_id: TaskId) -> dict[str, Any]:
        return {"task_id": task_id, "state": (await baton.cancel(task_id))["state"]}


def _offer_models(server: MCPServer, baton: ServerClient) -> None:
    @server.tool(
        description="Ask Gemini for one completion. It has no tools, so include everything it must know.",
        structured_output=False,
    )
    @with_job_arguments
    async def invoke_gemini(prompt: Prompt, context: Context, *, arguments: dict[str, Any]) -> str:
        only_words = "Answer in words at once. Use no tool, read no file, run no command."
        return await _invoked(
            baton, context, "gemini", f"{only_words}\n\n{prompt}", f"invoke_gemini: {prompt}", arguments
        )

    @server.tool(
        description="Let Gemini work on a task in a loop of its own, with full access to its tools.",
        structured_output=False,
    )
    @with_job_arguments
    async def invoke_gemini_agentic(
        prompt: Prompt,
        context: Context,
        max_turns: Annotated[int, Field(ge=1, le=100, description="Maximum number of turns.")] = MAX_TURNS,
        *,
        arguments: dict[str, Any],
    ) -> str:
        bounded = f"Take at most {max_turns} turns, then answer with your results so far."
        return await _invoked(
            baton, context, "gemini", f"{bounded}\n\n{prompt}", f"invoke_gemini_agentic: {prompt}", arguments
        )

    @server.tool(description="Ask an OpenAI model (GPT), with reasoning, through Codex.", structured_output=False)
    @with_job_arguments
    async def invoke_openai(
        prompt: Prompt,
        context: Context,
        reasoning_effort: Annotated[
            Literal["low", "medium", "high"], Field(description="How much it thinks.")
        ] = "high",
        *,
        arguments: dict[str, Any],
    ) -> str:
        thinking = f"Reasoning effort: {reasoning_effort}."
        return await _invoked(baton, context, "codex", f"{thinking}\n\n{prompt}", f"invoke_openai: {prompt}", arguments)


async def _invoked(
    baton: ServerClient, context: Context, provider: str, prompt: str, title: str, arguments: dict[str, Any]
) -> str:
    body = {
        "user_prompt": prompt,
        "provider": provider,
        "description": title[:LONGEST_TITLE],
        "session_id": baton.session_id,
        **arguments,
    }
    found = await baton.request("POST", "/delegate", body)
    return await baton.answer(found["job"]["id"], progress_sink(context), longest_wait_s(context))


def progress_sink(context: Context) -> ProgressSink:
    """Return a function that reports progress to the client."""
    steps = 0

    async def tell(text: str) -> None:
        nonlocal steps
        steps += 1
        await context.report_progress(steps, message=text)

    return tell


def spawn_summary(found: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of a spawn for its agent, without execution details."""
    shown = {name: found[name] for name in ("agent_type", "display_model", "tier", "colour", "task") if found.get(name)}
    job = found.get("job") or {}
    if job:
        shown |= {"task_id": job["id"], "state": job["state"]}
        shown |= {"waiting": job["waiting"]} if job.get("waiting") else {}
    return shown | ({"violation": found["violation"]} if found.get("violation") else {})
