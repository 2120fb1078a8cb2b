"""`baton`: the command line. `baton.cli.commands` lists its commands."""

import io
import sys
from typing import Annotated

import typer

from baton.cli.groups import LazyGroup
from baton.cli.options import UsageError
from baton.cli.output import plain
from baton.local.server import ApiError

app = typer.Typer(
    name="baton", cls=LazyGroup, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False
)


def _version(value: bool) -> None:
    if value:
        from importlib.metadata import version

        print(f"baton {version('baton')}")
        raise typer.Exit


@app.callback()
def baton(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """One server that a team shares, and that every coding agent asks before it acts."""


def run(words: list[str] | None = None) -> None:
    """Run the command line with these words, by default the process's own. An ApiError is printed in one line; the exit status is 1, or 2 for wrong usage."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without `✓` shows a replacement
    try:
        app(words, prog_name="baton")
    except ApiError as error:
        print(plain(f"baton: {error}"), file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)
    except BrokenPipeError:
        sys.exit(1)
