"""The demonstration's agent: it speaks ACP on standard input and output, and follows its scripts. No model is asked.

The runner starts it as a separate program, so it imports only the standard library.
"""

import json
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

PAUSE_S = 0.06
"""Seconds between two words, so that a person sees them arrive."""
CLIENT = """import requests

URL = "https://payments.example.com"


def pay(order):
    return requests.post(f"{URL}/orders/{order}", timeout=10)
"""
TEST = """from payments import client


def test_pay_gives_up_after_ten_seconds(monkeypatch):
    seen = {}
    monkeypatch.setattr(client.requests, "post", lambda url, **options: seen.update(options))
    client.pay("1")
    assert seen["timeout"] == 10
"""


class DemoAgent:
    """One session. Requests of the runner are read by `run`; a prompt's script runs in a thread of its own."""

    def __init__(self) -> None:
        self._writing = threading.Lock()
        self._answers: dict[int, tuple[threading.Event, list[Any]]] = {}
        self._session = ""
        self._tools = 0
        self.cancelled = False

    def run(self) -> None:
        """Answer the runner until it closes the connection."""
        for line in sys.stdin:
            message = json.loads(line)
            if "method" not in message:
                arrived, answer = self._answers[message["id"]]
                answer.append(message.get("result"))
                arrived.set()
            elif message["method"] == "session/prompt":
                threading.Thread(target=self._turn, args=(message["id"], message["params"]), daemon=True).start()
            elif message["method"] == "session/cancel":
                self.cancelled = True
            else:
                self._send({"id": message["id"], "result": self._opened(message["method"], message.get("params", {}))})

    def say(self, text: str) -> None:
        """Say a message word by word."""
        for word in text.split(" "):
            if self.cancelled:
                return
            self._update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": f"{word} "})
            time.sleep(PAUSE_S)

    def plan(self, *steps: str, done: int) -> None:
        """Show the plan, with this many steps done."""
        states = ["completed"] * done + ["in_progress"] + ["pending"] * len(steps)
        entries = [
            {"content": step, "priority": "medium", "status": state} for step, state in zip(steps, states, strict=False)
        ]
        self._update(sessionUpdate="plan", entries=entries)

    def tool(self, title: str, kind: str, given: dict[str, Any], output: str = "") -> None:
        """Show a successful tool call."""
        self._tools += 1
        call = {"toolCallId": f"call-{self._tools}", "title": title}
        self._update(sessionUpdate="tool_call", **call, kind=kind, status="in_progress", rawInput=given)
        time.sleep(5 * PAUSE_S)
        content = [{"type": "content", "content": {"type": "text", "text": output}}] if output else []
        self._update(sessionUpdate="tool_call_update", **call, status="completed", content=content)

    def write(self, path: str, text: str) -> None:
        """Write a file of the workspace, through the runner."""
        self.tool(f"Write {path}", "edit", {"path": path}, text)
        self._ask("fs/write_text_file", path=path, content=text)

    def may(self, command: str) -> bool:
        """Ask for permission to run a command; the task's owner answers."""
        self._tools += 1
        call = {
            "toolCallId": f"call-{self._tools}",
            "title": command,
            "kind": "execute",
            "rawInput": {"command": command},
        }
        options = [{"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_once", "reject_once")]
        answer = self._ask("session/request_permission", toolCall=call, options=options)
        return bool(answer) and answer["outcome"].get("optionId") == "allow_once"

    def _turn(self, number: int, params: dict[str, Any]) -> None:
        self.cancelled = False
        _script(params["prompt"][0]["text"])(self)
        self._update(sessionUpdate="usage_update", used=9_130, size=200_000, cost={"amount": 0.04, "currency": "USD"})
        usage = {"totalTokens": 9_130, "inputTokens": 8_200, "outputTokens": 930, "cachedReadTokens": 5_100}
        self._send(
            {"id": number, "result": {"stopReason": "cancelled" if self.cancelled else "end_turn", "usage": usage}}
        )

    def _opened(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == "initialize":
            return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
        if method == "session/new":
            self._session = "demo-session"
            return {"sessionId": self._session}
        self._session = params.get("sessionId", self._session)
        return {}

    def _update(self, **fields: Any) -> None:
        self._send({"method": "session/update", "params": {"sessionId": self._session, "update": fields}})

    def _ask(self, method: str, **params: Any) -> Any:
        number, arrived, answer = len(self._answers) + 1, threading.Event(), list[Any]()
        self._answers[number] = (arrived, answer)
        self._send({"id": number, "method": method, "params": {"sessionId": self._session, **params}})
        arrived.wait()
        return answer[0]

    def _send(self, message: dict[str, Any]) -> None:
        with self._writing:
            sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
            sys.stdout.flush()


def _timeout(agent: DemoAgent) -> None:
    steps = ("Find the call that can hang", "Give it a timeout", "Test it")
    agent.say("I look for the call that can hang. (I am the demonstration's agent: what I do is a script.)")
    agent.plan(*steps, done=0)
    agent.tool("Search `requests.post`", "search", {"pattern": r"requests\.post"}, "payments/client.py:7")
    agent.tool("Read payments/client.py", "read", {"path": "payments/client.py"})
    agent.plan(*steps, done=1)
    agent.say("\n\n`pay` waits **for ever** when the payment service hangs, and so does the checkout behind it.")
    agent.write("payments/client.py", CLIENT)
    agent.plan(*steps, done=2)
    agent.write("tests/test_client.py", TEST)
    agent.plan(*steps, done=3)
    agent.say(
        "\n\nDone:\n\n- `payments/client.py`: a timeout of ten seconds\n- `tests/test_client.py`: a test of it\n\n"
        "Look at the difference below, and apply it."
    )


def _clean(agent: DemoAgent) -> None:
    agent.say("The folder `build` has 1.2 GB of old bundles. I would like to remove them.")
    agreed = agent.may("cd build && rm -rf 'old bundles'")
    agent.say("\n\nThey are gone." if agreed else "\n\nI left them where they are.")


def _reply(agent: DemoAgent) -> None:
    agent.say("I have only two scripts: *add a timeout*, and *clean the build folder*. Any other task ends here.")


_SCRIPTS: tuple[tuple[str, Callable[[DemoAgent], None]], ...] = (("timeout", _timeout), ("clean", _clean))
"""What is done for a prompt that holds a word."""


def _script(prompt: str) -> Callable[[DemoAgent], None]:
    return next((script for word, script in _SCRIPTS if word in prompt.lower()), _reply)


if __name__ == "__main__":
    DemoAgent().run()
