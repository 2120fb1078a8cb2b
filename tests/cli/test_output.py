"""Tables: one line a row when piped, colours on a terminal only."""

import io
from contextlib import redirect_stdout

import pytest

from baton.cli.output import show_findings, show_table

ROWS = [("1", "allow", "ls"), ("22", "block", "a\nb\x1b[2J" + "c" * 200), ("3", "ask", "")]


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.delenv("NO_COLOR", raising=False)

    def shown(show, *args, **options):
        with redirect_stdout(Terminal()) as stdout:
            show(*args, **options)
        return stdout.getvalue()

    return shown


def test_a_piped_table_has_a_line_for_each_row_and_cuts_nothing_off(capsys):
    show_table(("id", "decision", "call"), ROWS, none="none")
    assert capsys.readouterr().out.splitlines() == [
        "ID  DECISION  CALL",
        "1   allow     ls",
        "22  block     a b [2J" + "c" * 200,
        "3   ask       -",
    ]


def test_without_rows_a_sentence_says_so(capsys):
    show_table(("id",), [], none="No rows.")
    assert capsys.readouterr().out == "No rows.\n"


def test_a_table_on_a_terminal_has_colours_and_fits_its_width(terminal):
    text = terminal(show_table, ("id", "decision", "call"), ROWS, none="none")
    assert "\x1b[32mallow" in text
    assert "\x1b[31mblock" in text
    assert "[2J" in text
    assert "\x1b[2J" not in text


def test_no_color_is_honoured(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in terminal(show_table, ("id", "decision", "call"), ROWS, none="none")
    assert terminal(show_findings, [("error", "broken", "mend it")]) == "error   broken\n        → mend it\n"


def test_findings_on_a_terminal_have_colours(terminal):
    text = terminal(show_findings, [("error", "broken", "mend it"), ("ok", "fine", "")])
    assert "\x1b[31merror" in text
    assert "\x1b[32mok" in text
