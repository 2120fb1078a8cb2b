"""Installed but silent hooks: permission to report them, and their part in `/status`."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.machines import installed_hooks as store
from baton.machines.installed_hooks import HooksInstalled
from tests.support.people import admin_token, token
from tests.support.server import until

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)


def hooks(user, client, hours=0):
    return HooksInstalled(user=user, client=client, installed_at=NOW - timedelta(hours=hours))


async def test_the_last_installation_counts_and_a_removal_concerns_one_user_and_client(database):
    for one in (hooks("ada", "codex", 3), hooks("bob", "codex", 2), hooks("ada", "qwen", 1), hooks("ada", "codex")):
        await store.put_installed(database, "default", one)
    await store.put_installed(database, "other", hooks("zoe", "codex"))
    assert await store.load(database, "default") == [
        hooks("ada", "codex"),
        hooks("ada", "qwen", 1),
        hooks("bob", "codex", 2),
    ]
    await store.remove(database, "default", "ada", "codex")
    await store.remove(database, "default", "ada", "gemini")
    assert await store.load(database, "default") == [hooks("ada", "qwen", 1), hooks("bob", "codex", 2)]


@pytest.fixture(scope="module")
def api(guarded):
    """A request with the token of a new person of a role; teams are told by the names."""
    tokens = {}
    with guarded.client(Authorization=f"Bearer {admin_token(guarded)}") as admin:

        def ask(who, method, path, **given):
            user, _, role = who.partition(":")
            if who not in tokens:
                tokens[who] = token(admin, user, role or "developer", user.partition("-")[0])[0]
            return admin.request(method, path, headers={"Authorization": f"Bearer {tokens[who]}"}, **given)

        yield ask


def clients(api, who):
    """Return what the status says of clients. A slow database is answered for from memory."""
    return {(one["user"], one["client"]): one for one in api(who, "GET", "/status").json()["clients"]}


@pytest.mark.slow("installs hooks")
def test_installed_hooks_count_as_unheard_until_their_first_call(api):
    made = api("shop-ann", "PUT", "/clients/codex/hooks")
    assert (made.status_code, made.json()["user"], made.json()["client"]) == (200, "shop-ann", "codex")
    found = until(lambda: clients(api, "shop-ann").get(("shop-ann", "codex")))
    assert "last_seen" not in found
    assert found["installed_at"] == made.json()["installed_at"]
    call = {"session_id": "s", "hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    assert api("shop-ann", "POST", "/hooks/codex", json=call).status_code == 200
    until(lambda: "last_seen" in clients(api, "shop-ann")["shop-ann", "codex"])
    assert clients(api, "shop-ann")["shop-ann", "codex"]["installed_at"] == made.json()["installed_at"]


def test_a_removal_deletes_silent_hooks(api):
    api("shop-ben", "PUT", "/clients/qwen/hooks")
    until(lambda: ("shop-ben", "qwen") in clients(api, "shop-ben"))
    assert api("shop-ben", "DELETE", "/clients/qwen/hooks").status_code == 204
    until(lambda: ("shop-ben", "qwen") not in clients(api, "shop-ben"))
    assert api("shop-ben", "DELETE", "/clients/qwen/hooks").status_code == 204


def test_everybody_reports_their_own_also_by_the_credential_of_hooks(api):
    assert api("shop-cat:hook", "PUT", "/clients/cursor/hooks").status_code == 200
    assert api("shop-dan", "DELETE", "/clients/cursor/hooks").status_code == 204  # his, of which there is none
    until(lambda: ("shop-cat", "cursor") in clients(api, "shop-lea:lead"))
    until(lambda: ("shop-cat", "cursor") not in clients(api, "data-lea:lead"))
    until(lambda: ("shop-cat", "cursor") not in clients(api, "shop-dan"))
    for role in ("auditor", "runner", "observer"):
        assert api(f"shop-{role}:{role}", "PUT", "/clients/cursor/hooks").status_code == 403


def test_an_unknown_client_is_refused_by_name(api):
    answer = api("shop-ann", "PUT", "/clients/clippy/hooks")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_client")
    assert "claude-code" in answer.json()["detail"]
