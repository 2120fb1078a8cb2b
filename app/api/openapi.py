"""Builds the OpenAPI document: FastAPI's own routes, and the agents' endpoints from the types that answer them.

It serves nothing; `python -m app.cli.openapi` prints the document, and a test compares it with the committed one.
"""

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from app.api.evaluate import EvaluateAnswer
from app.api.pre_tool_use import PreToolUseAnswer
from app.api.session_events import Acknowledged, SessionStartAnswer
from app.clients import CLIENTS

PROBLEM = "#/components/schemas/ProblemModel"
_REF = "#/components/schemas/{name}"


class HotOperation(msgspec.Struct, frozen=True, kw_only=True):
    """What the document says of one of the agents' endpoints."""

    path: str
    operation_id: str
    summary: str
    description: str
    tag: str
    body: dict[str, Any]
    answer: Any = None
    errors: tuple[int, ...] = (400, 403, 413, 422, 500)


def _text(description: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "maxLength": 4096, "description": description, **more}


_SESSION = {
    "session_id": _text("The agent's session."),
    "agent_id": _text("Set in sub-agents only; it exempts them from the orchestrator's rules."),
    "agent_type": _text("The agent's kind."),
    "cwd": _text("The session's folder."),
    "project": _text("The project: a git remote or its root folder; the header `Baton-Project` when absent."),
    "tool_name": _text("The tool, in Claude Code's words.", minLength=1),
    "tool_input": {"type": "object", "description": "The tool's input as it is.", "additionalProperties": True},
    "tool_use_id": _text("Retries with the same id get the same answer and are recorded once."),
    "permission_mode": _text("The client's permission mode."),
}


def _body(*required: str, **more: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": "A client's payload as it is. Unknown keys are accepted, and camelCase beside snake_case.",
        "properties": _SESSION | more,
        "required": list(required),
        "additionalProperties": True,
        "examples": [_EXAMPLE],
    }


_EXAMPLE = {
    "session_id": "5b1f0c9e",
    "cwd": "/home/dev/shop",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_input": {"command": "git status"},
    "tool_use_id": "toolu_01",
}

OPERATIONS = (
    HotOperation(
        path="/pre-tool-use",
        operation_id="pre_tool_use",
        summary="Decide one tool call",
        description="Answers with the typed decision. The call is recorded, and counts as a look-up if it is one.",
        tag="decisions",
        body=_body("tool_name"),
        answer=PreToolUseAnswer,
    ),
    HotOperation(
        path="/policies/evaluate",
        operation_id="evaluate_policies",
        summary="Judge a call without a trace",
        description="What the active rules say of a call, and why each did or did not match. Nothing is recorded.",
        tag="policies",
        body=_body(
            "tool_name",
            level={"enum": ["off", "guidance", "strict"], "description": "Stands in for the mode in force."},
            history={"type": "array", "items": {"type": "string"}, "description": "Tools called before, oldest first."},
        ),
        answer=EvaluateAnswer,
    ),
    HotOperation(
        path="/session-start",
        operation_id="session_start",
        summary="Begin a session",
        description="Notes the project, lets work items switch the mode, answers with the orchestrator's directives.",
        tag="sessions",
        body=_body(
            "session_id",
            work_items={"type": "integer", "minimum": 0, "description": "Open work items; absent when not known."},
            source={"enum": ["startup", "resume", "clear", "compact", "fork"], "description": "Why it starts."},
        ),
        answer=SessionStartAnswer,
    ),
    HotOperation(
        path="/session-end",
        operation_id="session_end",
        summary="End a session",
        description="Forgets the session's look-ups; its decisions stay.",
        tag="sessions",
        body=_body("session_id", reason=_text("Why it ends.")),
        answer=Acknowledged,
    ),
    HotOperation(
        path="/post-tool-use",
        operation_id="post_tool_use",
        summary="Note what a tool call did",
        description="Notes edited files and background tasks, for rules about them.",
        tag="sessions",
        body=_body("session_id", "tool_name", tool_response={"description": "The tool's response, of any type."}),
        answer=Acknowledged,
    ),
    HotOperation(
        path="/hooks/{client}",
        operation_id="client_hook",
        summary="Serve a client's native hook event",
        description=(
            "Any event of the client in, that client's own dialect out; `{}` is no opinion. It answers 200 whatever"
            " happens: to a client anything else means that the tool runs. What cannot be read gets the failure answer"
            " that the header `Baton-On-Failure` (or the server's setting) asks for."
        ),
        tag="hooks",
        body={"type": "object", "description": "The client's payload as it is.", "additionalProperties": True},
        errors=(403,),
    ),
)

_HOOK_PARAMETERS = [
    {"name": "client", "in": "path", "required": True, "schema": {"type": "string", "enum": sorted(CLIENTS)}},
    {
        "name": "event",
        "in": "query",
        "schema": {"type": "string"},
        "description": "The event's name, for a body that cannot be read.",
    },
]
_HOOK_ANSWER = {"type": "object", "additionalProperties": True, "description": "The client's own dialect."}


def document(app: FastAPI) -> dict[str, Any]:
    """Build the whole document."""
    built = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        openapi_version="3.1.0",
    )
    answers = [operation.answer for operation in OPERATIONS if operation.answer is not None]
    _schemas, components = msgspec.json.schema_components(answers, ref_template=_REF)
    built["components"]["schemas"] |= components
    for path in built["paths"].values():
        for operation in path.values():
            operation["responses"].update({"403": _problem(), "422": _problem(), "429": _problem(), "500": _problem()})
    for operation in OPERATIONS:
        built["paths"][operation.path] = {"post": _operation(operation)}
    built["paths"] = dict(sorted(built["paths"].items()))
    for unused in ("HTTPValidationError", "ValidationError"):
        built["components"]["schemas"].pop(unused, None)
    return built


def _operation(operation: HotOperation) -> dict[str, Any]:
    answer = _HOOK_ANSWER if operation.answer is None else {"$ref": _REF.format(name=operation.answer.__name__)}
    described: dict[str, Any] = {
        "operationId": operation.operation_id,
        "summary": operation.summary,
        "description": operation.description,
        "tags": [operation.tag],
        "requestBody": {"required": True, "content": {"application/json": {"schema": operation.body}}},
        "responses": {
            "200": {"description": "The answer.", "content": {"application/json": {"schema": answer}}},
            **{str(status): _problem() for status in operation.errors},
        },
    }
    if "{client}" in operation.path:
        described["parameters"] = _HOOK_PARAMETERS
    return described


def _problem() -> dict[str, Any]:
    return {
        "description": "What was wrong, and what is allowed.",
        "content": {"application/problem+json": {"schema": {"$ref": PROBLEM}}},
    }
