"""Errors of the API, with status and stable code."""

from typing import Any, Literal

import msgspec


class Unavailable(Exception):
    """A store does not answer: the database or Redis."""


class FieldError(msgspec.Struct, frozen=True, omit_defaults=True):
    """One invalid field: its path, the problem, and the allowed values."""

    field: str
    message: str
    allowed: list[str] = []


Code = Literal[
    "already_spawned",
    "bad_json",
    "bad_request",
    "body_too_large",
    "conflict",
    "forbidden",
    "person_required",
    "forbidden_host",
    "forbidden_origin",
    "head_too_large",
    "hierarchy",
    "internal",
    "lease_lost",
    "method_not_allowed",
    "missing_metadata",
    "not_found",
    "parallel_window",
    "precondition_failed",
    "provider_unavailable",
    "rate_limited",
    "runner_away",
    "store_unavailable",
    "tool_not_allowed",
    "unauthenticated",
    "unknown_agent",
    "unknown_client",
    "validation",
    "wrong_wave",
]


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The shape of every error response (RFC 9457, `application/problem+json`)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldError] = []
    given: dict[str, Any] = {}  # the values given by a refused spawn. `allowed` has the permitted ones.
    allowed: list[str] = []


MOST_ERRORS = 100  # maximum number of invalid fields per response. Listing 60,000 would take seconds.


class BatonError(Exception):
    """An error with an explanation for the caller."""

    status = 400
    code: Code = "bad_request"
    title = "the request cannot be served"

    def __init_subclass__(cls, status: int = 0, code: Code | None = None, title: str = "") -> None:
        cls.status, cls.code, cls.title = status or cls.status, code or cls.code, title or cls.title

    def __init__(self, detail: str, *errors: FieldError) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)

    def problem(self) -> Problem:
        """Return the error in its response shape."""
        more = len(self.errors) - MOST_ERRORS
        return Problem(
            type=f"urn:baton:problem:{self.code}",
            title=self.title,
            status=self.status,
            code=self.code,
            detail=self.detail if more <= 0 else f"{self.detail}; {more} more are not listed",
            errors=self.errors[:MOST_ERRORS],
        )


class BadJSON(BatonError, code="bad_json", title="the body is not a JSON object"):
    """The body is not JSON, or not an object."""


class Invalid(BatonError, status=422, code="validation", title="a field is not valid"):
    """A field is missing, has a wrong type, or an invalid value."""

    def __init__(self, field: str, message: str, allowed: list[str] | None = None) -> None:
        hint = f"{';' * (message[-1:] != '?')} allowed: {', '.join(f'`{a}`' for a in allowed)}" if allowed else ""
        super().__init__(f"`{field}` {message}{hint}", FieldError(field, message, allowed or []))


class PoliciesRefused(BatonError, status=422, code="validation", title="the policies are not accepted"):
    """A policy layer was rejected. `errors` locates each problem by `file:line`."""


class TooLongToFind(BatonError, status=422, code="validation", title="a field is not valid"):
    """A name or an id is too long for the database's indexes. Nothing was changed."""

    def __init__(self) -> None:
        super().__init__("a name or an id is too long; use at most 2,000 bytes")


class GraphRefused(BatonError, status=422, code="validation", title="the task graph is not accepted"):
    """A task graph cannot run. `errors` lists the faulty tasks."""


class TooLarge(BatonError, status=413, code="body_too_large", title="the body is too large"):
    """The body exceeds the endpoint's limit."""


class HeadTooLarge(BatonError, status=431, code="head_too_large", title="the request's head is too large"):
    """The request line and headers exceed the server's limits."""


class NotFound(BatonError, status=404, code="not_found", title="not found"):
    """The object does not exist, or belongs to someone else."""


class Unauthenticated(BatonError, status=401, code="unauthenticated", title="a valid token is needed"):
    """The token is missing, unknown, expired or revoked."""

    def __init__(self, detail: str, *, token_id: str = "") -> None:
        super().__init__(detail)
        self.token_id = token_id


class Forbidden(BatonError, status=403, code="forbidden", title="your role may not do this"):
    """The caller's role does not permit this on any object."""


class PersonRequired(Forbidden, code="person_required", title="this needs a person"):
    """The request has the credential of hooks and agents, and would weaken the rules for them."""


class Conflict(BatonError, status=409, code="conflict", title="this cannot be done now"):
    """The object's state does not permit this."""


class SpawnRefused(BatonError, title="this agent must not be started like this"):
    """An agent must not be started like this. `code` names the failed check, `given` and `allowed` explain it."""

    def __init__(
        self, code: Code, status: int, detail: str, *errors: FieldError, given: dict[str, Any], allowed: list[str]
    ) -> None:
        super().__init__(detail, *errors)
        self.code = code
        self.status = status
        self.given = given
        self.allowed = allowed

    def problem(self) -> Problem:
        """Return the error in its response shape."""
        return msgspec.structs.replace(super().problem(), given=self.given, allowed=self.allowed)


class ParallelExecutionError(SpawnRefused, title="ParallelExecutionError"):
    """A task was started before its wave, or too late after the first task of its wave."""


class RunnerAway(Conflict, code="runner_away", title="the runner is unavailable"):
    """The runner needed for this is out of contact."""


class LeaseLost(BatonError, status=409, code="lease_lost", title="the lease of this job is over"):
    """The runner has lost this job, and must end the agent."""


class PreconditionFailed(BatonError, status=412, code="precondition_failed", title="somebody else has changed it"):
    """`If-Match` names another version than the stored one. Nothing was changed."""


class RateLimited(BatonError, status=429, code="rate_limited", title="too many requests"):
    """Too many requests. `Retry-After` gives the wait in seconds."""

    def __init__(self, detail: str, *, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class UnknownClient(BatonError, status=404, code="unknown_client", title="unknown client"):
    """The client is unknown."""


class MethodNotAllowed(BatonError, status=405, code="method_not_allowed", title="method not allowed"):
    """The path exists, but not with this method."""


class ForbiddenHost(BatonError, status=403, code="forbidden_host", title="unknown host; see `BATON_ALLOWED_HOSTS`"):
    """The server does not serve this Host header (DNS rebinding)."""


class ForbiddenOrigin(BatonError, status=403, code="forbidden_origin", title="cross-site requests are refused"):
    """The request comes from a page of another site."""


class StoreUnavailable(BatonError, status=503, code="store_unavailable", title="the database is not available"):
    """The database did not answer in time. Nothing was changed."""


class ProviderUnavailable(
    BatonError, status=503, code="provider_unavailable", title="the OpenID provider is not available"
):
    """The OpenID provider is unavailable or its answer is invalid. Nobody was signed in."""


class InternalError(BatonError, status=500, code="internal", title="internal error"):
    """An internal failure. Details are only in the log."""

    def __init__(self) -> None:
        super().__init__("the request failed; see the server's log")
