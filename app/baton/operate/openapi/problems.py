"""Describes the possible problems of each operation in the OpenAPI document.

An operation's problems follow from its shape: one with a body may get an unreadable body, a change may meet a conflict.
A status described by the route itself is not overwritten.
"""

from typing import Any

from baton.kernel.base import errors

MEDIA_TYPE = "application/problem+json"
SCHEMA = {"$ref": "#/components/schemas/ProblemModel"}
OPEN = frozenset({"/healthz", "/readyz"})
"""Paths without tokens and rate limits."""
_DETAILS: dict[type[errors.BatonError], str] = {
    errors.BadJSON: "the body is not JSON: expecting value",
    errors.Unauthenticated: "the token is unknown, expired or revoked",
    errors.Forbidden: "`developer` may not do this; allowed: `lead`, `admin`",
    errors.NotFound: "nothing has this name",
    errors.MethodNotAllowed: "`PATCH` is not allowed here",
    errors.Conflict: "this cannot be done in its present state",
    errors.PreconditionFailed: "version 4 is stored, `If-Match` names 3; nothing was changed",
    errors.TooLarge: "the body is larger than 8 MiB, the limit of this endpoint",
    errors.Invalid: "`level` is `hard`; allowed: `strict`, `guidance`",
    errors.RateLimited: "120 requests a minute are allowed here; try again in 12 s",
    errors.InternalError: "the request failed; see the server's log",
    errors.StoreUnavailable: "the database did not answer in time; nothing was changed",
}

_READ_FROM_A_RUNNER = frozenset(["/jobs/{job_id}/diff/pages"])
"""Requests to a runner for data missing in some jobs."""


def responses() -> dict[str, Any]:
    """Return every problem once, for `components.responses`."""
    return {_name(error): _response(error, detail) for error, detail in _DETAILS.items()}


def problems_of(path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    """Return an operation's possible problems, by status."""
    kinds: list[type[errors.BatonError]] = [errors.Forbidden, errors.MethodNotAllowed, errors.InternalError]
    if path not in OPEN:
        kinds += [errors.Unauthenticated, errors.RateLimited, errors.StoreUnavailable]
    if operation.get("parameters") or "requestBody" in operation:
        kinds += [errors.Invalid, errors.NotFound]
    if "requestBody" in operation:
        kinds += [errors.BadJSON, errors.TooLarge]
    if method in {"post", "put", "patch", "delete"}:
        kinds += [errors.Conflict, errors.PreconditionFailed]
    elif path in _READ_FROM_A_RUNNER:
        kinds.append(errors.Conflict)
    return only(*kinds)


def only(*kinds: type[errors.BatonError]) -> dict[str, Any]:
    """Return references to these problems, by status."""
    named = {str(error.status): {"$ref": f"#/components/responses/{_name(error)}"} for error in kinds}
    return dict(sorted(named.items()))


def _name(error: type[errors.BatonError]) -> str:
    return f"{error.__name__}Problem"


def _response(error: type[errors.BatonError], detail: str) -> dict[str, Any]:
    example = {
        "type": f"urn:baton:problem:{error.code}",
        "title": error.title,
        "status": error.status,
        "code": error.code,
        "detail": detail,
    }
    described: dict[str, Any] = {
        "description": error.title[0].upper() + error.title[1:] + ".",
        "content": {MEDIA_TYPE: {"schema": SCHEMA, "example": example}},
    }
    if error is errors.RateLimited:
        described["headers"] = {
            "Retry-After": {"description": "Seconds until the next is served.", "schema": {"type": "integer"}}
        }
    return described
