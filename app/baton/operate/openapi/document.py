"""Builds the OpenAPI document: FastAPI's own routes, and the agents' endpoints from their answer types.

`python -m baton.serve.documents openapi` prints the document, and a test compares it with the committed one.
"""

from importlib.resources import files
from typing import Any

import msgspec
import yaml
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from baton.clients.registry import CLIENTS
from baton.decide.api import PreToolUseAnswer
from baton.decide.dry_run import EvaluateAnswer
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
from baton.kernel.http.fields import ProblemModel
from baton.operate.openapi import problems
from baton.operate.openapi.examples import example_of
from baton.records.replay.service import ReplayLine
from baton.route.pipeline.api import RouteAnswer, RouteExplained

_REF = "#/components/schemas/{name}"
_TYPED = (BadJSON, Unauthenticated, Forbidden, MethodNotAllowed, TooLarge, Invalid, RateLimited, InternalError)


_ANSWERS: dict[str, type[msgspec.Struct]] = {
    "pre_tool_use": PreToolUseAnswer, "evaluate_policies": EvaluateAnswer, "session_start": SessionStartAnswer,
    "session_end": Acknowledged, "post_tool_use": Acknowledged, "route_prompt": RouteAnswer,
    "explain_route": RouteExplained,
}  # fmt: skip
"""Answers of the agents' endpoints; `client_hook` answers in the client's dialect."""
_MORE_ERRORS: dict[str, tuple[type[BatonError], ...]] = {
    "evaluate_policies": (NotFound, StoreUnavailable),
    "route_prompt": (NotFound,),
    "explain_route": (NotFound, StoreUnavailable),
}
_LINES = (ReplayLine,)
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
        title=app.title, version=app.version, description=app.description, routes=app.routes, openapi_version="3.1.0"
    )
    answers = [*_ANSWERS.values(), *_LINES]
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
    hot = yaml.safe_load(files("baton.operate.openapi").joinpath("operations.yaml").read_text("utf-8"))
    hot["/hooks/{client}"]["parameters"][0]["schema"]["enum"] = sorted(CLIENTS)
    built["paths"] |= {path: {"post": _operation(operation)} for path, operation in hot.items()}
    built["paths"] = dict(sorted(built["paths"].items()))
    _add_examples(built)
    for unused in ("HTTPValidationError", "ValidationError"):
        built["components"]["schemas"].pop(unused, None)
    return built


def _operation(operation: dict[str, Any]) -> dict[str, Any]:
    """Return one of the agents' operations with its answer and its possible problems."""
    name = operation["operationId"]
    answer = {"$ref": _REF.format(name=_ANSWERS[name].__name__)} if name in _ANSWERS else _HOOK_ANSWER
    errors = (*_TYPED, *_MORE_ERRORS.get(name, ())) if name in _ANSWERS else (Forbidden, MethodNotAllowed)
    answered = {"description": "The answer.", "content": {"application/json": {"schema": answer}}}
    return operation | {"responses": {"200": answered, **problems.only(*errors)}}


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    """Add to one of FastAPI's operations its possible problems, and whether it needs a token."""
    answers = operation["responses"]
    if "HTTPValidationError" in str(answers.get("422")):
        del answers["422"]
    operation["responses"] = dict(sorted((problems.problems_of(path, method, operation) | answers).items()))
    if path in problems.OPEN:
        operation["security"] = []


def _add_examples(built: dict[str, Any]) -> None:
    schemas = built["components"]["schemas"]
    for operations in built["paths"].values():
        for operation in operations.values():
            for body in (operation.get("requestBody", {}), *operation["responses"].values()):
                content = body.get("content", {}).get("application/json")
                if content and not {"example", "examples"} & content.keys():
                    content["example"] = example_of(content.get("schema", {}), schemas)
