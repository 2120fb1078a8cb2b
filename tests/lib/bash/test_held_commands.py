"""Commands in options, variables and configuration keys, in small tables."""

from baton.lib.bash.read import read
from baton.lib.bash.tables import tables
from tests.support.cases import every

PROGRAMS = """
ls|rm|less|vim|true: read-only
env: {is: read-only, runs: [{command: 0, assignments: true}]}
export: read-only
tar: {is: read-only, holds: [--to-command, {at: --checkpoint-action, find: "^exec=(.*)"}]}
cc: {is: read-only, holds: [{at: -wrapper, runs: "{list}"}]}
sh: {is: unknown, runs: [{script: -c, ends: true}, {stdin: true}]}
box: {is: unknown, takes_two: [--bind], runs: [{command: 0}]}
caps: {is: unknown, runs: [{after: "--", program: sh}]}
git: {is: read-only, takes_value: [-c], subcommands: {log: read-only, config: read-only}}
"""
HELD = """
variables:
  PAGER: {of: [git]}
  EDITOR: {runs: "{text} /tmp/held"}
  PS4: {find: '(\\$\\(.*\\))', runs: ": {text}"}
keys:
  git:
    options: [-c]
    setters: [config]
    pairs: [KEY_, VALUE_]
    keys: {core.pager: "{text}", alias.*: {"!": "{text}", "": "git {words}"}}
"""


def built(held=HELD):
    return tables.build({"shell/a.yaml": PROGRAMS, "shell/held_commands.yaml": held})


def programs(line):
    found = read(built(), line)
    assert found.unparsed == ""
    return [" ".join(program.argv) for program in found.programs]


@every(
    ("line", "held"),
    [
        ("tar --to-command='rm x' -x", "rm x"),
        ("tar --to-com 'rm x' -x", "rm x"),
        ("tar --checkpoint-action=exec='rm x'", "rm x"),
        ("PAGER='rm x' git log", "rm x"),
        ("env PAGER='rm x' git log", "rm x"),
        ("PAGER='rm x' env git log", "rm x"),
        ("export PAGER='rm x'; git log", "rm x"),
        ("EDITOR=vim ls", "vim /tmp/held"),
        ("PS4='$(rm x)' sh", "rm x"),
        ("git -c core.PAGER='rm x' log", "rm x"),
        ("git -c alias.a='!rm x' a", "rm x"),
        ("git config alias.a 'log -p'", "git log -p"),
        ("KEY_0=core.pager VALUE_0='rm x' git log", "rm x"),
        ("box --bind a b rm x", "rm x"),
        ("caps -- -c 'rm x'", "rm x"),
        ("cc -wrapper 'rm,x y,$z' a.c", "rm x y $z"),
        ("sh -c 'rm x' --help", "rm x"),
    ],
)
def test_a_held_command_is_listed(line, held):
    assert held in programs(line)


@every(
    "line",
    [
        "PAGER='rm x' ls",
        "export PAGER='rm x'; ls",
        "tar --checkpoint-action=dot",
        "git -c core.color='rm x' log",
        "git config core.pager",
    ],
)
def test_an_unused_definition_runs_nothing(line):
    assert "rm x" not in programs(line)
    assert all("/tmp/held" not in program for program in programs(line))


def test_so_many_held_commands_are_refused():
    assert "variables" not in read(built(), "git log").unparsed
    assert read(built(), "git " + "-c core.pager=ls " * 101 + "log").unparsed.startswith("over 100 commands")


@every(
    ("held", "problem"),
    [
        ("variables: {X: {runs: ls}}", "needs `{text}`"),
        ("variables: {X: {find: 'a'}}", "needs one group"),
        ("variables: {X: {runz: ls}}", "unknown key `runz`"),
        ("keys: {git: {keys: {a: ls}}}", "needs `{text}`"),
    ],
)
def test_a_mistake_is_reported_with_file_and_line(held, problem):
    found = built(held)
    assert isinstance(found, tuple)
    assert str(found[0]).startswith("shell/held_commands.yaml:1: ")
    assert problem in str(found[0])
