"""The timeout of a tool call, by the known facts about its client."""

from types import SimpleNamespace

import pytest

from baton.mcp.delegation import longest_wait_s
from tests.support.cases import every

pytestmark = pytest.mark.slow("imports what takes longer than its tests")


@every(
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
