"""`baton mcp`: serve an agent's delegation tools over standard input and output."""

import os
import uuid

SESSIONS = ("BATON_SESSION", "CLAUDE_SESSION_ID", "CLAUDE_CODE_SESSION_ID")
"""Variables that may name the session of the client that starts this; the first that is set counts."""


def mcp() -> None:
    """Serve an agent's delegation tools over MCP.

    It speaks on standard input and output: claude mcp add baton -- baton mcp
    """
    from baton.mcp.server import serve

    session = next((os.environ[name] for name in SESSIONS if os.environ.get(name)), "")
    serve(session or f"mcp-{uuid.uuid4().hex}")
