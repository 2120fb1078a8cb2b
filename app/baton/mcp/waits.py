"""How long a tool call may wait, so that the client does not give it up first."""

import os
from collections.abc import Mapping

from mcp.server.mcpserver import Context

LONGEST_WAIT_S = 600.0
MARGIN_S = 10.0
"""What is left for the way back, in seconds."""
_USUAL_S = 60.0
"""The time limit of most clients' tool calls (the MCP SDKs', `tool_timeout_sec` of Codex), in seconds."""
_NAME, _VARIABLE = "claude-code", "MCP_TOOL_TIMEOUT"


def longest_wait_s(context: Context, env: Mapping[str, str] = os.environ) -> float:
    """Return how long a call of this client may wait, in seconds.

    Claude Code waits for hours unless its `MCP_TOOL_TIMEOUT`, in milliseconds, says otherwise; it passes that on.
    """
    params = context.session.client_params
    if params is None or params.client_info.name != _NAME:
        return _USUAL_S - MARGIN_S
    limit = env.get(_VARIABLE, "")
    if not limit.isascii() or not limit.isdigit():
        return LONGEST_WAIT_S
    return min(max(int(limit) / 1_000 - MARGIN_S, 1.0), LONGEST_WAIT_S)
