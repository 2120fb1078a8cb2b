"""The result of an external evaluation as it comes over a message system, and the one way to read it."""

from typing import Annotated

import msgspec

from baton.context.compliance.evaluator import MOST_PATTERNS
from baton.context.compliance.service import Violation

LARGEST = 64 << 10
"""Bytes of a result: ten messages of 300 characters, with room for an evaluator's own fields."""


class EvaluationResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one request, as `POST /compliance/results` takes it; other fields may come along."""

    correlation_id: Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
    violations: Annotated[list[Violation], msgspec.Meta(max_length=MOST_PATTERNS)]


class _Event(msgspec.Struct, frozen=True):
    data: EvaluationResult


_event = msgspec.json.Decoder(_Event).decode
_result = msgspec.json.Decoder(EvaluationResult).decode


def read_result(content: bytes) -> EvaluationResult:
    """Read an event `compliance-evaluated` as JSON, or its `data` alone.

    Raises:
        msgspec.MsgspecError: If it is neither, or larger than `LARGEST`.
    """
    if len(content) > LARGEST:
        raise msgspec.ValidationError(f"{len(content)} bytes; at most {LARGEST}")
    fields = msgspec.json.decode(content, type=dict[str, msgspec.Raw])
    return _event(content).data if "data" in fields else _result(content)
