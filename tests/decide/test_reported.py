"""The payloads of public reports, over real HTTP: each gets the right answer."""

import json
from pathlib import Path

from tests.support.cases import listed

CASES = json.loads((Path(__file__).parent / "reported.json").read_text())


def answer(http, case, number):
    payload = case.get("payload") or {
        "session_id": f"r{number}",
        "cwd": "/home/dev/shop",
        "tool_name": case.get("tool", "Bash"),
        "tool_input": {"command": case["bash"]},
    }
    client = case.get("client", "claude-code")
    if "start" in case:
        start = {"session_id": payload["session_id"], "source": "startup", "cwd": "/home/dev/shop"}
        http.post(f"/hooks/{client}?event=SessionStart", json=start | {"model": case["start"]})
    return http.post(f"/hooks/{client}?event={case.get('event', 'PreToolUse')}", json=payload).text


def test_each_reported_payload_gets_the_right_answer(http):
    wrong = {}
    for number, case in enumerate(CASES):
        got, right = answer(http, case, number), case["right"]
        if got != "{}" if right == "{}" else right not in got:
            wrong[f"{case['report']} {case.get('bash') or case['payload']}"] = f"{got}, not {right}"
    assert not wrong, listed(wrong)
