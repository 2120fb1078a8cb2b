"""Maps errors to responses for all FastAPI routes."""

import logging
from collections.abc import Sequence
from typing import Any

import msgspec
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from starlette.exceptions import HTTPException
from starlette.routing import Route

from baton.kernel.base import errors
from baton.kernel.http.fields import kind
from baton.kernel.http.peer import PERSON
from baton.kernel.http.serving.hot_routes import bad_json

log = logging.getLogger(__name__)
MEDIA_TYPE = "application/problem+json"
_SAID = {"missing": "is missing", "extra_forbidden": "is not a field of this request"}


def install(app: FastAPI, routers: Sequence[APIRouter]) -> None:
    """Install the error handlers. `routers` are those of the app."""
    app.state.routers = routers
    app.add_exception_handler(errors.BatonError, _baton_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _unexpected)


def _response(problem: errors.Problem) -> Response:
    return Response(msgspec.json.encode(problem), problem.status, media_type=MEDIA_TYPE)


async def _baton_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, errors.BatonError)  # noqa: S101 - what it was registered for
    problem = error.problem()
    if isinstance(error, errors.PersonRequired):
        why = dict(request.scope["headers"]).get(PERSON, b"it has the credential of hooks and agents").decode()
        problem = msgspec.structs.replace(problem, detail=f"{problem.detail} (this request: {why})")
    response = _response(problem)
    if isinstance(error, errors.RateLimited):
        response.headers["retry-after"] = str(error.retry_after_s)
    if isinstance(error, errors.Unauthenticated):
        response.headers["www-authenticate"] = "Bearer"
    return response


async def _validation_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101 - what it was registered for
    given = error.errors()
    found = [_field_error(one) for one in given[: errors.MOST_ERRORS]]
    if any(one["type"] == "json_invalid" for one in given):
        return _response(bad_json(error.__cause__).problem())
    if any(one["loc"] == ("body",) and isinstance(one.get("input"), bytes) for one in given):
        return _response(
            errors.BadJSON("the body is not sent as JSON; send `Content-Type: application/json`").problem()
        )
    problem = errors.Invalid(found[0].field, found[0].message, found[0].allowed).problem()
    more = len(given) - errors.MOST_ERRORS
    detail = problem.detail if more <= 0 else f"{problem.detail}; {more} more are not listed"
    return _response(msgspec.structs.replace(problem, errors=found, detail=detail))


def _field_error(error: dict[str, Any]) -> errors.FieldError:
    field = ".".join(str(part) for part in error["loc"] if part not in {"body", "query", "path", "header"}) or "body"
    context: dict[str, Any] = error.get("ctx") or {}
    if said := _SAID.get(error["type"]):
        return errors.FieldError(field, said)
    given = error.get("input")
    if error["type"] == "string_too_long":
        size = f"has {len(given or '')} characters"
        return errors.FieldError(field, f"{size}; at most {context['max_length']} are allowed")
    if error["type"] == "model_attributes_type":
        return errors.FieldError(field, f"must be an object, not {kind(given)}")
    if (given == "" and error["type"] == "string_too_short") or context.get("pattern") == r"\S":
        return errors.FieldError(field, "is blank")
    text = error["msg"].removeprefix("Value error, ")
    shown = f"is `{given}`" if isinstance(given, str | int | float) and len(str(given)) <= 100 else f"is {kind(given)}"  # noqa: PLR2004
    if error["type"] == "literal_error":
        allowed = [part.strip("' ") for part in context["expected"].replace(" or ", ",").split(",")]
        return errors.FieldError(field, shown, allowed)
    return errors.FieldError(field, f"{shown}: {text[0].lower()}{text[1:]}")


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101 - what it was registered for
    if error.status_code == errors.MethodNotAllowed.status:
        response = _response(
            errors.MethodNotAllowed(f"`{request.method}` is not allowed on `{request.url.path}`").problem()
        )
        response.headers["allow"] = ", ".join(_methods(request)) or (error.headers or {}).get("Allow", "")
        return response
    if error.status_code == errors.NotFound.status:
        return _response(errors.NotFound(f"`{request.url.path}` does not exist").problem())
    if isinstance(error.__cause__, ValueError | RecursionError):
        return _response(bad_json(error.__cause__).problem())
    return _response(
        errors.Problem(
            type="urn:baton:problem:bad_request",
            title="the request cannot be served",
            status=error.status_code,
            code="bad_request",
            detail=str(error.detail),
        )
    )


def _methods(request: Request) -> list[str]:
    """Return a path's allowed methods. The router itself names only the first matching route's."""
    routers: Sequence[APIRouter] = request.app.state.routers
    routes = [route for router in routers for route in router.routes if isinstance(route, Route)]
    return sorted({name for one in routes if one.path_regex.match(request.url.path) for name in one.methods or ()})


async def _unexpected(request: Request, error: Exception) -> Response:
    log.error("`%s` failed", request.url.path, exc_info=error)
    return _response(errors.InternalError().problem())
