"""Builds an example of an answer from its schema, with realistic values.

Examples of requests are defined with their models.
"""

from importlib.resources import files
from typing import Any

import yaml

_AT = "2026-01-05T09:30:00Z"
_BY_NAME: dict[str, Any] = yaml.safe_load(files("baton.operate.openapi").joinpath("examples.yaml").read_text("utf-8"))
_BY_FORMAT = {
    "date-time": _AT,
    "date": "2026-01-05",
    "uuid": "019b8d5e-3f00-7000-8000-000000000001",
    "uri": "https://example.org/",
    "duration": "P90D",
}
_ONE_OF = {"capabilities": "capability", "examples": "example", "paths": "file", "projects": "project", "rules": "rule"}
"""Name of one item, by the name of its list."""
_DEEPEST = 8


def example_of(schema: dict[str, Any], schemas: dict[str, Any], name: str = "", depth: int = 0) -> Any:
    """Build one value allowed by the schema; `schemas` are the document's components, `name` is the field's."""
    given = _given(schema)
    if given is not None:
        return given
    if "$ref" in schema:
        return example_of(schemas[schema["$ref"].rpartition("/")[2]], schemas, name, depth)
    if "allOf" in schema:
        parts = [example_of(part, schemas, name, depth) for part in schema["allOf"]]
        return {key: value for part in parts for key, value in part.items()} if isinstance(parts[0], dict) else parts[0]
    # Many fields allow a null, but readers never need to see it.
    options = [one for one in schema.get("anyOf", schema.get("oneOf", ())) if one.get("type") != "null"]
    if options:
        return example_of(options[0], schemas, name, depth)
    kind = schema.get("type")
    kind = next((one for one in kind if one != "null"), "null") if isinstance(kind, list) else kind
    if kind == "object" or "properties" in schema:
        return _object(schema, schemas, depth)
    if kind == "array":
        items = schema.get("items")
        return [example_of(items, schemas, _ONE_OF.get(name, name), depth + 1)] if items and depth < _DEEPEST else []
    return _scalar(schema, kind, name)


def _given(schema: dict[str, Any]) -> Any:
    values = [*schema.get("examples", ()), *(schema.get(key) for key in ("example", "const", "default"))]
    values += schema.get("enum", ())
    return next((value for value in values if value not in (None, "", [], {})), None)


def _object(schema: dict[str, Any], schemas: dict[str, Any], depth: int) -> dict[str, Any]:
    fields: dict[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", ()))
    shown = {
        field: example_of(part, schemas, field, depth + 1)
        for field, part in fields.items()
        if field in required or depth < _DEEPEST
    }
    more = schema.get("additionalProperties")
    if not fields and isinstance(more, dict) and more:
        return {schema.get("propertyNames", {}).get("enum", ["allow"])[0]: example_of(more, schemas, "", depth + 1)}
    return shown


def _scalar(schema: dict[str, Any], kind: str | None, name: str) -> Any:
    if kind == "boolean":
        return True
    if kind in {"integer", "number"}:
        least = schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
        value = max(least, 1) if schema.get("maximum", 1) >= 1 else schema["maximum"]
        return int(value) if kind == "integer" else value
    if kind == "null" or kind is None:
        return {} if kind is None else None
    if schema.get("format") in _BY_FORMAT:
        return _BY_FORMAT[schema["format"]]
    text = str(_BY_NAME.get(name, name.replace("_", " ") or "text"))
    return text.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength", 4_096)]
