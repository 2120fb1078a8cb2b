"""The table of commands, the imports of `baton` at start, and the answer to an unknown command."""

import subprocess
import sys

from typer.testing import CliRunner

from baton.cli.app import app
from baton.cli.commands import COMMANDS
from baton.cli.groups import load
from tests.support.cases import every

HEAVY = {"acp", "fastapi", "httpx2", "mcp", "msgspec", "numpy", "pydantic", "rich", "sqlalchemy", "tree_sitter", "yaml"}
"""Packages that take longer to import than a fast command takes to run."""


def test_the_table_has_each_command_s_own_help():
    for name, command in COMMANDS.items():
        first, *_ = load(name, command).help.strip().split("\n\n")
        assert " ".join(first.split()) == command.help, name


def commands(group, *words):
    """Yield every command below a group that prints something: the words that name it, and its options."""
    for name, one in getattr(group, "commands", {}).items():
        yield from commands(one, *words, name)
    if not hasattr(group, "commands") or group.invoke_without_command:
        yield words, {option for parameter in group.params for option in parameter.opts}


def test_each_command_that_prints_data_prints_json_too():
    without = {
        " ".join(words)
        for name, command in COMMANDS.items()
        for words, options in commands(load(name, command), name)
        if "--json" not in options
    }
    assert without == {
        *("serve", "mcp", "runner model-agent", "runner run", "runner init", "policy schema", "session export"),
        *(f"runner {one}" for one in ("install", "uninstall", "start", "stop", "logs")),
    }


@every(
    ("typed", "offered"),
    [("baton mo", ["mode"]), ("baton mode en", ["enable"]), ("baton mode enable --lev", ["--level"])],
)
def test_the_shell_completes_commands_and_options(typed, offered):
    last = str(len(typed.split()) - 1)
    env = {"_BATON_COMPLETE": "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": last}
    done = CliRunner().invoke(app, [], env=env, prog_name="baton")
    assert done.output.split() == offered


@every("words", [["--help"], ["--version"], ["status", "--help"], ["mode", "status", "--help"], ["explain", "--help"]])
def test_a_fast_command_imports_nothing_heavy(words):
    code = f"import sys; from baton.cli.app import app\ntry: app({words!r})\nexcept SystemExit: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(done.stdout.split("\n")[-2].split())


@every(
    ("words", "said"),
    [
        (["mdoe"], "unknown command `mdoe`; did you mean `mode`?"),
        (["mode", "enabel"], "unknown command `enabel`; did you mean `enable`?"),
        (["enable"], "unknown command `enable`; did you mean `mode enable` or `packs enable`?"),
        (["xyzzy"], "unknown command `xyzzy`\n"),
        ([], "Get started:"),
        (["mode"], "enable"),
    ],
)
def test_a_missing_or_unknown_command_is_answered_with_the_right_one(words, said):
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 2
    assert said in done.output


def test_a_hook_imports_no_module_that_takes_longer_than_its_request():
    ran = subprocess.run(
        [sys.executable, "-c", "import sys, baton.local.hook.main; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    slow = {"re", "enum", "typing", "collections", "json", "socket", "ssl", "subprocess", "pathlib"}
    assert slow & set(ran.stdout.split()) == set()
