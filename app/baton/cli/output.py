"""What commands print: JSON for scripts, and tables, with colour on a terminal only."""

import json
import os
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any

import typer

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""What a terminal obeys, but for the ends of lines and tabs."""
_COLOURS = {
    "allow": "green", "completed": "green", "accepted": "green", "active": "green", "running": "cyan", "up": "green",
    "ask": "yellow", "pending": "yellow", "pending_approval": "yellow", "blocked": "yellow", "open": "yellow",
    "block": "red", "failed": "red", "declined": "red", "revoked": "red", "disabled": "red", "down": "red",
    "cancelled": "dim", "skipped": "dim", "retired": "dim",
}  # fmt: skip
"""Colours of cells that hold one of these words."""


def show_json(value: Any) -> None:
    """Print a value for a script."""
    print(json.dumps(value, indent=2, ensure_ascii=False))


def show_json_line(value: Any) -> None:
    """Print one of several values for a script, each on a line of its own and at once."""
    print(json.dumps(value, ensure_ascii=False), flush=True)


def plain(text: str) -> str:
    """Take out what would steer the terminal: the words of agents and of other people are shown, not obeyed."""
    return _CONTROL.sub(" ", text)


def show_table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, none: str) -> None:
    """Print rows below the names of their columns, or `none` if there are no rows.

    On a terminal the table has colours (unless NO_COLOR is set) and fits its width. Elsewhere each row is one line,
    nothing is cut off, and columns are at least two spaces apart.
    """
    cells = [[" ".join(plain(str(cell)).split()) for cell in row] for row in rows]
    if not cells:
        print(none)
    elif sys.stdout.isatty():
        _show_on_terminal(columns, cells)
    else:
        lines = [[name.upper() for name in columns], *(["-" if cell == "" else cell for cell in row] for row in cells)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for line in lines:
            print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())


def show_findings(findings: Iterable[tuple[str, str, str]]) -> None:
    """Print what a doctor found: for each finding its verdict, what it is, and how to fix it."""
    colours = {"ok": "green", "warning": "yellow", "error": "red"}
    for verdict, what, fix in findings:
        label = f"{verdict:<8}"
        print((typer.style(label, fg=colours[verdict]) if _has_colours() else label) + plain(what))
        if fix:
            print(f"        → {plain(fix)}")


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _show_on_terminal(columns: Sequence[str], rows: list[list[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in columns:
        table.add_column(name.upper(), overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell or "-", style=_COLOURS.get(cell, "")) for cell in row))
    Console().print(table)
