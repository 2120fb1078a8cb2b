"""Tables: one line a row when piped, colours on a terminal only."""

import ast
import io
import json
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path

import pytest
import typer

from baton import cli
from baton.cli.app import app
from baton.cli.output import plain, show_findings, show_json, show_json_line, show_table

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
        "22  block     a b\\u001b[2J" + "c" * 200,
        "3   ask       -",
    ]


def test_an_empty_table_is_a_sentence(capsys):
    show_table(("id",), [], none="No rows.")
    assert capsys.readouterr().out == "No rows.\n"


def test_a_table_on_a_terminal_has_colours_and_fits_its_width(terminal):
    text = terminal(show_table, ("id", "decision", "call"), ROWS, none="none")
    assert "\x1b[32mallow" in text
    assert "\x1b[31mblock" in text
    assert "[2J" in text
    assert "\x1b[2J" not in text


ID = "01a21608-460a-7753-9702-309fe24ff2c0"


@pytest.mark.parametrize(
    ("columns", "row", "lines"),
    [
        (("id", "by", "reason"), (ID, "ada", ""), ["ID" + " " * 36 + "BY   REASON", f"{ID}  ada  -"]),
        (
            ("id", "by", "is", "end"),
            (ID, "ada" * 4, "on", "later"),
            ["ID" + " " * 35 + "BY           IS END", f"{ID} adaadaadaada on later"],
        ),
        (
            ("id", "at", "call", "rules"),
            (ID, "2026-11-26T04:06:10Z", "git push " + "x" * 50, "a/b"),
            ["ID" + " " * 35 + "AT", f"{ID} 2026-11-26T04:06:10Z", "  call: git push", "  " + "x" * 50, "  rules: a/b"],
        ),
    ],
    ids=["wide gaps", "narrow gaps", "below the row"],
)
def test_a_table_fits_its_terminal_and_cuts_nothing_off(terminal, monkeypatch, columns, row, lines):
    monkeypatch.setenv("NO_COLOR", "1")
    assert terminal(show_table, columns, [row], none="none").splitlines() == lines


def test_no_color_is_honoured(terminal, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in terminal(show_table, ("id", "decision", "call"), ROWS, none="none")
    assert terminal(show_findings, [("error", "broken", "mend it")]) == "error   broken\n        → mend it\n"


def test_findings_on_a_terminal_have_colours(terminal):
    text = terminal(show_findings, [("error", "broken", "mend it"), ("ok", "fine", "")])
    assert "\x1b[31merror" in text
    assert "\x1b[32mok" in text


UNSEEN = "rm \u202eslaf\u2066x\u200by\u2060z\ufeff\x9b2J\x85\u061c\U000e0041\u3164\u2028\xad"


def test_unseen_characters_are_shown_escaped_in_texts_and_tables(terminal, capsys):
    show_table(("call",), [(UNSEEN,)], none="none")
    for text in (plain(UNSEEN), capsys.readouterr().out, terminal(show_table, ("call",), [(UNSEEN,)], none="none")):
        assert not set(text) & set(UNSEEN) - set("rm slafxyz2J")
        assert "\\u202eslaf\\u2066x\\u200by" in text
    assert plain("a\tb\r\nc ü 漢 é 👍🏽") == "a\tb\r\nc ü 漢 é 👍🏽"


@pytest.mark.parametrize("show", [show_json, show_json_line])
def test_invisible_characters_are_escaped_in_json(show, capsys):
    show({UNSEEN: [UNSEEN, "ü"]})
    text = capsys.readouterr().out
    assert json.loads(text) == {UNSEEN: [UNSEEN, "ü"]}
    assert not set(text) & set(UNSEEN) - set("rm slafxyz2J")
    assert "ü" in text


LONG = {
    "id": ID, "session": ID, "at": "2026-11-26T04:06:10Z", "until": "2026-11-26T04:06:10Z", "last": "2026-11-26T04:06:10Z",
    "rule": "orchestrator/second-lookup-of-a-file", "signature": "run the checks of a module " * 4,
    "reason": "the history of the archive is rewritten " * 4, "call": "git push " * 30,
}  # fmt: skip
INTERNAL = {"shed", "spool_mb", "abstain", "abstained", "set_aside", "appended"}


def tables():
    """Yield the place and the columns of each table of the command line."""
    for path in sorted(Path(cli.__file__).parent.rglob("*.py")):
        tree = ast.parse(path.read_text())
        names = {"by": "user", "BY": "user", **vars(import_module(module_of(path)))}
        for node in ast.walk(tree):
            if (
                isinstance(node, ast.Assign)
                and isinstance(node.targets[0], ast.Name)
                and node.targets[0].id == "columns"
            ):
                names["columns"] = eval(ast.unparse(node.value), names)  # noqa: S307 - our own source
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "show_table" and path.stem != "output":
                columns = eval(ast.unparse(node.args[0]), names)  # noqa: S307 - our own source
                yield pytest.param(columns, id=f"{path.stem}:{node.lineno}")


def module_of(path):
    return ".".join(["baton", *path.relative_to(Path(cli.__file__).parents[1]).with_suffix("").parts])


@pytest.mark.parametrize("columns", [*tables()])
def test_every_table_of_the_command_line_fits_80_columns_in_an_operators_words(terminal, monkeypatch, columns):
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    rows = [[LONG.get(name, "12,345") for name in columns], [LONG.get(name, "a longer text of it") for name in columns]]
    wide = [line for line in terminal(show_table, columns, rows, none="").splitlines() if len(line) > 80]
    assert (wide, INTERNAL & set(columns)) == ([], set())


def options_of(command):
    yield from command.params
    for name in getattr(command, "commands", ()):
        yield from options_of(command.get_command(None, name))


def test_no_option_offers_an_empty_value():
    options = list(options_of(typer.main.get_command(app)))
    assert [one.name for one in options if "" in getattr(one.type, "choices", ())] == []
