"""How each client's agents call their tools, for the texts that they read, and which rewrites they can take.

The engine knows one name for each kind of tool; `baton.clients` translates a client's names into it, this table back.
"""

from collections.abc import Iterable, Mapping

import msgspec


class ClientWords(msgspec.Struct, frozen=True, kw_only=True):
    """One client's words.

    `task_tool` is the tool that starts a sub-agent, `task_call` the name and the arguments of a call of it: `{agent}`,
    `{prompt}` and `{name}` (the agent's name as an identifier) are filled in. `tools` and `agents` are the client's
    own names by those that rules use. `no_question` is said in place of a question if the client cannot ask one.
    """

    task_tool: str
    task_call: tuple[str, Mapping[str, str]]
    tools: Mapping[str, str] = {}
    agents: Mapping[str, str] = {}
    no_question: str = ""
    takes_model: bool = True
    """Whether a call that starts a sub-agent takes the model that a rule sets."""
    takes_rewrites: bool = True
    """Whether the client runs a tool with an input that a rule changes."""
    advice_after: bool = False
    """Whether advice on a call reaches the model only beside the call's result."""

    def placeholders(self, tool: str) -> dict[str, str]:
        """Return what every rule's text may name: the call's tool, and the tool that starts a sub-agent."""
        return {"tool": self.tools.get(tool, tool), "task_tool": self.task_tool}

    def takes(self, keys: Iterable[str]) -> bool:
        """Return whether the client runs a tool with these keys of its input changed."""
        return self.takes_rewrites and (self.takes_model or "model" not in keys)


GENERAL_AGENTS = frozenset({"Explore", "Plan", "fork", "general", "general-purpose", "generalist"})
"""Agents that clients bring along for any work: no prompt is for one of them more than for the client itself."""
CLAUDE_CODE = ClientWords(task_tool="Task tool", task_call=("Task", {"prompt": "{prompt}", "subagent_type": "{agent}"}))
WORDS: dict[str, ClientWords] = {
    "codex": ClientWords(  # it has no agent types
        task_tool="spawn_agent",
        task_call=("spawn_agent", {"task_name": "{name}", "message": "{prompt}", "fork_turns": "none"}),
        no_question="Codex cannot ask: the person may run it outside the agent.",
    ),
    "copilot-cli": ClientWords(
        task_tool="task tool",
        task_call=(
            "task",
            {"agent_type": "{agent}", "name": "{name}", "description": "{name}", "prompt": "{prompt}"},
        ),
        tools={
            "Bash": "bash",
            "Edit": "edit",
            "Write": "create",
            "Read": "view",
            "Grep": "grep",
            "Glob": "glob",
            "Agent": "task",
        },
        agents={"Explore": "explore"},
    ),
    "opencode": ClientWords(
        task_tool="task tool",
        task_call=("task", {"description": "{name}", "prompt": "{prompt}", "subagent_type": "{agent}"}),
        tools={
            "Bash": "bash",
            "Edit": "edit",
            "Write": "write",
            "Read": "read",
            "Grep": "grep",
            "Glob": "glob",
            "LS": "list",
            "Agent": "task",
        },
        agents={"Explore": "explore", "general-purpose": "general"},
        no_question="opencode cannot ask here: the person may run it outside the agent.",
        takes_model=False,
    ),
    "gemini": ClientWords(
        task_tool="invoke_agent tool",
        task_call=("invoke_agent", {"agent_name": "{agent}", "prompt": "{prompt}"}),
        tools={
            "Bash": "run_shell_command",
            "Edit": "replace",
            "Write": "write_file",
            "Read": "read_file",
            "Grep": "grep_search",
            "Glob": "glob",
            "LS": "list_directory",
            "Agent": "invoke_agent",
        },
        agents={"Explore": "codebase_investigator", "general-purpose": "generalist"},
        no_question="Gemini CLI cannot ask here: the person may run it outside the agent.",
        takes_model=False,
        advice_after=True,
    ),
    "cursor": ClientWords(
        task_tool="Task tool",
        task_call=("Task", {"description": "{name}", "prompt": "{prompt}", "subagent_type": "{agent}"}),
        tools={"Bash": "Shell", "Agent": "Task"},
        agents={"Explore": "explore", "general-purpose": "generalPurpose"},
        no_question="Cursor cannot ask here: the person may run it outside the agent.",
        takes_model=False,
    ),
    "continue": ClientWords(
        task_tool="Subagent tool",
        task_call=("Subagent", {"description": "{name}", "prompt": "{prompt}", "subagent_name": "{agent}"}),
        tools={"Grep": "Search", "LS": "List", "WebFetch": "Fetch", "Agent": "Subagent"},
        takes_model=False,
    ),
    "qwen": ClientWords(
        task_tool="agent tool",
        task_call=("agent", {"description": "{name}", "prompt": "{prompt}", "subagent_type": "{agent}"}),
        tools={
            "Bash": "run_shell_command",
            "Edit": "edit",
            "Write": "write_file",
            "Read": "read_file",
            "Grep": "grep_search",
            "Glob": "glob",
            "LS": "list_directory",
            "NotebookEdit": "notebook_edit",
            "Agent": "agent",
        },
        takes_model=False,
        takes_rewrites=False,
        advice_after=True,
    ),
}
"""By a client's name in `/hooks/{client}`; the others speak as Claude Code does."""


def words_of(client: str) -> ClientWords:
    """Return the words of a client."""
    return WORDS.get(client, CLAUDE_CODE)
