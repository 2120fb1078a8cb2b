"""How long a tool call waits, by what is known of its client."""

from types import SimpleNamespace

import pytest

from baton.mcp.waits import longest_wait_s


@pytest.mark.parametrize(
    ("client", "limit", "longest"),
    [
        ("codex-mcp-client", "", 50),
        ("some-client", "600000", 50),
        (None, "", 50),
        ("claude-code", "", 600),
        ("claude-code", "120000", 110),
        ("claude-code", "99999999999", 600),
        ("claude-code", "1000", 1),
        ("claude-code", "soon", 600),
    ],
)
def test_a_call_ends_before_its_client_gives_it_up(client, limit, longest):
    params = SimpleNamespace(client_info=SimpleNamespace(name=client)) if client else None
    context = SimpleNamespace(session=SimpleNamespace(client_params=params))
    assert longest_wait_s(context, {"MCP_TOOL_TIMEOUT": limit} if limit else {}) == longest
