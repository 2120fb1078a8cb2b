"""JSON Schemas of policy files, for editors. Loading does not use them: it also checks what no schema can say."""

from typing import Any, Literal

import msgspec

from baton.engine.agents.rosters import Roster
from baton.engine.policy.rules.model import Config, RuleFile

Kind = Literal["rule", "config", "roster"]
_TYPES: dict[Kind, type[Any]] = {"rule": RuleFile, "config": Config, "roster": Roster}


def json_schema() -> dict[Kind, dict[str, Any]]:
    """Return the schema of each kind of file, in JSON Schema 2020-12."""
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {kind: {"$schema": dialect, **msgspec.json.schema(of)} for kind, of in _TYPES.items()}


def file_text(schema: dict[str, Any]) -> str:
    """Return a schema as its file contains it."""
    return msgspec.json.format(msgspec.json.encode(schema), indent=2).decode() + "\n"
