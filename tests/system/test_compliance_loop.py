"""The loop prompt, edit, compliance, advisory, next prompt: two servers on one Redis and one Postgres."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from tests.support.server import serving, until

CHECK = {"forbidden": "eval\\(", "message": "parse it"}
NEW = {"signature": "Never eval", "text": "It runs what users type.", "check": CHECK, "language": "python"}
ADVISORY = "- **Never eval** (80% confidence): `a.py`: parse it"


@pytest.fixture
def two(tmp_path, valkey_url, postgres_url):
    env = {"BATON_REDIS_URL": valkey_url, "BATON_DATABASE_URL": postgres_url}
    with ExitStack() as stack:
        servers = [stack.enter_context(serving(tmp_path / name, **env)) for name in "ab"]
        token = (servers[0].home / "admin-token").read_text().strip()
        yield [stack.enter_context(server.client(Authorization=f"Bearer {token}")) for server in servers]


def hook(http, event, session="s", client="claude-code", **fields):
    body = {"hook_event_name": event, "session_id": session, "cwd": "/p"} | fields
    answer = http.post(f"/hooks/{client}", json=body)
    assert answer.status_code == 200
    return answer.json()


def context(answer):
    return answer.get("hookSpecificOutput", {}).get("additionalContext", "") + answer.get("additional_context", "")


def edit(http, text, **fields):
    given = {"file_path": "/p/a.py", "old_string": "x", "new_string": text}
    return hook(http, "PostToolUse", tool_name="Edit", tool_input=given, tool_response={}, **fields)


@pytest.mark.slow("starts two servers of its own")
def test_a_violation_is_reported_once_across_servers(two):
    a, b = two
    assert context(hook(a, "SessionStart", source="startup")) == ""
    made = a.post("/patterns", json=NEW).json()["id"]
    assert a.post(f"/patterns/{made}/approve", json={}, headers={"If-Match": "*"}).status_code == 200
    until(lambda: b.get("/patterns/search", params={"text": "never eval"}).json()["items"])

    asked = context(hook(b, "UserPromptSubmit", prompt="Write a calculator that evaluates what people type"))
    assert "## Context Patterns" in asked
    assert "- **Never eval** (80% confidence): It runs what users type." in asked
    again = context(hook(a, "UserPromptSubmit", prompt="Write a parser for it as well"))
    assert "Context Patterns" not in again

    assert edit(a, "x = eval(y)") == {}
    until(lambda: a.get(f"/patterns/{made}").json()["violated"] == 1)
    with ThreadPoolExecutor(8) as threads:
        prompts = [
            threads.submit(hook, two[number % 2], "UserPromptSubmit", prompt=f"Continue with part {number} of the work")
            for number in range(8)
        ]
        said = [context(one.result()) for one in prompts]
    assert sum(one.count(ADVISORY) for one in said) == 1
    assert sum("## Pattern Advisory" in one for one in said) == 1

    assert edit(b, "z = eval(y)") == {}
    until(lambda: b.get(f"/patterns/{made}").json()["shown"] == 1)
    assert "Advisory" not in context(hook(b, "UserPromptSubmit", prompt="Write the tests of the calculator"))

    started = context(hook(b, "SessionStart", session="t", source="startup"))
    assert started.startswith("## Context Patterns\n\n")
    assert "Patterns" not in context(hook(a, "UserPromptSubmit", session="t", prompt="Write a calculator for me"))

    # A client that takes no context with a prompt hears of it beside the next result.
    edit(a, "eval(1)", session="c", client="cursor")
    said = until(lambda: context(edit(b, "ok", session="c", client="cursor")))
    assert ADVISORY in said
    assert context(edit(b, "ok", session="c", client="cursor")) == ""
