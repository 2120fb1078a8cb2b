"""Output of commands: JSON for scripts, and tables, with colour on a terminal only."""

import json
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import typer

from baton.lib.text.visible import visible

_COLOURS = {
    "allow": "green", "completed": "green", "accepted": "green", "active": "green", "running": "cyan", "up": "green",
    "ask": "yellow", "pending": "yellow", "pending_approval": "yellow", "blocked": "yellow", "open": "yellow",
    "block": "red", "failed": "red", "declined": "red", "revoked": "red", "disabled": "red", "down": "red",
    "cancelled": "dim", "skipped": "dim", "retired": "dim",
}  # fmt: skip
"""Colours of cells that hold one of these words."""


def show_json(value: Any) -> None:
    """Print a value for a script."""
    print(plain(json.dumps(value, indent=2, ensure_ascii=False)))


def end_with_json(value: Any, *, when: bool = True) -> None:
    """Print a value for a script and end the command, if it was run with `--json`."""
    if when:
        show_json(value)
        raise typer.Exit


def show_json_line(value: Any) -> None:
    """Print one of several values for a script, each on a line of its own and at once."""
    print(plain(json.dumps(value, ensure_ascii=False)), flush=True)


def show_lines(lines: Iterable[str]) -> None:
    """Print the lines of an export."""
    for line in lines:
        print(plain(line))


def show_wrapped(text: str) -> None:
    """Print a long sentence, wrapped on a terminal."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else len(text)
    print(textwrap.fill(plain(text), width or 1, subsequent_indent="  ", break_on_hyphens=False))


def plain(text: str) -> str:
    """Escape terminal controls and invisible characters, so that other people's words are shown, not obeyed."""
    return visible(text)


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
    """Print a doctor's findings: each with its verdict, subject and fix."""
    colours = {"ok": "green", "warning": "yellow", "error": "red"}
    for verdict, what, fix in findings:
        label = f"{verdict:<8}"
        print((typer.style(label, fg=colours[verdict]) if _has_colours() else label) + plain(what))
        if fix:
            print(f"        → {plain(fix)}")


def _has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _show_on_terminal(columns: Sequence[str], rows: list[list[str]]) -> None:
    """Print a fitting table: columns without room are printed below their row, with their names."""
    width, names = shutil.get_terminal_size().columns, [name.upper() for name in columns]
    widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
    gap = 2 if sum(widths) + 2 * (len(widths) - 1) <= width else 1
    fitting = [at for at in range(1, len(widths) + 1) if sum(widths[:at]) + gap * (at - 1) <= width]
    shown = fitting[-1] if fitting else 0

    def line(cells: Sequence[str], style: Callable[[str], str]) -> str:
        pairs = zip(cells[:shown], widths, strict=False)
        return (" " * gap).join(style(cell) + " " * (room - len(cell)) for cell, room in pairs).rstrip()

    print(line(names, lambda text: typer.style(text, bold=True) if _has_colours() else text))
    for row in rows:
        print(line([cell or "-" for cell in row], _coloured))
        rest = [f"{name}: {cell}" for name, cell in zip(columns[shown:], row[shown:], strict=True) if cell]
        joined = "  ".join(rest)
        for part in [joined] if joined and len(joined) < width - 1 else rest:
            print(textwrap.fill(part, width, initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False))


def _coloured(cell: str) -> str:
    found = _COLOURS.get(cell, "")
    if not found or not _has_colours():
        return cell
    return typer.style(cell, dim=True) if found == "dim" else typer.style(cell, fg=found)
