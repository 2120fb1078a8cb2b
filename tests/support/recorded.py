"""Payloads of real clients, from `tests/clients`, and answers in Claude Code's form."""

import json
from pathlib import Path

from baton.clients.event import HookAnswer

FOLDER = Path(__file__).parents[1] / "clients"
REWRITTEN = {"subagent_type": "explore", "prompt": "p", "description": "d", "model": "haiku"}
DENY = HookAnswer(effect="deny", reason="no")
ASK = HookAnswer(effect="ask", reason="sure?")
REWRITE = HookAnswer(updated_input=REWRITTEN)
CONTEXT = HookAnswer(context="delegate")
PRE = "PreToolUse"


def recorded(client, file="payloads"):
    """Return a client's recorded payloads by kind."""
    return json.loads((FOLDER / client / f"{file}.json").read_text())


def hook(event, **fields):
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}
