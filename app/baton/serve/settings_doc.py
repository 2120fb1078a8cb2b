"""`python -m baton.serve.settings_doc`: writes the table of settings into docs/operations.md."""

import json
from pathlib import Path

from pydantic import SecretStr
from pydantic_core import PydanticUndefined

from baton.kernel.base.settings import Settings
from baton.operate.settings_in_force import listed

PATH = Path("docs/operations.md")
BEGIN, END = "<!-- settings: written by `make operations` -->", "<!-- end of settings -->"
_COMPUTED = {
    "policies": "`BATON_HOME/policies`",
    "default_user": "the operating system's user",
    "rate_per_minute": "`6000` where tokens are needed, else `0`",
    "admin_per_minute": "`600` where tokens are needed, else `0`",
    "expensive_per_minute": "`300` where tokens are needed, else `0`",
}
"""Defaults that are computed, in words."""


def table() -> str:
    """Return the table: each setting's variable, default and meaning."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in listed(Settings):
        variable = "`PORT`" if name == "port" else f"`BATON_{name.upper()}`"
        default = _COMPUTED[name] if field.default is PydanticUndefined else _shown(field.default)
        lines.append(f"| {variable} | {default} | {(field.description or '').replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def _shown(default: object) -> str:
    """Return a default as one would write it in the environment."""
    value = default.get_secret_value() if isinstance(default, SecretStr) else default
    if value in (None, "", (), {}):
        return "empty"
    return f"`{json.dumps(value) if isinstance(value, (bool, dict, tuple)) else value}`"


def written(text: str) -> str:
    """Return the document with its table up to date."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PATH.write_text(written(PATH.read_text()))
