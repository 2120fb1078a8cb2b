"""The HTTP models of recorded decisions."""

from typing import Any, Literal

from msgspec.structs import asdict
from pydantic import BaseModel, Field, create_model

from baton.rules.call import record as records
from baton.rules.call.record import FIELDS, Record


class RuleHitModel(BaseModel):
    """A matched rule."""

    id: str
    effect: Literal["deny", "ask", "rewrite", "allow", "guidance", "shadow", "lifted"]


_ALWAYS = {"id", "at", "organisation", "team", "user", "client", "event", "effect", "decision"}
"""Fields of texts that each decision has; others are absent where they are empty."""


def _shown(field: records.Field) -> tuple[Any, Any]:
    words = tuple(word for word in field.words if word)
    kind: Any = Literal[words] if words else field.kind
    if field.name == "rules":
        kind = list[RuleHitModel]
    elif field.kind is tuple:
        kind = list[str]
    if field.kind in {bool, tuple} or field.name in _ALWAYS:
        return kind, Field(description=field.description)
    return kind | None, Field(None, description=field.description)


_FIELDS: dict[str, Any] = {
    "elapsed_ms" if field.name == "elapsed_us" else field.name: (float, ...)
    if field.name == "elapsed_us"
    else _shown(field)
    for field in FIELDS
}
_Fields: Any = create_model("_Fields", **_FIELDS)


class DecisionModel(_Fields):
    """A recorded decision. Secrets in it are masked and marked; file contents are never kept."""

    @classmethod
    def build(cls, record: Record) -> "DecisionModel":
        """Show a record as the API does."""
        fields = {name: value for name, value in asdict(record).items() if value != ""}
        if not record.routed_by:
            del fields["confidence"]
        if not record.model_used:
            for name in ("input_tokens", "cached_tokens", "output_tokens"):
                del fields[name]
        if not record.repeats:
            del fields["repeats"]
        fields["rules"] = [RuleHitModel(id=hit.id, effect=hit.effect) for hit in record.rules]
        fields["elapsed_ms"] = fields.pop("elapsed_us") / 1000
        return cls(**fields)


class DecisionPage(BaseModel):
    """A page of decisions, newest first; `next_cursor` is absent on the last one."""

    items: list[DecisionModel]
    next_cursor: str | None = None
