"""Reads fields of payloads with arbitrary other keys."""

from datetime import UTC, datetime
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

import msgspec
from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    create_model,
)
from pydantic_core import CoreSchema, PydanticCustomError

from baton.kernel.base.errors import ForbiddenOrigin, Invalid
from baton.shared.storable import project_name

LONGEST_TEXT = 4_096  # maximum length of an id, a name or a path, in characters


def _find(payload: dict[str, Any], names: tuple[str, ...]) -> tuple[str, Any]:
    for name in names:
        if name in payload:
            return name, payload[name]
    return names[0], None


def optional_text(payload: dict[str, Any], *names: str) -> str:
    """Read a string; "" if absent or null. Raise Invalid if it is not a string, or too long."""
    name, value = _find(payload, names)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise Invalid(name, f"must be a string, not {kind(value)}")
    if len(value) > LONGEST_TEXT:
        raise Invalid(name, f"has {len(value)} characters; at most {LONGEST_TEXT} are allowed")
    return value


def required_text(payload: dict[str, Any], *names: str) -> str:
    """Read a required, non-blank string. Raise Invalid if it is missing, blank, not a string, or too long."""
    value = optional_text(payload, *names)
    if not value.strip():
        raise Invalid(names[0], "is missing" if _find(payload, names)[1] is None else "is blank")
    return value


def optional_count(payload: dict[str, Any], *names: str) -> int | None:
    """Read an integer from 0; None if absent or null. Raise Invalid if it is anything else."""
    name, value = _find(payload, names)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        given = value if isinstance(value, int) and not isinstance(value, bool) else kind(value)
        raise Invalid(name, f"must be an integer from 0, not {given}")
    return value


def kind(value: Any) -> str:
    """Return the name of a JSON value's type, for messages."""
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def request_body(*examples: dict[str, Any], longest: int | None = None) -> ConfigDict:
    """Return the configuration of a body: other fields are refused, and so are strings of more than `longest` characters.

    The examples are shown in OpenAPI.
    """
    return ConfigDict(extra="forbid", json_schema_extra={"examples": list(examples)}, str_max_length=longest)


# Fields shared by several endpoints.

BLANK_FOR_NULL = AfterValidator(lambda value: value or "")  # agents' tools send null for omitted arguments
PROJECT = AfterValidator(project_name)  # resolves a project's name
Text = Annotated[str, Field(max_length=1_024)]
MaybeText = Annotated[Text | None, BLANK_FOR_NULL]


# The OpenAPI model of errors.


class FieldErrorModel(BaseModel):
    """One invalid field."""

    field: str
    message: str
    allowed: list[str] = []


class ProblemModel(BaseModel):
    """The shape of every error (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldErrorModel] = []
    given: dict[str, Any] = Field({}, description="The value given by a refused spawn.")
    allowed: list[str] = Field([], description="The values allowed for a refused spawn.")


# Timestamps in requests.


def _in_utc(moment: datetime) -> datetime:
    """Convert to UTC. Validation reports the field on failure: `0001-01-01T00:00:00+14:00` has no UTC date."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("moment_out_of_range", "must lie within the years 1 to 9999 in UTC") from None


Moment = Annotated[AwareDatetime, AfterValidator(_in_utc)]  # an aware datetime, converted to UTC


class PeriodQuery(BaseModel):
    """The period of a request. Each endpoint documents its default `since`."""

    since: Moment | None = None
    until: Moment | None = None


# The cookie of a signed-in browser.

Kind = Literal["baton", "baton-attempt"]  # the cookie of a signed-in browser, and the cookie during an OpenID sign-in
READING = frozenset({"GET", "HEAD", "OPTIONS"})  # methods without side effects
_SECURE = "__Host-"  # browsers accept names with this prefix only over HTTPS, for this host alone
_SAME_ORIGIN = b"same-origin"


def name(host: str, *, secure: bool, kind: Kind = "baton") -> str:
    """Return the cookie's name for a `Host`. It includes the port, because cookies ignore ports."""
    port = host.rpartition(":")[2]
    return f"{_SECURE if secure else ''}{kind}-{port if port.isdigit() else 443 if secure else 80}"


def set_cookie(host: str, text: str, *, secure: bool, max_age_s: int, kind: Kind = "baton") -> str:
    """Return the `Set-Cookie` header of a sign-in or its attempt. An age of 0 deletes the cookie."""
    attributes = f"Path=/; Max-Age={max_age_s}; HttpOnly; SameSite=Strict{'; Secure' if secure else ''}"
    return f"{name(host, secure=secure, kind=kind)}={text}; {attributes}"


def with_session(method: str, headers: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return a request's headers, with the session cookie as a bearer token.

    A request with its own token ignores the cookie. Raise ForbiddenOrigin if a request with side effects does not prove
    that it comes from a page of this server.
    """
    if b"authorization" in headers:
        return headers
    session = _session(headers)
    if not session:
        return headers
    if method not in READING and (refused := _refusal(headers)):
        raise refused
    return headers | {b"authorization": b"Bearer " + session}


def _session(headers: dict[bytes, bytes]) -> bytes:
    host = headers.get(b"host", b"").decode("latin-1")
    names = {name(host, secure=secure).encode("latin-1") for secure in (False, True)}
    for part in headers.get(b"cookie", b"").split(b";"):
        key, _, value = part.strip().partition(b"=")
        if key in names and value:
            return value
    return b""


def _refusal(headers: dict[bytes, bytes]) -> ForbiddenOrigin | None:
    """Return the refusal of a change by cookie. The origin guard has already compared `Origin` with `Host`."""
    site = headers.get(b"sec-fetch-site")
    if site == _SAME_ORIGIN or (site is None and b"origin" in headers):
        return None
    return ForbiddenOrigin("a session cookie is only accepted from pages of this server; programs must send a token")


# Structs of services in answers, without a second list of their fields.

Shape = TypeVar("Shape")
_BLANK_IS_ABSENT = BeforeValidator(lambda value: value or None)


class ApiModel:
    """Lets pydantic read a struct by its attributes: `Annotated[User, ApiModel(blank=("account",))]`.

    Args:
        name: The name in OpenAPI; by default that of the struct and `Model`.
        without: The fields to leave out.
        blank: The fields that are absent where they are empty.
        more: Further attributes, or other types of fields.
    """

    def __init__(
        self, name: str = "", *, without: tuple[str, ...] = (), blank: tuple[str, ...] = (), **more: Any
    ) -> None:
        self._options = (name, without, blank, tuple(more.items()))

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return handler.generate_schema(struct_model(source, *self._options))


Shown = Annotated[Shape, ApiModel()]
"""A struct in an answer, such as `items: list[Shown[Job]]`. Its name in OpenAPI is `JobModel`."""


@cache
def struct_model(
    struct: type[msgspec.Struct],
    name: str = "",
    without: tuple[str, ...] = (),
    blank: tuple[str, ...] = (),
    more: tuple[tuple[str, Any], ...] = (),
) -> type[BaseModel]:
    """Return the model of a struct's fields, with its docstring. Fields may be absent if they may be None."""
    types = {field.name: _modelled(field.type) for field in msgspec.structs.fields(struct)} | dict(more)
    fields: dict[str, Any] = {
        one: (Annotated[kind | None, _BLANK_IS_ABSENT], None)
        if one in blank
        else (kind, None if NoneType in get_args(kind) else ...)
        for one, kind in types.items()
        if one not in without
    }
    name, config = name or f"{struct.__name__}Model", ConfigDict(from_attributes=True)
    return create_model(name, __config__=config, __doc__=struct.__doc__, __module__=struct.__module__, **fields)


def _modelled(kind: Any) -> Any:
    """Return a type with a model for each struct in it."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return struct_model(kind)
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (None, Annotated, Literal):
        return kind
    modelled = tuple(_modelled(one) for one in inner)
    return Union[modelled] if origin is UnionType else origin[modelled]  # noqa: UP007 - of a tuple
