"""The range of a program's, or a tool's, write."""

from baton.rules.call.call import ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.rules.policy.matching.context import landings, reach_of
from tests.support.cases import every
from tests.support.shipped import shipped

REACHES = [
    ("rm -r x", "x", "tree"),
    ("mv x y", "x", "tree"),
    ("mv x y", "y", "file"),
    ("find x -delete", "x", "tree"),
    ("find x -name '*.pyc' -delete", "x/**/*.pyc", "tree"),
    ("find x -name '*' -delete", "x", "tree"),
    ("find x -type f -delete", "x", "tree"),
    ("find x -not -name '*.pyc' -delete", "x", "tree"),
    ("find x -name '*.pyc' -o -type f -delete", "x", "tree"),
    ("find x '(' -name '*.pyc' -o -name '*.pyo' ')' -delete", "x/**/*.pyo", "tree"),
    ("find x -path '*/build/*' -delete", "x/**/**/build/**", "tree"),
    ("find x -regex '.*[.]pyc' -delete", "x/**/*[.]pyc", "tree"),
    ("mv -t y a b", "b", "tree"),
    ("mv -t y a b", "y", "file"),
    ("git mv x y", "x", "tree"),
    ("git apply p.patch", ".", "below"),
    ("patch -d x", "x", "below"),
    ("cpio -D x -i", "x", "below"),
    ("echo a > x", "x", "file"),
    ("rm a > x", "x", "file"),
    ("chmod -R 0 x", "x", "tree"),
    ("chmod 0 x", "x", "into"),
    ("tar -xf a.tar -C x", "x", "below"),
    ("wget -P x u", "x", "into"),
    ("ln -sn y x", "x", "into"),
    ("ln -s y x", "x", "file"),
    ("cp y x", "x", "file"),
]


def only(line, target):
    shell = shipped().shells.read(line)
    (write,) = [write for write in shell.writes if write.target == target]
    return (shell.programs[write.by] if write.by >= 0 else None), write


@every(("line", "target", "reach"), REACHES)
def test_a_program_s_reach_depends_on_its_effect(line, target, reach):
    assert reach_of(*only(line, target)) == reach


LANDINGS = [
    ("cp a/b x", "x", [("x/b", "file")]),
    ("cp -r a/b x", "x", [("x/b", "tree")]),
    ("cp -r a/. x", "x", [("x", "below")]),
    ("cp -r a/b c x", "x", [("x/b", "tree"), ("x/c", "tree")]),
    ("rsync a/ x", "x", [("x", "below")]),
    ("rsync a x", "x", [("x/a", "tree")]),
    ("mv a x", "a", []),
    ("ln -s a x", "x", [("./a", "tree"), ("x/a", "tree"), ("x/a", "file")]),
    ("ln -s ../y d/x", "d/x", [("d/../y", "tree"), ("d/x/../y", "tree"), ("d/x/y", "file")]),
    ("ln -s ../y x", "x", [("./../y", "tree"), ("x/../y", "tree"), ("x/y", "file")]),
    ("ln -sr ../y d/x", "d/x", [("../y", "tree"), ("d/x/y", "file")]),
    ("ln ../y d/x", "d/x", [("../y", "tree"), ("d/x/y", "file")]),
    ("ln -s /y d/x", "d/x", [("/y", "tree"), ("d/x/y", "file")]),
    ("cp -l a x", "x", [("a", "tree"), ("x/a", "file")]),
    ("cp -rT a x", "x", [("x", "below")]),
    ("install -m 755 a x", "x", [("x/a", "file")]),
    ("cp -t x a b", "x", [("x/a", "file"), ("x/b", "file")]),
    ("touch x", "x", []),
]


@every(("line", "target", "found"), LANDINGS)
def test_a_copied_file_keeps_its_name(line, target, found):
    program, write = only(line, target)
    assert list(landings(write, program)) == found


@every(
    ("tool", "path", "effect"),
    [
        ("mcp__fs__delete", "/home/ann/.config", "deny"),
        ("mcp__fs__rename_folder", "/home/ann/.claude", "ask"),
        ("mcp__fs__write", "/home/ann/.config", "abstain"),
        ("mcp__fs__write", "/home/ann/.config/baton/config", "ask"),
    ],
)
def test_a_tool_that_removes_or_moves_takes_a_whole_folder(tool, path, effect):
    call = ToolCall(client="x", session_id="s", tool_name=tool, tool_input={"path": path}, cwd="/home/ann/app")
    assert evaluate(shipped(), Facts(call=call)).effect == effect
