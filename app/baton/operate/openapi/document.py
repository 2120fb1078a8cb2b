"""Builds the OpenAPI document: FastAPI's own routes, and the agents' endpoints from the types of their answers.

`python -m baton.serve.openapi` prints the document, and a test compares it with the committed one.
"""

from typing import Any

import msgspec
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from baton.clients.registry import CLIENTS
from baton.decide.bodies import PreToolUseAnswer
from baton.decide.dry_run import ROLES
from baton.decide.dry_run_api import EvaluateAnswer
from baton.decide.session_events_api import Acknowledged, SessionStartAnswer
from baton.kernel.base.errors import (
    BadJSON,
    BatonError,
    Forbidden,
    InternalError,
    Invalid,
    MethodNotAllowed,
    NotFound,
    RateLimited,
    StoreUnavailable,
    TooLarge,
    Unauthenticated,
)
from baton.kernel.http.bodies import ProblemModel
from baton.operate.openapi import problems
from baton.operate.openapi.examples import example_of
from baton.operate.openapi.route_docs import BODY as ROUTE_BODY
from baton.records.replay.service import ReplayLine
from baton.route.pipeline.bodies import RouteAnswer, RouteExplained

_REF = "#/components/schemas/{name}"
_TYPED = (BadJSON, Unauthenticated, Forbidden, MethodNotAllowed, TooLarge, Invalid, RateLimited, InternalError)


class HotOperation(msgspec.Struct, frozen=True, kw_only=True):
    """One of the agents' endpoints, which bypass FastAPI for speed, as the document describes it."""

    path: str
    operation_id: str
    summary: str
    description: str
    tag: str
    body: dict[str, Any]
    answer: Any = None
    errors: tuple[type[BatonError], ...] = _TYPED


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


def _body(*required: str, example: dict[str, Any], **more: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": "A client's payload as it is. Unknown keys are accepted, and camelCase beside snake_case.",
        "properties": _SESSION | more,
        "required": list(required),
        "additionalProperties": True,
        "examples": [example],
    }


_IN_A_SESSION = {"session_id": "5b1f0c9e", "cwd": "/home/ada/shop"}
_CALL = {"tool_name": "Bash", "tool_input": {"command": "git status"}, "tool_use_id": "toolu_01"}
_BEFORE_A_CALL = _IN_A_SESSION | {"hook_event_name": "PreToolUse"} | _CALL

OPERATIONS = (
    HotOperation(
        path="/pre-tool-use",
        operation_id="pre_tool_use",
        summary="Decide one tool call",
        description="Answers with the typed decision. The call is recorded, and counts as a look-up if it is one.",
        tag="decisions",
        body=_body("tool_name", example=_BEFORE_A_CALL),
        answer=PreToolUseAnswer,
    ),
    HotOperation(
        path="/policies/evaluate",
        operation_id="evaluate_policies",
        summary="Judge a call without a trace",
        description=(
            "What rules say of a call, and why each did or did not match: those in force, those of a `revision`, or a `draft`"
            " laid over those in force. A lead may ask about a call of somebody in their team (`principal`), an admin of"
            " anybody; layers that the caller may not read are left out, another user's own among them. Nothing is recorded."
        ),
        tag="policies",
        body=_body(
            "tool_name",
            example=_BEFORE_A_CALL | {"level": "strict"},
            level={"enum": ["off", "guidance", "strict"], "description": "Stands in for the mode in force."},
            history={"type": "array", "items": {"type": "string"}, "description": "Tools called before, oldest first."},
            revision=_text("A policy revision that was in force."),
            draft={
                "type": "object",
                "description": "A layer that is being written; not together with `revision`.",
                "properties": {
                    "tier": {"enum": ["organisation", "team", "project", "user"]},
                    "name": _text("The team, project or user; your own without it."),
                    "files": {"type": "object", "additionalProperties": {"type": "string"}},
                },
                "required": ["files"],
            },
            principal={
                "type": "object",
                "description": "Whose call it is; only for leads and admins.",
                "properties": {
                    "user": _text("Their name; yours without it."),
                    "team": _text("Their team; the user's own without it."),
                    "role": {"enum": list(ROLES)},
                },
            },
        ),
        answer=EvaluateAnswer,
        errors=(*_TYPED, NotFound, StoreUnavailable),
    ),
    HotOperation(
        path="/session-start",
        operation_id="session_start",
        summary="Begin a session",
        description="Notes the project, lets work items switch the mode, answers with the orchestrator's directives.",
        tag="sessions",
        body=_body(
            "session_id",
            example=_IN_A_SESSION | {"hook_event_name": "SessionStart", "source": "startup", "work_items": 3},
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
        body=_body(
            "session_id",
            example=_IN_A_SESSION | {"hook_event_name": "SessionEnd", "reason": "logout"},
            reason=_text("Why it ends."),
        ),
        answer=Acknowledged,
    ),
    HotOperation(
        path="/post-tool-use",
        operation_id="post_tool_use",
        summary="Note what a tool call did",
        description="Notes edited files and background tasks, for rules about them.",
        tag="sessions",
        body=_body(
            "session_id",
            "tool_name",
            example=_IN_A_SESSION
            | {"hook_event_name": "PostToolUse", "tool_response": {"stdout": "", "exit": 0}}
            | _CALL,
            tool_response={"description": "The tool's response, of any type."},
        ),
        answer=Acknowledged,
    ),
    HotOperation(
        path="/route",
        operation_id="route_prompt",
        summary="Find the agent that a prompt is for",
        description="Takes a client's UserPromptSubmit payload as it is. Answers with the agent, or honestly with none.",
        tag="routing",
        body=ROUTE_BODY,
        answer=RouteAnswer,
        errors=(*_TYPED, NotFound),
    ),
    HotOperation(
        path="/route/explain",
        operation_id="explain_route",
        summary="Show how agents were ranked for a prompt",
        description="Every feature of every agent, the weights and the threshold. Nothing is recorded.",
        tag="routing",
        body=ROUTE_BODY,
        answer=RouteExplained,
        errors=(*_TYPED, NotFound, StoreUnavailable),
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
        body={
            "type": "object",
            "description": "The client's payload as it is.",
            "additionalProperties": True,
            "examples": [_BEFORE_A_CALL],
        },
        errors=(Forbidden, MethodNotAllowed),
    ),
)

_LINES = (ReplayLine,)
"""What the lines of streams are."""
_HOOK_PARAMETERS = [
    {"name": "client", "in": "path", "required": True, "schema": {"type": "string", "enum": sorted(CLIENTS)}},
    {
        "name": "event",
        "in": "query",
        "schema": {"type": "string"},
        "description": "The event's name, for a body that cannot be read.",
    },
]
_SECURITY = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "`baton token create` makes one. On loopback with the embedded default none is needed.",
    }
}
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
    answers = [*(operation.answer for operation in OPERATIONS if operation.answer is not None), *_LINES]
    _schemas, components = msgspec.json.schema_components(answers, ref_template=_REF)
    components["Acknowledged"]["properties"]["ok"] = {"type": "boolean", "const": True}
    problem = ProblemModel.model_json_schema(ref_template="#/components/schemas/{model}")
    built["components"]["schemas"] |= components | problem.pop("$defs") | {ProblemModel.__name__: problem}
    built["components"]["responses"] = problems.responses()
    built["components"]["securitySchemes"] = _SECURITY
    built["security"] = [{"token": []}, {}]
    for path, operations in built["paths"].items():
        for method, operation in operations.items():
            _complete(path, method, operation)
    for operation in OPERATIONS:
        built["paths"][operation.path] = {"post": _operation(operation)}
    built["paths"] = dict(sorted(built["paths"].items()))
    _add_examples(built)
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
            **problems.only(*operation.errors),
        },
    }
    if "{client}" in operation.path:
        described["parameters"] = _HOOK_PARAMETERS
    return described


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    """Add to one of FastAPI's operations its possible problems, and whether it needs a token."""
    answers = operation["responses"]
    if "HTTPValidationError" in str(answers.get("422")):
        del answers["422"]
    operation["responses"] = dict(sorted((problems.problems_of(path, method, operation) | answers).items()))
    if path in problems.OPEN:
        operation["security"] = []


def _add_examples(built: dict[str, Any]) -> None:
    """Add an example to each JSON body that has none."""
    schemas = built["components"]["schemas"]
    for operations in built["paths"].values():
        for operation in operations.values():
            for body in (operation.get("requestBody", {}), *operation["responses"].values()):
                content = body.get("content", {}).get("application/json")
                if content and not {"example", "examples"} & content.keys():
                    content["example"] = example_of(content.get("schema", {}), schemas)
