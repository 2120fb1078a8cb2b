from baton.lib.bash.tables import tables
from tests.support.cases import every


@every(
    ("text", "problem"),
    [
        ("ls: read-ony", "t:1: unknown category `read-ony`; did you mean `read-only`?"),
        ("a: read-only\nls: [vcs-read, nope]", "t:2: unknown category `nope`; allowed: `destructive`, `file-write`, "),
        ("git:\n  subcommands:\n    push: {iss: network}", "t:3: unknown key `iss`; did you mean `is`?"),
        ("git:\n  subcommands:\n    a|b: unknown\n    c|b: unknown", "t:4: the subcommand `b` is defined twice"),
        ("cp:\n  writes: [last, frist]", "t:2: unknown place of a written path `frist`; did you mean `first`?"),
        ("sh:\n  runs: [{script: operand}]", "t:2: unknown place of a script `operand`; did you mean `operands`?"),
        ("sh:\n  runs: [{command: 0, after: x}]", "t:2: a way to run needs exactly one of "),
        ("sh:\n  runs: [{comand: 0}]", "t:2: unknown key `comand`; did you mean `command`?"),
        ("ls:\n  when:\n    - {is: network}", "t:3: this clause has no condition, so it always holds"),
        ("ls:\n  when:\n    - {flags: [-x]}", "t:3: this clause has no effect"),
        ("ls:\n  when:\n    - {count: 2-, is: network}", "t:3: `2-` is not a count"),
        ("ls: {takes_value: [x]}", "t:1: `x` is not an option"),
        ("bin/ls: read-only", "t:1: `bin/ls` is not a name"),
        ("- ls", "t:1: a shell table is a mapping"),
        ("ls: read-only\nls: network", "t:2: duplicate key `ls`"),
    ],
)
def test_a_mistake_is_reported_with_file_line_and_allowed_values(text, problem):
    built = tables.build({"t": text})
    assert isinstance(built, tuple)
    assert str(built[0]).startswith(problem)


def test_all_problems_of_all_files_are_reported():
    built = tables.build({"b": "x: nope", "a": "x: nope\ny: nope"})
    assert [(problem.file, problem.line) for problem in built] == [("a", 1), ("a", 2), ("b", 1)]


def test_a_later_file_replaces_an_entry():
    built = tables.build({"a": "ls: network", "b": "ls: read-only"})
    assert built.find("ls").categories == ("read-only",)


def test_a_program_is_found_by_name_alias_and_glob():
    built = tables.build({"a": "python: {aka: [py, 'python3.*']}\n'mkfs.*': destructive\nsed|gsed: read-only"})
    assert [built.find(name).name for name in ("python", "py", "python3.12", "mkfs.ext4", "gsed")] == [
        "python", "python", "python", "mkfs.*", "gsed",
    ]  # fmt: skip
    assert built.find("mkfs") is None
