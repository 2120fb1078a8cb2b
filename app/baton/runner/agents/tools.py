"""The tools that an agent of a roster is handed, so that it can reach the target of its delegation."""

import sys
from collections.abc import Mapping
from pathlib import Path

from baton.runner.agents.driving import ToolServer
from baton.runner.wire import Lease

_PASSED = ("BATON_URL", "BATON_USER", "BATON_TOKEN", "BATON_CA_FILE", "HOME", "PATH", "XDG_CONFIG_HOME")
"""What `baton mcp` needs; some agents start their MCP servers with nothing of their own environment."""


def tool_server(lease: Lease, env: Mapping[str, str]) -> ToolServer:
    """Return `baton mcp` for the session of the job: what the agent delegates belongs to that session, too."""
    passed = {name: env[name] for name in _PASSED if env.get(name)}
    passed["BATON_JOB"] = lease.job
    if lease.session_id:
        passed["BATON_SESSION"] = lease.session_id
    command = str(Path(sys.executable).with_name("baton"))
    return ToolServer(name="baton", command=command, args=["mcp"], env=passed)
