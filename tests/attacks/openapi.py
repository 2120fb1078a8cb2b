"""Changing requests made from the OpenAPI document: each operation in many variants, as sent by an agent.

New operations are included automatically. Those permitted to an agent are in `OF_AGENTS` with their permission.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from baton.people.users import FOR_AGENTS

DOCUMENT = json.loads((Path(__file__).parents[2] / "openapi" / "openapi.json").read_text())
METHODS = ("put", "post", "patch", "delete")
OF_AGENTS = {
    "apply_job": "jobs.apply", "branch_job": "jobs.apply", "discard_job": "jobs.apply", "open_job_request": "jobs.apply",
    "deliver_records": "calls.make", "delete_code_map": "codemap.write", "propose_pattern": "patterns.propose", "put_code_map": "codemap.write",
    "put_code_map_files": "codemap.write", "put_client_hooks": "clients.report", "delete_client_hooks": "clients.report",
    "cancel_job": "jobs.write", "classify_prompt": "delegation.try", "client_hook": "calls.make",
    "complete_task": "graphs.write", "delegate": "jobs.submit", "evaluate_policies": "policies.read",
    "explain_route": "routes.make", "fail_task": "graphs.write", "give_route_feedback": "routes.feedback",
    "judge_answer": "delegation.try", "make_graph": "graphs.write", "make_report": "reports.write",
    "post_tool_use": "calls.make", "pre_tool_use": "calls.make", "put_inventory": "calls.make", "reopen_wave": "graphs.write",
    "replay_policies": "policies.replay", "request_exception": "exceptions.request", "reply_job": "jobs.submit", "retry_job": "jobs.write", "route_prompt": "routes.make",
    "session_end": "calls.make", "session_start": "calls.make", "spawn": "spawns.make", "spawn_task": "spawns.make",
    "spawn_tasks": "spawns.make", "test_policies": "policies.read", "validate_policies": "policies.read",
}  # fmt: skip
"""Operations that an agent may use, by their ids, and the permission of `FOR_AGENTS` that says so."""
OF_NOBODY = {"sign_in", "sign_out", "begin_account_sign_in", "sign_in_with_account"}
"""Operations that ask for the proof itself: a link's code, a token or an account, and the session that came of it."""
BODIES = {
    "put_mode": {"scope": "user", "enabled": False},  # an agent has the other direction
    "put_roster": {"agents": [{"name": "mine"}]},
}
"""Bodies of which the document cannot say enough."""
QUERIES = {"delete_mode": "scope=user", "end_freeze": "scope=user"}
KNOWN = {"tier": "user", "name": "local", "table": "ultrapower", "agent": "explore", "version": "1", "pack": "secrets"}
"""What stands in a path where the document says only that it is a text."""


class Request(msgspec.Struct, frozen=True):
    """A request of an agent: the operation, the dress that it wears, and its bytes with `{port}` for the server's."""

    operation: str
    dress: str
    data: bytes


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the method, path and description of each operation that changes something and is a person's."""
    assert set(OF_AGENTS.values()) <= FOR_AGENTS
    for path, methods in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in methods and methods[method]["operationId"] not in OF_AGENTS.keys() | OF_NOBODY:
                yield method.upper(), path, methods[method]


def requests() -> list[Request]:
    """Return every operation of a person in every dress."""
    found = []
    for method, path, operation in operations():
        target, body = _target(path, operation), _body(operation)
        for dress, dressed in DRESSES.items():
            found.append(Request(f"{method} {path}", dress, dressed(method, target, body)))
    return found


def _target(path: str, operation: dict[str, Any]) -> str:
    parameters = operation.get("parameters", [])
    for parameter in parameters:
        if parameter["in"] == "path":
            path = path.replace("{" + parameter["name"] + "}", _known(parameter))
    query = [f"{one['name']}={_known(one)}" for one in parameters if one["in"] == "query" and one.get("required")]
    query += [QUERIES[operation["operationId"]]] if operation["operationId"] in QUERIES else []
    return path + ("?" + "&".join(query) if query else "")


def _known(parameter: dict[str, Any]) -> str:
    schema = _resolved(parameter.get("schema", {}))
    if "enum" in schema:
        return str(schema["enum"][-1])
    return "1" if schema.get("type") == "integer" else KNOWN.get(parameter["name"], "none")


def _body(operation: dict[str, Any]) -> bytes:
    if operation["operationId"] in BODIES:
        return json.dumps(BODIES[operation["operationId"]]).encode()
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    return b"" if content is None else json.dumps(_instance(content.get("schema", {}))).encode()


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        found = DOCUMENT
        for word in schema["$ref"].removeprefix("#/").split("/"):
            found = found[word]
        schema = found
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return _resolved(next(one for one in schema[key] if one.get("type") != "null"))
    return schema


def _instance(schema: dict[str, Any]) -> Any:
    """Return the least that a schema accepts."""
    schema = _resolved(schema)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            least = {name: _instance(properties.get(name, {})) for name in schema.get("required", ())}
            if "minProperties" in schema and not least:
                least["x"] = _instance(schema.get("additionalProperties") or {})
            return least
        case "array":
            return [_instance(schema.get("items", {})) for _ in range(schema.get("minItems", 0))]
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return False
        case "string" if schema.get("format") == "date-time":
            return "2099-01-01T00:00:00Z"
        case "string":
            return "x" * max(1, schema.get("minLength", 1))
    return {}


def _message(
    method: str,
    target: str,
    body: bytes,
    *headers: str,
    version: str = "1.1",
    host: str = "Host: 127.0.0.1:{port}",
    close: bool = True,
) -> bytes:
    lines = [f"{method} {target} HTTP/{version}", *([host] if host else []), "If-Match: *", *headers]
    if body and not any(line.lower().startswith("content-type") for line in headers):
        lines.append("Content-Type: application/json")
    if body and not any(line.lower().startswith("transfer-encoding") for line in headers):
        lines.append(f"Content-Length: {len(body)}")
    if close:
        lines.append("Connection: close")
    return "\r\n".join([*lines, "", ""]).encode() + body


def _encoded(method: str, target: str, body: bytes) -> bytes:
    path, mark, query = target.partition("?")
    return _message(
        method, "/" + "".join(f"%{ord(c):02x}" if c.isalpha() else c for c in path[1:]) + mark + query, body
    )


def _slash(method: str, target: str, body: bytes) -> bytes:
    path, mark, query = target.partition("?")
    return _message(method, f"{path}/{mark}{query}", body)


def _chunked(method: str, target: str, body: bytes) -> bytes:
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (body[:3], body[3:]) if part) + b"0\r\n\r\n"
    return _message(method, target, chunks, "Transfer-Encoding: chunked")


_EVENT = b'{"hook_event_name":"Notification","session_id":"s"}'


def _behind_an_event(method: str, target: str, body: bytes) -> bytes:
    return _message("POST", "/hooks/claude-code", _EVENT, close=False) + _message(method, target, body)


def _smuggled(method: str, target: str, body: bytes) -> bytes:
    inner = _message(method, target, body)
    first = _message("POST", "/hooks/claude-code", b"0\r\n\r\n" + inner, "Transfer-Encoding: chunked", close=False)
    length = f"Content-Length: {len(inner) + 5}\r\n".encode()
    return first.replace(b"Transfer-Encoding", length + b"Transfer-Encoding", 1)


def _with(*headers: str) -> Callable[[str, str, bytes], bytes]:
    return lambda method, target, body: _message(method, target, body, *headers)


DRESSES: dict[str, Callable[[str, str, bytes], bytes]] = {
    "plain": _message,
    "percent-encoded": _encoded,
    "trailing slash": _slash,
    "capitals": lambda m, t, b: _message(m, t.upper(), b),
    "two slashes": lambda m, t, b: _message(m, f"/{t}", b),
    "dot segments": lambda m, t, b: _message(m, f"/hooks/..{t}", b),
    "encoded dot segments": lambda m, t, b: _message(m, f"/hooks/%2e%2e{t}", b),
    "a parameter of the path": lambda m, t, b: _message(m, t.replace("?", ";x=1?", 1) if "?" in t else f"{t};x=1", b),
    "a method in small letters": lambda m, t, b: _message(m.lower(), t, b),
    "POST that overrides its method": lambda m, t, b: _message(
        "POST", t, b, f"X-HTTP-Method-Override: {m}", f"X-HTTP-Method: {m}", f"X-Method-Override: {m}"
    ),
    "GET that overrides its method": lambda m, t, b: _message(
        "GET", f"{t}{'&' if '?' in t else '?'}_method={m}", b, f"X-HTTP-Method-Override: {m}"
    ),
    "absolute form": lambda m, t, b: _message(m, f"http://127.0.0.1:{{port}}{t}", b),
    "absolute form of another host": lambda m, t, b: _message(m, f"http://example.com{t}", b),
    "HTTP/1.0": lambda m, t, b: _message(m, t, b, version="1.0"),
    "HTTP/1.0 without a host": lambda m, t, b: _message(m, t, b, version="1.0", host=""),
    "an upgrade to h2c": _with("Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA"),
    "an upgrade to a WebSocket": _with(
        "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
    ),
    "two hosts": _with("Host: localhost"),
    "two users": _with("Baton-User: local", "Baton-User: root"),
    "two authorizations": _with("Authorization: Bearer x", "Authorization: Basic bG9jYWw6"),
    "the server's own mark": _with(":person: a person's terminal"),
    "marks like the server's own": _with("person: a person's terminal", "x-person: 1", "%3aperson: 1"),
    "a user, a role and a team": _with("Baton-User: root", "Baton-Role: admin", "Baton-Team: default"),
    "a proxy's word": _with(
        "X-Forwarded-For: 127.0.0.1", "Forwarded: for=127.0.0.1;proto=https", "X-Forwarded-User: root",
        "X-Remote-User: root", "X-Real-IP: 127.0.0.1", "X-Original-URL: /healthz", "X-Rewrite-URL: /healthz",
    ),
    "a token that nobody knows": _with("Authorization: Bearer baton_000000000000_" + "0" * 64),
    "an empty token": _with("Authorization: Bearer "),
    "a token in the query": lambda m, t, b: _message(
        m, f"{t}{'&' if '?' in t else '?'}token=x&access_token=x&user=root&role=admin", b
    ),
    "a cookie": _with("Cookie: session=admin; token=admin"),
    "a browser of this machine": _with("Origin: http://127.0.0.1:{port}", "Sec-Fetch-Site: same-origin"),
    "a body in chunks": _chunked,
    "a body of another type": _with("Content-Type: text/plain"),
    "behind an event": _behind_an_event,
    "within an event": _smuggled,
}  # fmt: skip
"""What a request wears, by a name. Each makes the bytes of a request from its method, target and body."""
