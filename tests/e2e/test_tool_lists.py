"""The clients' own lists of tools: each is in the tables of `tests/clients`, whose kinds are compared with the policies."""

import re
from pathlib import Path

import pytest
import yaml

from tests.e2e.conftest import Prepared, copied

pytestmark = pytest.mark.e2e

TABLES = Path(__file__).parents[1] / "clients"
NESTED = re.compile(r"^### `(\w+)`$", re.MULTILINE)
"""The tools that Codex' models call from JavaScript."""


def offered_to(asked):
    """Yield the names of the tools in a request, those in namespaces with and without their namespace."""
    yield from asked.tools
    for item in asked.body.get("input", []):
        for space in item.get("tools", []):
            for tool in space["tools"]:
                yield tool["name"] if space["name"] == "functions" else f"{space['name']}{tool['name']}"
                yield from NESTED.findall(tool.get("description", ""))


@pytest.mark.parametrize("client", ["claude-code", "codex", "copilot-cli", "gemini", "opencode", "qwen"])
def test_every_tool_of_the_client_is_in_its_table(prepared: Prepared, tmp_path: Path, client):
    stage = copied(prepared(client), tmp_path)
    played = getattr(stage, client.partition("-")[0])({"main": ["bye"]})
    offered = {name for asked in played.model.asked for name in offered_to(asked)}
    for event in played.ran.events if client == "claude-code" else ():  # it offers many tools only on demand
        offered.update(event.get("tools", []) if event.get("subtype") == "init" else [])
    table = yaml.safe_load((TABLES / client.replace("-", "_") / "known_tools.yaml").read_text())
    known = {name for listed in table.values() for name in listed.split()}
    assert len(offered) > 2
    assert not offered - known, " ".join(sorted(offered - known))
