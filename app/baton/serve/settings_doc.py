"""`python -m baton.serve.settings_doc`: writes the table of settings into docs/operations.md."""

import json
import sys
from pathlib import Path

import typer
from pydantic import SecretStr, ValidationError
from pydantic_core import PydanticUndefined

from baton.kernel.base.settings import Settings
from baton.operate.servers import listed

PATH = Path("docs/operations.md")
BEGIN, END = "<!-- settings: written by `make operations` -->", "<!-- end of settings -->"
_COMPUTED = {
    "policies": "`BATON_HOME/policies`",
    "default_user": "the operating system's user",
    "rate_per_minute": "`6000` where tokens are needed, else `0`",
    "admin_per_minute": "`600` where tokens are needed, else `0`",
    "expensive_per_minute": "`300` where tokens are needed, else `0`",
}  # descriptions of computed defaults


def table() -> str:
    """Return the table: variable, default and meaning of each setting."""
    lines = ["| variable | default | meaning |", "|---|---|---|"]
    for name, field in listed(Settings):
        variable = "`PORT`" if name == "port" else f"`BATON_{name.upper()}`"
        default = _COMPUTED[name] if field.default is PydanticUndefined else _shown(field.default)
        lines.append(f"| {variable} | {default} | {(field.description or '').replace('|', chr(92) + '|')} |")
    return "\n".join(lines)


def _shown(default: object) -> str:
    value = default.get_secret_value() if isinstance(default, SecretStr) else default
    if value in (None, "", (), {}):
        return "empty"
    return f"`{json.dumps(value) if isinstance(value, (bool, dict, tuple)) else value}`"


def written(text: str) -> str:
    """Return the document with an updated table."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PATH.write_text(written(PATH.read_text()))


# Reads the server's settings for commands on its machine, and reports invalid ones.


def server_settings() -> Settings:
    """Read the settings from the environment. For invalid ones, print each problem and exit with status 2."""
    try:
        return Settings()
    except ValidationError as error:
        for one in error.errors():
            if one["type"] == "default_factory_not_called":  # a consequence of another, reported error
                continue
            if not one["loc"]:  # an error of several settings; the message names them
                print(f"baton: {one['msg'].removeprefix('Value error, ')}", file=sys.stderr)
                continue
            name = "_".join(str(part) for part in one["loc"]).upper()
            name = name if name == "PORT" else f"BATON_{name.removeprefix('BATON_')}"
            print(f"baton: `{name}` is `{one['input']}`: {one['msg'].lower()}", file=sys.stderr)
        raise typer.Exit(2) from None
