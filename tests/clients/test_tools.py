"""Every tool that a client is known to have is of a kind that rules know, in the client's own name."""

import re

import pytest
import yaml

from baton.clients.registry import CLIENTS
from baton.engine.call.agent_tools import AGENT_TOOLS

KINDS = ("shell", "edit", "look-up", "agent", "mcp")
TOOLS = {
    "claude-code": {
        "shell": "Bash PowerShell Monitor",
        "edit": "Edit Write MultiEdit NotebookEdit",
        "look-up": "Read Grep Glob LS NotebookRead",
        "agent": "Agent Task",
        "mcp": "mcp__files__write",
        # `Workflow` starts agents without a call for each: it is only heard of.
        "other": """Workflow AskUserQuestion TodoWrite TaskCreate TaskUpdate TaskList TaskGet TaskOutput TaskStop WebFetch WebSearch
            Skill ToolSearch EnterPlanMode ExitPlanMode BashOutput KillShell SendMessage""",
    },
    "codex": {
        "shell": "Bash exec_command shell_command local_shell",
        "edit": "apply_patch",
        "agent": "spawn_agent collaborationspawn_agent collaboration.spawn_agent",
        "mcp": "mcp__files__write",
        "other": "collaborationwait_agent collaborationlist_agents get_goal list_mcp_resources view_image update_plan",
    },
    "copilot-cli": {
        "shell": "bash write_bash",
        "edit": "edit create apply_patch",
        "look-up": "view grep rg glob",
        "agent": "task",
        "other": "read_bash list_bash stop_bash skill ask_user update_todo web_fetch web_search",
    },
    "opencode": {
        "shell": "bash",
        "edit": "edit write patch apply_patch multiedit",
        "look-up": "read grep glob list",
        "agent": "task",
        "other": "todowrite todoread webfetch websearch skill question",
    },
    "gemini": {
        "shell": "run_shell_command",
        "edit": "replace write_file",
        "look-up": "read_file read_many_files grep_search search_file_content glob list_directory",
        "agent": "invoke_agent",
    },
    "qwen": {
        "shell": "run_shell_command monitor",
        "edit": "edit write_file notebook_edit",
        "look-up": "read_file grep_search glob list_directory",
        "agent": "agent task",
        "other": "web_fetch web_search todo_write skill tool_search ask_user_question",
    },
    "cursor": {
        "shell": "Shell",
        "edit": "Write Edit StrReplace Delete",
        "look-up": "Read Grep Glob LS SemanticSearch",
        "agent": "Task",
        "mcp": "MCP:create_issue MCP:github:create_issue",
        "other": "TodoWrite WebFetch WebSearch AskQuestion",
    },
    "continue": {
        "shell": "Bash",
        "edit": "Edit MultiEdit Write",
        "look-up": "Read Search List",
        "agent": "Subagent",
        "other": "Fetch Skills Checklist AskQuestion CheckBackgroundJob Status Exit Diff ReportFailure UploadArtifact",
    },
}
"""By client and kind, from recorded payloads, the clients' sources and their documentation."""


@pytest.fixture(scope="module")
def kinds(request):
    text = (request.config.rootpath / "policies" / "config.yaml").read_text()
    config = yaml.safe_load(text)
    found = dict.fromkeys(config["shell_tools"], "shell")
    found |= dict.fromkeys(AGENT_TOOLS | set(config["agent_tools"]), "agent")
    for group, kind in (("edit_tools", "edit"), ("lookup_tools", "look-up")):
        [listed] = re.findall(rf"^  {group}: \[(.*)\]$", text, re.MULTILINE)
        found |= dict.fromkeys(listed.split(", "), kind)
    return found


def read_as(client, tool):
    """Return the engine's name of a tool that a client posts."""
    payload = {"tool_name": tool, "toolName": tool, "input": {"tool": tool}}
    return CLIENTS[client].read(payload, "PreToolUse").tool_name


def test_every_client_is_in_the_table():
    assert set(TOOLS) == set(CLIENTS)


@pytest.mark.parametrize("client", TOOLS)
def test_no_known_tool_falls_through_as_unknown(client, kinds):
    wrong = []
    for kind, names in TOOLS[client].items():
        for tool in names.split():
            read = read_as(client, tool)
            found = "mcp" if read.startswith("mcp__") else kinds.get(read, "other")
            if found != kind:
                wrong.append(f"`{tool}` is read as `{read}`, which is {found} and not {kind}")
    assert not wrong, "\n".join(wrong)
