"""What can go wrong for a caller, with its status and stable code."""

from typing import Any, Literal

import msgspec


class FieldError(msgspec.Struct, frozen=True, omit_defaults=True):
    """One field that was wrong: its name as a path, what was wrong, and what is allowed."""

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
    """The one shape of every error answer (RFC 9457, `application/problem+json`)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldError] = []
    given: dict[str, Any] = {}
    """What a refused spawn gave, and below what would have been allowed."""
    allowed: list[str] = []


MOST_ERRORS = 100
"""Wrong fields that one answer lists; nobody mends more at a time, and listing 60,000 takes seconds."""


class BatonError(Exception):
    """An error that a caller can understand and mend."""

    status = 400
    code: Code = "bad_request"
    title = "the request cannot be served"

    def __init__(self, detail: str, *errors: FieldError) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = list(errors)

    def problem(self) -> Problem:
        """Return the error in the shape that is sent."""
        more = len(self.errors) - MOST_ERRORS
        return Problem(
            type=f"urn:baton:problem:{self.code}",
            title=self.title,
            status=self.status,
            code=self.code,
            detail=self.detail if more <= 0 else f"{self.detail}; {more} more are not listed",
            errors=self.errors[:MOST_ERRORS],
        )


class BadJSON(BatonError):
    """The body is not JSON, or not an object."""

    code = "bad_json"
    title = "the body is not a JSON object"


class Invalid(BatonError):
    """A field is missing, of a wrong type, or holds a value that is not allowed."""

    status = 422
    code = "validation"
    title = "a field is not valid"

    def __init__(self, field: str, message: str, allowed: list[str] | None = None) -> None:
        hint = f"; allowed: {', '.join(f'`{a}`' for a in allowed)}" if allowed else ""
        super().__init__(f"`{field}` {message}{hint}", FieldError(field, message, allowed or []))


class PoliciesRefused(BatonError):
    """A policy layer that is not accepted; `errors` names each problem by `file:line`."""

    status = 422
    code = "validation"
    title = "the policies are not accepted"


class TooLongToFind(BatonError):
    """A name or an id that the database cannot find again, for its length; nothing was changed."""

    status = 422
    code = "validation"
    title = "a field is not valid"

    def __init__(self) -> None:
        super().__init__("a name or an id is too long; at most 2,000 bytes can be found again")


class GraphRefused(BatonError):
    """A task graph that cannot be carried out; `errors` names each task that keeps it from that."""

    status = 422
    code = "validation"
    title = "the task graph is not accepted"


class TooLarge(BatonError):
    """The body is larger than the endpoint takes."""

    status = 413
    code = "body_too_large"
    title = "the body is too large"


class HeadTooLarge(BatonError):
    """The request line and headers are larger, or more, than the server takes."""

    status = 431
    code = "head_too_large"
    title = "the request's head is too large"


class NotFound(BatonError):
    """There is no such thing, or it is not the caller's."""

    status = 404
    code = "not_found"
    title = "not found"


class Unauthenticated(BatonError):
    """No token, or one that is unknown, expired or revoked."""

    status = 401
    code = "unauthenticated"
    title = "a valid token is needed"

    def __init__(self, detail: str, *, token_id: str = "") -> None:
        super().__init__(detail)
        self.token_id = token_id


class Forbidden(BatonError):
    """The caller's role may never do this, whatever the object."""

    status = 403
    code: Code = "forbidden"
    title = "your role may not do this"


class PersonRequired(Forbidden):
    """The request has the credential of hooks and agents, and this weakens what guards against them."""

    code = "person_required"
    title = "this needs a person"


class Conflict(BatonError):
    """The thing is in a state in which this cannot be done."""

    status = 409
    code: Code = "conflict"
    title = "this cannot be done now"


class SpawnRefused(BatonError):
    """An agent that may not be started so; `code` says which check refused it, `given` and `allowed` why."""

    title = "this agent may not be started so"

    def __init__(
        self, code: Code, status: int, detail: str, *errors: FieldError, given: dict[str, Any], allowed: list[str]
    ) -> None:
        super().__init__(detail, *errors)
        self.code = code
        self.status = status
        self.given = given
        self.allowed = allowed

    def problem(self) -> Problem:
        """Return the error in the shape that is sent."""
        return msgspec.structs.replace(super().problem(), given=self.given, allowed=self.allowed)


class ParallelExecutionError(SpawnRefused):
    """A task that is started before its wave, or too late after the first of its wave."""

    title = "ParallelExecutionError"


class RunnerAway(Conflict):
    """The machine that has to do it is out of touch."""

    code = "runner_away"
    title = "the runner is not there"


class LeaseLost(BatonError):
    """A runner speaks for a job that is its own no more; it must end the agent."""

    status = 409
    code = "lease_lost"
    title = "the lease of this job is over"


class PreconditionFailed(BatonError):
    """`If-Match` names another version than the one that is stored; nothing was changed."""

    status = 412
    code = "precondition_failed"
    title = "somebody else has changed it"


class RateLimited(BatonError):
    """Too many requests; `Retry-After` says in how many seconds the next is served."""

    status = 429
    code = "rate_limited"
    title = "too many requests"

    def __init__(self, detail: str, *, retry_after_s: int) -> None:
        super().__init__(detail)
        self.retry_after_s = retry_after_s


class UnknownClient(BatonError):
    """No renderer speaks this client's dialect."""

    status = 404
    code = "unknown_client"
    title = "unknown client"


class MethodNotAllowed(BatonError):
    """The path exists, the method does not."""

    status = 405
    code = "method_not_allowed"
    title = "method not allowed"


class ForbiddenHost(BatonError):
    """The Host header names a host that this server does not answer for (DNS rebinding)."""

    status = 403
    code = "forbidden_host"
    title = "this server does not answer for that host"


class ForbiddenOrigin(BatonError):
    """A page of another site posted this."""

    status = 403
    code = "forbidden_origin"
    title = "cross-site requests are refused"


class StoreUnavailable(BatonError):
    """The database did not answer in time; nothing was changed."""

    status = 503
    code = "store_unavailable"
    title = "the database is not available"


class ProviderUnavailable(BatonError):
    """The OpenID provider did not answer, or its answer was not one of a provider; nobody was signed in."""

    status = 503
    code = "provider_unavailable"
    title = "the OpenID provider is not available"


class InternalError(BatonError):
    """Something broke that the caller cannot mend; the log has it, the answer does not."""

    status = 500
    code = "internal"
    title = "internal error"

    def __init__(self) -> None:
        super().__init__("the server could not serve this request; its log says why")
