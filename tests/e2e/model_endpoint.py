"""A scripted model on loopback: Anthropic Messages, OpenAI Responses and Chat Completions, Gemini. It reads a list.

A script maps a thread's marker (`[[main]]`, `[[sub]]` in a prompt, without the brackets) to its steps. Each request
gets the step numbered by the tool-call turns since the marker, so a thread follows its list independent of the tools'
output.
"""

import contextlib
import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

MARKER = re.compile(r"\[\[(\w+)\]\]")
NUMBERS = itertools.count(1)
"""Of answers, so that no two tool calls of a test run share an id: a server takes such a pair for a retry."""


@dataclass(frozen=True)
class Use:
    """A tool call that the model makes. `input` is an object, or the text of a custom tool."""

    name: str
    input: dict[str, Any] | str
    namespace: str = ""


Step = str | Use | tuple[Use, ...]
"""What the model says in one turn: a text, which ends the turn, or one or more tool calls."""

Script = Mapping[str, Sequence[Step | Callable[[], Step]]]
"""A function as a step does something in the test's world first, such as ending a server."""


@dataclass
class Asked:
    """One request of a client: the thread that asked, the model it named, and the body as it came."""

    thread: str
    turn: int
    model: str
    body: dict[str, Any]
    tools: list[str] = field(default_factory=list)

    def text(self) -> str:
        """All that the model was told, as text."""
        told = self.body.get("messages") or self.body.get("input") or self.body.get("contents") or []
        return json.dumps(told, ensure_ascii=False)

    def results(self) -> list[str]:
        """The tool results in this request, oldest first, as text."""
        if "messages" in self.body:
            return [_flat(b.get("content", "")) for m in self.body["messages"] for b in _results(m)]
        if "contents" in self.body:
            return [json.dumps(b["functionResponse"]["response"]) for m in self.body["contents"] for b in _responses(m)]
        return [_flat(i.get("output", "")) for i in self.body.get("input", []) if _is_output(i)]


class ModelEndpoint:
    """The endpoint, on an ephemeral port, from `with` to its end. `asked` holds the threads' requests in order."""

    def __init__(self, script: Script) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.other: list[str] = []
        self._server = _Server(self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def thread(self, name: str) -> list[Asked]:
        """The requests of one thread, in order."""
        return [a for a in self.asked if a.thread == name]

    def results(self, name: str = "main") -> list[str]:
        """The tool results that a thread had seen by its last request."""
        asked = self.thread(name)
        return asked[-1].results() if asked else []

    def answer(self, body: dict[str, Any]) -> Step:
        """Choose the step for a request, and keep the request where it belongs to a thread."""
        marker, turn = _position(body)
        steps = self.script.get(marker, ())
        if not steps:
            return "ok"
        offered = [t for given in body.get("tools") or [] for t in given.get("functionDeclarations") or [given]]
        tools = [str((t.get("function") or t.get("custom") or t).get("name") or t.get("type")) for t in offered]
        self.asked.append(Asked(marker, turn, str(body.get("model")), body, tools))
        step = steps[turn] if turn < len(steps) else "done"
        return step() if callable(step) else step


def _position(body: dict[str, Any]) -> tuple[str, int]:
    """The last marker in what the person (or the spawning agent) wrote, and the tool-call turns since."""
    marker, turn = "", 0
    after_call = False
    if "messages" in body:
        for message in body["messages"]:
            found = MARKER.findall(_said(message)) if message["role"] == "user" else []
            if found:
                marker, turn = found[-1], 0
            is_result = bool(_results(message))
            # Messages has all results of a turn in one message, Chat Completions one message for each.
            turn += is_result and not (after_call and message["role"] == "tool")
            after_call = is_result
        return marker, turn
    for content in body.get("contents") or []:
        found = MARKER.findall("\n".join(str(p["text"]) for p in content["parts"] if "text" in p))
        if found and content["role"] == "user":
            marker, turn = found[-1], 0
        turn += bool(_responses(content))
    for item in body.get("input") or []:
        found = MARKER.findall(_said(item)) if item.get("type") in {"message", "agent_message"} else []
        if found and item.get("role") != "assistant":
            marker, turn = found[-1], 0
        turn += _is_output(item) and not after_call
        after_call = _is_output(item)
    return marker, turn


def _said(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(str(b[k]) for b in content for k in ("text", "encrypted_content") if k in b)


def _results(message: dict[str, Any]) -> list[dict[str, Any]]:
    if message.get("role") == "tool":
        return [message]
    content = message.get("content") or ""
    return [] if isinstance(content, str) else [b for b in content if b.get("type") == "tool_result"]


def _responses(content: dict[str, Any]) -> list[dict[str, Any]]:
    return [part for part in content["parts"] if "functionResponse" in part]


def _is_output(item: dict[str, Any]) -> bool:
    return str(item.get("type", "")).endswith("_output")


def _flat(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(b.get("text", "")) for b in content if isinstance(b, dict))
    return json.dumps(content)


def _uses(step: Step) -> tuple[Use, ...]:
    return (step,) if isinstance(step, Use) else () if isinstance(step, str) else step


def messages_events(step: Step, model: str, number: int) -> Iterator[dict[str, Any]]:
    """One turn as the events of a Messages stream."""
    usage = {"input_tokens": 10, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    message: dict[str, Any] = {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    yield {"type": "message_start", "message": message}
    if isinstance(step, str):
        yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
        for piece in re.findall(r"\S*\s*", step)[:-1]:
            yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
        yield {"type": "content_block_stop", "index": 0}
    for index, use in enumerate(_uses(step)):
        block = {"type": "tool_use", "id": f"toolu_{number:04}_{index}", "name": use.name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(use.input)}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "end_turn" if isinstance(step, str) else "tool_use"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def message_whole(step: Step, model: str, number: int) -> dict[str, Any]:
    """One turn as a Messages answer that is not streamed."""
    start = next(messages_events(step, model, number))["message"]
    text = [{"type": "text", "text": step}] if isinstance(step, str) else []
    uses = [
        {"type": "tool_use", "id": f"toolu_{number:04}_{i}", "name": u.name, "input": u.input}
        for i, u in enumerate(_uses(step))
    ]
    return {**start, "content": text + uses, "stop_reason": "tool_use" if uses else "end_turn"}


def responses_events(step: Step, number: int) -> Iterator[dict[str, Any]]:
    """One turn as the events of a Responses stream."""
    answer = {"id": f"resp_{number:04}"}
    yield {"type": "response.created", "response": answer}
    if isinstance(step, str):
        content = [{"type": "output_text", "text": step, "annotations": []}]
        item = {"type": "message", "role": "assistant", "id": f"msg_{number:04}", "content": content}
        yield {"type": "response.output_item.done", "output_index": 0, "item": item}
    for index, use in enumerate(_uses(step)):
        call: dict[str, Any] = {"name": use.name, "call_id": f"call_{number:04}_{index}"}
        if use.namespace:
            call["namespace"] = use.namespace
        if isinstance(use.input, str):
            call |= {"type": "custom_tool_call", "input": use.input}
        else:
            call |= {"type": "function_call", "arguments": json.dumps(use.input)}
        yield {"type": "response.output_item.done", "output_index": index, "item": call}
    usage = {"input_tokens": 10, "output_tokens": 5, "total_tokens": 15}
    yield {"type": "response.completed", "response": {**answer, "usage": usage}}


def chat_chunks(step: Step, model: str, number: int) -> Iterator[dict[str, Any]]:
    """One turn as the chunks of a Chat Completions stream."""
    head = {"id": f"chatcmpl-{number:04}", "object": "chat.completion.chunk", "created": 1, "model": model}

    def chunk(delta: dict[str, Any], end: str | None = None) -> dict[str, Any]:
        return head | {"choices": [{"index": 0, "delta": delta, "finish_reason": end}]}

    message = chat_message(step, number)
    calls = [{"index": index, **call} for index, call in enumerate(message.pop("tool_calls", []))]
    yield chunk({"role": "assistant", "content": message["content"] or ""})
    if calls:
        yield chunk({"tool_calls": calls})
    yield chunk({}, "tool_calls" if calls else "stop")
    yield head | {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}}


def chat_message(step: Step, number: int) -> dict[str, Any]:
    """One turn as a message of Chat Completions."""
    if isinstance(step, str):
        return {"role": "assistant", "content": step}
    calls: list[dict[str, Any]] = []
    for index, use in enumerate(_uses(step)):
        if isinstance(use.input, str):
            called: dict[str, Any] = {"type": "custom", "custom": {"name": use.name, "input": use.input}}
        else:
            function = {"name": use.name, "arguments": json.dumps(use.input)}
            called = {"type": "function", "function": function}
        calls.append({"id": f"call_{number:04}_{index}", **called})
    return {"role": "assistant", "content": None, "tool_calls": calls}


def chat_whole(step: Step, model: str, number: int) -> dict[str, Any]:
    """One turn as an answer of Chat Completions that is not streamed."""
    choice = {"index": 0, "message": chat_message(step, number)}
    choice["finish_reason"] = "stop" if isinstance(step, str) else "tool_calls"
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    whole = {"id": f"chatcmpl-{number:04}", "object": "chat.completion", "created": 1, "model": model}
    return whole | {"choices": [choice], "usage": usage}


def gemini_answer(step: Step, number: int) -> dict[str, Any]:
    """One turn as an answer of Gemini; the only chunk of its stream, too."""
    parts: list[dict[str, Any]] = [{"text": step}] if isinstance(step, str) else []
    for index, use in enumerate(_uses(step)):
        parts.append({"functionCall": {"id": f"call_{number:04}_{index}", "name": use.name, "args": use.input}})
    candidate = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP", "index": 0}
    usage = {"promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15}
    return {"candidates": [candidate], "usageMetadata": usage}


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, endpoint: ModelEndpoint) -> None:
        self.endpoint = endpoint
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self.json({"input_tokens": 10})
        if path.endswith(":countTokens"):
            return self.json({"totalTokens": 10})
        if path.endswith((":generateContent", ":streamGenerateContent")):
            return self.gemini(path, json.loads(raw))
        if not path.endswith(("/messages", "/responses", "/chat/completions")):
            self.server.endpoint.other.append(f"POST {path}")
            return self.json({})
        body = json.loads(raw)
        step, number = self.server.endpoint.answer(body), next(NUMBERS)
        if path.endswith("/responses"):
            return self.stream(responses_events(step, number))
        if path.endswith("/chat/completions"):
            if not body.get("stream"):
                return self.json(chat_whole(step, body["model"], number))
            lines = [f"data: {json.dumps(one)}\n\n" for one in chat_chunks(step, body["model"], number)]
            return self.send("".join([*lines, "data: [DONE]\n\n"]).encode(), "text/event-stream")
        if not body.get("stream"):
            return self.json(message_whole(step, body["model"], number))
        return self.stream(messages_events(step, body["model"], number))

    def gemini(self, path: str, body: dict[str, Any]) -> None:
        model = path.rpartition("/")[2].partition(":")[0]  # which the body does not name
        answer = gemini_answer(self.server.endpoint.answer({**body, "model": model}), next(NUMBERS))
        if path.endswith(":generateContent"):
            return self.json(answer)
        return self.send(f"data: {json.dumps(answer)}\r\n\r\n".encode(), "text/event-stream")

    def do_GET(self) -> None:
        self.server.endpoint.other.append(f"GET {self.path}")
        self.json({"data": [], "models": [], "has_more": False})

    def do_HEAD(self) -> None:
        self.send(b"", "text/plain")

    def json(self, answer: dict[str, Any]) -> None:
        self.send(json.dumps(answer).encode(), "application/json")

    def stream(self, events: Iterator[dict[str, Any]]) -> None:
        lines = (f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)
        self.send("".join(lines).encode(), "text/event-stream")

    def send(self, data: bytes, kind: str) -> None:
        with contextlib.suppress(ConnectionError):  # a client that was ended meanwhile
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
