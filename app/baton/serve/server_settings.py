"""Reads the server's settings for commands that run on its machine, and reports invalid ones."""

import sys

import typer
from pydantic import ValidationError

from baton.kernel.base.settings import Settings


def server_settings() -> Settings:
    """Read the settings from the environment. If any is invalid, print each problem and exit with status 2."""
    try:
        return Settings()
    except ValidationError as error:
        for one in error.errors():
            if one["type"] == "default_factory_not_called":  # a consequence of another error, which is reported
                continue
            if not one["loc"]:  # of several settings together, which the message names
                print(f"baton: {one['msg'].removeprefix('Value error, ')}", file=sys.stderr)
                continue
            name = "_".join(str(part) for part in one["loc"]).upper()
            name = name if name == "PORT" else f"BATON_{name.removeprefix('BATON_')}"
            print(f"baton: `{name}` is `{one['input']}`: {one['msg'].lower()}", file=sys.stderr)
        raise typer.Exit(2) from None
