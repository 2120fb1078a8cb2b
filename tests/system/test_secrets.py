"""Every fake secret through every door of a real server; afterwards its database, Redis, log and metrics hold none."""

import asyncio
import json
import signal

import pytest

from baton.kernel.redis.client import Redis
from tests.delegate.jobs.test_api import POLL, tell
from tests.support.delegating import chunk
from tests.support.fake_secrets import fakes
from tests.support.server import serving, until

BATCH = 900
"""Characters of a reason or a comment, which may have a thousand."""
TOLD_LATER = [one for one in fakes() if one.name == "mailchimp" or "{} |" in one.name or "{}' |" in one.name]
"""What only the text behind it tells: the chunks before it are stored by then."""


def packed(texts):
    """Put texts together into batches that a door for short texts accepts."""
    batch = ""
    for text in texts:
        if batch and len(batch) + len(text) > BATCH:
            yield batch
            batch = ""
        batch += f"{text}\n"
    yield batch


def accepted(answer):
    assert answer.status_code < 300, answer.text
    return answer.json()


def hooks(http, secrets):
    """Send a call, a path, a sub-agent's prompt and a person's prompt with each secret, in the dialect of each client."""
    for number, one in enumerate(secrets):
        base = {"session_id": "s", "cwd": "/p"}
        for client in ("claude-code", "codex"):
            calls = [("Bash", {"command": one.text}), ("Agent", {"prompt": one.text, "subagent_type": "explore"})]
            if one.kind == "prefix" and "//" not in one.secret:  # a path's two slashes become one
                calls.append(("Read", {"file_path": f"/p/{one.secret}"}))
            for at, (tool, tool_input) in enumerate(calls):
                body = base | {"tool_name": tool, "tool_input": tool_input, "tool_use_id": f"t{number}.{at}{client}"}
                accepted(http.post(f"/hooks/{client}", json=body | {"hook_event_name": "PreToolUse"}))
            prompt = base | {"hook_event_name": "UserPromptSubmit", "prompt": f"please: {one.text}"}
            accepted(http.post(f"/hooks/{client}", json=prompt))
        accepted(http.post("/pre-tool-use", json=base | {"tool_name": "Bash", "tool_input": {"command": one.text}}))
        accepted(http.post("/route", json={"prompt": one.text, "session_id": "s"}))


def delegations(http, secrets):
    """Delegate each secret, stream it in small chunks, show it in tool calls and permissions, end with it."""
    for number, one in enumerate(secrets):
        task = {
            "user_prompt": f"do: {one.text}",
            "description": one.text[:1000],
            "session_id": "s",
            "workspace": "shop",
        }
        job = accepted(http.post("/delegate", json=task))["job"]["id"]
        (lease,) = http.post("/runners/r/poll", json=POLL).json()["jobs"]
        assert lease["job"] == job
        lease = {"attempt": lease["attempt"], "token": lease["token"]}
        spoken = f"it is: {one.text} and more" if one.name not in {told.name for told in TOLD_LATER} else "nothing"
        pieces = [spoken[at : at + 3] for at in range(0, len(spoken), 3)]
        tell(http, job, lease, *pieces[: len(pieces) // 2])
        tell(http, job, lease, *pieces[len(pieces) // 2 :], first=len(pieces) // 2 + 1)
        shown = [
            {"sessionUpdate": "tool_call", "toolCallId": "c", "title": one.text, "rawInput": {"command": one.text}},
            {"sessionUpdate": "tool_call", "toolCallId": "d", "rawInput": {"command": ["bash", "-lc", one.text]}},
            chunk(one.text),
        ]
        events = [
            {"seq": len(pieces) + 1 + at, "type": "session.update", "body": {"update": update}}
            for at, update in enumerate(shown)
        ]
        accepted(http.post(f"/runners/r/jobs/{job}/events", json=lease | {"events": events}))
        request = {"tool_name": "Bash", "tool_input": {"command": one.text}, "title": one.text}
        accepted(http.post(f"/runners/r/jobs/{job}/permissions", json=lease | {"request": request}))
        end = {"output": one.text, "error_code": "agent_failed", "error_detail": one.text, "state": "failed"}
        tell(http, job, lease, first=len(pieces) + 4, **(end if number % 2 else end | {"state": "completed"}))


def administration(http, secrets):
    """Send the secrets as reasons, comments and descriptions; some are cut by the caller, wherever that falls."""
    later = {one.name for one in TOLD_LATER}
    sure = "\n".join(one.text for one in secrets if one.name not in later)
    # Read once: records that arrive meanwhile would move the others along in the list.
    decisions = http.get("/decisions", params={"limit": 200}).json()["items"]
    for number, text in enumerate(packed(one.text for one in secrets)):
        cut = sure[number * 500 :].partition("\n")[2][:400]
        user = f"u{number}"
        accepted(http.put(f"/users/{user}", json={"team": "default"}))
        mode = accepted(http.put("/mode", json={"enabled": True, "scope": "user", "id": user, "reason": text}))
        assert mode
        http.post("/exceptions", json={"decision_id": decisions[number]["id"], "reason": text})
        accepted(http.put(f"/teams/t{number}", json={"reason": text}))
        decision = decisions[number]["id"]
        report = accepted(http.post("/reports", json={"decision_id": decision, "comment": text}))
        answer = {"state": "declined", "answer": text}
        accepted(http.put(f"/reports/{report['id']}", json=answer, headers={"If-Match": '"1"'}))
        agents = [{"name": "one", "description": cut, "triggers": []}]
        http.put("/rosters/beds", json={"agents": agents, "description": cut, "reason": text})
        tasks = {"a": {"description": text, "prompt": text, "agent_type": "explore", "depends_on": []}}
        accepted(http.post("/graphs", json={"session_id": "s", "tasks": tasks}))
        http.put("/mode", json={"enabled": True, "scope": text})
        http.get(f"/decisions/{cut[:60]}".replace("\n", " "))
        http.post("/hooks/claude-code", content=text.encode())


async def _redis_holds(url):
    redis = Redis(url, timeout_s=30)
    await redis.start()
    try:
        parts = []
        for key in await redis.call(b"KEYS", b"*"):
            parts.append(key)
            dumped = await redis.call(b"TYPE", key)
            kind = dumped.decode() if isinstance(dumped, bytes) else dumped
            read = {
                "string": (b"GET", key),
                "hash": (b"HGETALL", key),
                "list": (b"LRANGE", key, b"0", b"-1"),
                "set": (b"SMEMBERS", key),
                "zset": (b"ZRANGE", key, b"0", b"-1"),
                "stream": (b"XRANGE", key, b"-", b"+"),
            }[kind]
            parts.append(repr(await redis.call(*read)).encode())
        return b"\n".join(parts)
    finally:
        await redis.close()


def found_in(data, secrets):
    """Return the secrets that some bytes hold, a long one by its random part."""
    found = []
    for one in secrets:
        needle = one.body if len(one.body) >= 12 else one.secret
        if needle.encode() in data:
            found.append((one.kind, one.name))
    return sorted(set(found))


@pytest.mark.slow("sends four hundred secrets through twenty doors")
def test_no_secret_stays_in_any_store(tmp_path, valkey_url):
    secrets = fakes(seed=7)
    with (
        serving(tmp_path / "home", BATON_REDIS_URL=valkey_url, BATON_LOG_LEVEL="debug") as server,
        server.client() as http,
    ):
        accepted(http.put("/teams/default/settings", json={"keep_prompts": True}))
        hooks(http, secrets)
        until(lambda: accepted(http.get("/status"))["records"]["queued"] == 0)
        until(lambda: accepted(http.get("/status"))["records"]["waiting"] == 0)
        delegations(http, secrets)
        administration(http, secrets)
        metrics = http.get("/metrics").content
        redis = asyncio.run(_redis_holds(valkey_url))
        server.stop(signal.SIGTERM)
    stores = {"metrics": metrics, "redis": redis, "log": server.log.read_bytes()}
    stores |= {path.name: path.read_bytes() for path in (tmp_path / "home").rglob("*") if path.is_file()}
    assert any(data.count(b"[masked:") > len(secrets) for data in stores.values()), "nothing was stored at all"
    # JSON in SQL writes quotes and line ends escaped; the random parts hold none of them.
    kept = {name: found for name, data in stores.items() if (found := found_in(data, secrets))}
    assert kept == {}, json.dumps(kept, indent=1)
