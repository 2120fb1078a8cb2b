"""The server's settings for the commands that run on its machine; tells what is wrong with them. It reads no file."""

import sys

import typer
from pydantic import ValidationError

from baton.kernel.base.settings import Settings


def server_settings() -> Settings:
    """Read the settings from the environment; ends the command with 2, and what is wrong, where they are not valid."""
    try:
        return Settings()
    except ValidationError as error:
        for one in error.errors():
            if one["type"] == "default_factory_not_called":  # it follows from another that is told
                continue
            name = "_".join(str(part) for part in one["loc"]).upper()
            name = name if name == "PORT" else f"BATON_{name.removeprefix('BATON_')}"
            print(f"baton: `{name}` is `{one['input']}`: {one['msg'].lower()}", file=sys.stderr)
        raise typer.Exit(2) from None
