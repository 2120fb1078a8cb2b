import json

from baton.clients.document import PATH, document, summary
from baton.clients.registry import SPECS


def test_the_document_has_the_clients_of_today(request):
    text = (request.config.rootpath / PATH).read_text()
    assert text == document(), "run `make operations` and commit docs/clients.md"


def test_the_page_lists_every_client_with_its_version():
    for client in SPECS.values():
        assert (client.version or "not proven") in summary(client)[0]


def test_the_versions_are_those_that_are_driven(request):
    locked = json.loads((request.config.rootpath / "requirements/e2e/package.json").read_text())["dependencies"]
    packages = {
        "claude-code": "@anthropic-ai/claude-code",
        "codex": "@openai/codex",
        "copilot-cli": "@github/copilot",
        "gemini": "@google/gemini-cli",
        "opencode": "opencode-ai",
        "qwen": "@qwen-code/qwen-code",
    }
    assert {name: locked[package] for name, package in packages.items()} == {
        one.name: one.version for one in SPECS.values() if one.version
    }
