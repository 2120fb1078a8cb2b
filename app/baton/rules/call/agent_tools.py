"""The clients' tools for starting agents, and the keys of their input that a policy may change."""

GENERAL_AGENTS = frozenset({"Explore", "Plan", "fork", "general", "general-purpose", "generalist"})
"""The clients' built-in agents for any work: prompts are not routed to them."""
AGENT_TOOLS = frozenset(
    {
        "Agent", "Task", "agent", "collaboration.spawn_agent", "collaborationspawn_agent", "delegate_to_agent",
        "invoke_agent", "spawn_agent", "task",
    }
)  # fmt: skip
"""By the clients' names. Fixed, because `agent_tools` of config.yaml can be uploaded: a layer declaring a shell an
agent tool could rewrite its lines.
"""
TYPE_KEYS = frozenset({"subagent_type", "agent_type", "agent_name", "subagent_name"})
PROMPT_KEYS = frozenset({"prompt", "message"})
AGENT_KEYS = frozenset({"model"}) | TYPE_KEYS | PROMPT_KEYS  # the clients' keys for an agent's model, type and prompt
EVERY_TOOL = "*"


def may_rewrite(tool: str, accepted: frozenset[str]) -> bool:
    """Return whether a policy may change this tool's input; `accepted` are the tools opened by the developer."""
    return tool in AGENT_TOOLS or tool in accepted or EVERY_TOOL in accepted
