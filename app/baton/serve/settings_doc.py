"""`python -m baton.serve.settings_doc`: writes the table of settings into docs/operations.md."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import typer
from pydantic import SecretStr, ValidationError
from pydantic_core import PydanticUndefined
from pydantic_settings import SettingsError
from sqlalchemy.exc import ArgumentError

from baton.delegate.jobs.costs import parse_prices
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import database_url
from baton.kernel.redis.connection import check
from baton.lib.text.masking import mask
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


_CHECKS: dict[str, Callable[[Settings], object]] = {
    "redis_url": lambda settings: check(settings.redis_url or "redis://"),
    "database_url": database_url,
    "prices": lambda settings: parse_prices(settings.prices),
}  # what only the user of a setting can check


# Reads the server's settings for commands on its machine, and reports invalid ones.


def server_settings() -> Settings:
    """Read the settings from the environment. For invalid ones, print each problem and exit with status 2."""
    try:
        settings = Settings()
        problems = list(_misfits(settings))
    except (ValidationError, SettingsError) as error:
        problems = list(_problems(error))
    for problem in problems:
        print(f"baton: {problem}", file=sys.stderr)
    if problems:
        raise typer.Exit(2)
    return settings


def _misfits(settings: Settings) -> Iterator[str]:
    for name, valid in _CHECKS.items():
        try:
            valid(settings)
        except (ValueError, ArgumentError):  # its text may have a part of a password
            yield f"`BATON_{name.upper()}` is not valid. {Settings.model_fields[name].description}"


def _problems(error: ValidationError | SettingsError) -> Iterator[str]:
    if isinstance(error, SettingsError):
        yield f'`BATON_{str(error).split(chr(34))[1].upper()}` is not JSON, such as `{{"name": "value"}}`'
        return
    for one in error.errors():
        text = one["msg"].removeprefix("Value error, ")
        if not one["loc"]:  # an error of several settings; the message names them
            yield text
        elif one["type"] != "default_factory_not_called":  # a consequence of another, reported error
            first, *below = map(str, one["loc"])
            name = first.upper() if first == "PORT" else f"BATON_{first.upper().removeprefix('BATON_')}"
            # A value within JSON may be a key, or have one.
            given = f": `{'.'.join(below)}`" if below else f" is `{mask(str(one['input']))}`"
            yield f"`{name}`{given}: {text[0].lower()}{text[1:]}"
