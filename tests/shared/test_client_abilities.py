import json

from baton.cli.hooks.entries import EVENTS
from baton.shared.client_abilities import CLIENTS, PATH, abilities_of, document, summary


def test_the_document_has_the_clients_of_today(request):
    text = (request.config.rootpath / PATH).read_text()
    assert text == document(), "run `make operations` and commit docs/clients.md"


def test_every_client_with_hooks_is_told_with_events_that_it_has():
    assert {one.name for one in CLIENTS if one.name} == set(EVENTS)
    for client, events in EVENTS.items():
        told = abilities_of(client)
        assert {one.event for one in told.events} <= set(events)
        assert (told.version or "not proven") in summary(told)[0]


def test_the_versions_are_those_that_are_driven(request):
    locked = json.loads((request.config.rootpath / "tests/e2e/package.json").read_text())["dependencies"]
    packages = {
        "claude-code": "@anthropic-ai/claude-code",
        "codex": "@openai/codex",
        "copilot-cli": "@github/copilot",
        "gemini": "@google/gemini-cli",
        "opencode": "opencode-ai",
        "qwen": "@qwen-code/qwen-code",
    }
    assert {name: locked[package] for name, package in packages.items()} == {
        one.name: one.version for one in CLIENTS if one.version
    }
