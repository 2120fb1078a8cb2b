"""Every known tool of a client belongs to a kind known to rules, in the client's own name."""

import re
from pathlib import Path

import pytest
import yaml

from baton.clients.registry import CLIENTS
from baton.lib.text.globs import any_of
from baton.rules.call.agent_tools import AGENT_TOOLS


@pytest.fixture(scope="module")
def kinds(request):
    text = (request.config.rootpath / "policies" / "config.yaml").read_text()
    config = yaml.safe_load(text)
    found = dict.fromkeys(config["shell_tools"], "shell")
    found |= dict.fromkeys(AGENT_TOOLS | set(config["agent_tools"]), "agent")
    for group, kind in (("edit_tools", "edit"), ("lookup_tools", "look-up")):
        [listed] = re.findall(rf"^  {group}: \[(.*)\]$", text, re.MULTILINE)
        found |= dict.fromkeys(listed.split(", "), kind)
    always = any_of(config["never_block"])
    return lambda tool: found.get(tool) or ("always" if always(tool) else "mcp" if "__" in tool else "other")


def read_as(client, tool):
    """Return the engine's name of a tool that a client posts."""
    payload = {"tool_name": tool, "toolName": tool, "input": {"tool": tool}}
    return CLIENTS[client].read(payload, "PreToolUse").tool_name


@pytest.mark.parametrize("client", CLIENTS)
def test_no_known_tool_falls_through_as_unknown(client, kinds):
    listed = Path(__file__).with_name(client.replace("-", "_")) / "known_tools.yaml"
    wrong = []
    for kind, names in yaml.safe_load(listed.read_text()).items():
        for tool in names.split():
            read = read_as(client, tool)
            found = kinds(read)
            if found != kind:
                wrong.append(f"`{tool}` is read as `{read}`, which is {found} and not {kind}")
    assert not wrong, "\n".join(wrong)
