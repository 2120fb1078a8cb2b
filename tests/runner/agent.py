"""A small ACP agent on standard input and output. It reasons about nothing: the lines of the prompt are its orders.

`say TEXT…`, `words JSON` (a text with lines of its own), `count N` (a chunk a number), `sleep S`, `await FILE` (until it is there), `big N`, `ask JSON` (a tool call that needs leave), `read PATH`,
`write PATH`, `lines N PATH` (writes so many), `terminal`, `child FILE` (a process in a session of its own, its id in FILE), `ignore` (heeds no cancel and no SIGTERM),
`die`, `model`, `past`, `env NAME`, `cost USD`. What comes back is said.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

COUNTED = 10
waiting: dict[int, list] = {}
state = {"model": "plain", "mode": "", "ignore": False, "cancelled": False, "system": ""}
writing = threading.Lock()
numbers = iter(range(1, 10_000))


def send(message):
    with writing:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def update(**fields):
    send({"method": "session/update", "params": {"sessionId": state["session"], "update": fields}})


def say(text):
    update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})


def request(method, **params):
    number, arrived = next(numbers), threading.Event()
    waiting[number] = [arrived, None]
    send({"id": number, "method": method, "params": {"sessionId": state["session"], **params}})
    arrived.wait()
    return waiting.pop(number)[1]


def outcome(answer):
    return f"error {answer['error']['code']}" if "error" in answer else json.dumps(answer["result"])


def pause(is_over):
    while not is_over() and (state["ignore"] or not state["cancelled"]):
        time.sleep(0.01)


def obey(order, rest):  # noqa: C901, PLR0912
    if order == "say":
        say(rest)
    elif order == "words":
        say(json.loads(rest))
    elif order == "count":
        for number in range(int(rest)):
            say(f"{number} ")
    elif order == "sleep":
        end = time.monotonic() + float(rest)
        pause(lambda: time.monotonic() > end)
    elif order == "await":
        pause(Path(rest).exists)
    elif order == "big":
        say("x" * int(rest))
    elif order == "cost":
        update(sessionUpdate="usage_update", used=1, size=2, cost={"amount": float(rest), "currency": "USD"})
    elif order == "ask":
        call = json.loads(rest)
        options = [
            {"optionId": kind, "name": kind, "kind": kind} for kind in ("allow_always", "allow_once", "reject_once")
        ]
        answer = request("session/request_permission", toolCall={"toolCallId": "t1", **call}, options=options)
        say(answer["result"]["outcome"].get("optionId", "cancelled"))
    elif order == "read":
        say(outcome(request("fs/read_text_file", path=rest)))
    elif order == "write":
        say(outcome(request("fs/write_text_file", path=rest, content="written")))
    elif order == "lines":
        number, path = rest.split(" ", 1)
        text = "".join(f"line {one}\n" for one in range(int(number)))
        request("fs/write_text_file", path=path, content=text)
    elif order == "terminal":
        say(outcome(request("terminal/create", command="true")))
    elif order == "child":
        child = subprocess.Popen(
            ["sleep", "300"], start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
        )
        Path(rest).write_text(str(child.pid))
    elif order == "ignore":
        state["ignore"] = True
    elif order == "die":
        print("it broke", file=sys.stderr, flush=True)
        os._exit(3)
    elif order in {"model", "mode", "system", "past"}:
        say(str(state.get(order)))
    elif order == "env":
        say(os.environ.get(rest, "-"))
    elif order == "pid":
        Path(rest).write_text(str(os.getpid()))


def turn(number, text):
    state["cancelled"] = False
    update(sessionUpdate="tool_call", toolCallId="t1", title="a tool", _meta={"claudeCode": {"toolName": "Write"}})
    for line in text.splitlines():
        order, _, rest = line.partition(" ")
        obey(order, rest)
        if state["cancelled"] and not state["ignore"]:
            break
    update(sessionUpdate="usage_update", used=1, size=2, cost={"amount": 0.25, "currency": "USD"})
    usage = {"totalTokens": 9, "inputTokens": 5, "outputTokens": 3, "cachedReadTokens": 1}
    reason = "cancelled" if state["cancelled"] and not state["ignore"] else "end_turn"
    send({"id": number, "result": {"stopReason": reason, "usage": usage}})


OPTIONS = [
    {
        "type": "select", "id": name, "name": name, "category": name, "currentValue": values[0],
        "options": [{"value": value, "name": value} for value in values],
    }
    for name, values in (("mode", ["default", "careful"]), ("model", ["plain", "cheap"]))
]  # fmt: skip


def answer(message):
    method, params = message["method"], message.get("params") or {}
    if method == "initialize":
        return {"protocolVersion": 1, "agentCapabilities": {"loadSession": True}}
    if method == "session/new":
        state["session"] = "session-of-" + Path(params["cwd"]).name
        state["system"] = (params.get("_meta") or {}).get("systemPrompt")
        return {"sessionId": state["session"], "configOptions": OPTIONS}
    if method == "session/load":
        state["session"] = params["sessionId"]
        state["past"] = "remembered"
        say("what was said before")
        return {"configOptions": OPTIONS}
    if method == "session/set_config_option":
        state[params["configId"]] = params["value"]
        return {"configOptions": OPTIONS}
    return {}


signal.signal(signal.SIGTERM, lambda *_: None if state["ignore"] else os._exit(0))
for read in sys.stdin:
    got = json.loads(read)
    if "method" not in got:
        waiting[got["id"]][1] = got
        waiting[got["id"]][0].set()
    elif got["method"] == "session/prompt":
        said = got["params"]["prompt"][0]["text"]
        threading.Thread(target=turn, args=(got["id"], said), daemon=True).start()
    elif got["method"] == "session/cancel":
        state["cancelled"] = True
    elif got["method"] == "session/load" and os.environ.get("FORGETS"):
        send({"id": got["id"], "error": {"code": -32002, "message": "no such session"}})
    else:
        send({"id": got["id"], "result": answer(got)})
if state["ignore"]:
    time.sleep(300)
