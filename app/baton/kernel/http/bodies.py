"""The HTTP model of an error, as the OpenAPI document describes it."""

from typing import Any

from pydantic import BaseModel, Field


class FieldErrorModel(BaseModel):
    """One field that was wrong."""

    field: str
    message: str
    allowed: list[str] = []


class ProblemModel(BaseModel):
    """The one shape of every error (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldErrorModel] = []
    given: dict[str, Any] = Field({}, description="What a refused spawn gave.")
    allowed: list[str] = Field([], description="What a refused spawn could have given.")
