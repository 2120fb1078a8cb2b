"""The tools by which clients start agents, and the keys of their input that a policy may change."""

AGENT_TOOLS = frozenset(
    {
        "Agent",
        "Task",
        "agent",
        "collaboration.spawn_agent",
        "collaborationspawn_agent",
        "delegate_to_agent",
        "invoke_agent",
        "spawn_agent",
        "task",
    }
)
"""By the names that clients post. Fixed, because `agent_tools` of config.yaml can be uploaded: a layer that called a
shell an agent tool could rewrite its lines."""
TYPE_KEYS = frozenset({"subagent_type", "agent_type", "agent_name", "subagent_name"})
PROMPT_KEYS = frozenset({"prompt", "message"})
AGENT_KEYS = frozenset({"model"}) | TYPE_KEYS | PROMPT_KEYS
"""The keys for an agent's model, type and prompt, in the words of each client."""
EVERY_TOOL = "*"


def may_rewrite(tool: str, accepted: frozenset[str]) -> bool:
    """Return whether a policy may change this tool's input; `accepted` are the tools that the developer opened to it."""
    return tool in AGENT_TOOLS or tool in accepted or EVERY_TOOL in accepted
