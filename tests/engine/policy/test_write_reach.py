"""How far what a program, or a tool, writes reaches."""

import pytest

from baton.engine.call.call import ToolCall
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from baton.engine.policy.load import load
from baton.engine.policy.matching.write_reach import landings, reach_of
from baton.engine.policy.rules.layers import Layer
from tests.engine.policy.conftest import SHIPPED

POLICIES = load([Layer(tier="shipped", files=SHIPPED)])

REACHES = [
    ("rm -r x", "x", "tree"),
    ("mv x y", "x", "tree"),
    ("mv x y", "y", "file"),
    ("find x -delete", "x", "tree"),
    ("find x -name '*.pyc' -delete", "x", "file"),
    ("find x -name '.cl*' -delete", "x", "tree"),
    ("chmod -R 0 x", "x", "tree"),
    ("chmod 0 x", "x", "into"),
    ("tar -xf a.tar -C x", "x", "below"),
    ("git clone u x", "x", "into"),
    ("wget -P x u", "x", "into"),
    ("ln -sn y x", "x", "into"),
    ("ln -s y x", "x", "file"),
    ("cp y x", "x", "file"),
]


def only(line):
    (program,) = POLICIES.shells.read(line).programs
    return program


@pytest.mark.parametrize(("line", "target", "reach"), REACHES)
def test_a_program_reaches_as_far_as_what_it_does(line, target, reach):
    assert reach_of(only(line), target) == reach


LANDINGS = [
    ("cp a/b x", "x", [("x/b", "file")]),
    ("cp -r a/b x", "x", [("x/b", "tree")]),
    ("cp -r a/. x", "x", [("x", "below")]),
    ("cp -r a/b c x", "x", [("x/b", "tree"), ("x/c", "tree")]),
    ("rsync a/ x", "x", [("x", "below")]),
    ("rsync a x", "x", [("x/a", "tree")]),
    ("mv a x", "a", []),
    ("ln -s a x", "x", [("a", "tree"), ("x/a", "file")]),
    ("cp -l a x", "x", [("a", "tree"), ("x/a", "file")]),
    ("git clone a x", "x", []),
    ("touch x", "x", []),
]


@pytest.mark.parametrize(("line", "target", "found"), LANDINGS)
def test_what_is_copied_lands_by_its_name(line, target, found):
    assert list(landings(only(line), target)) == found


@pytest.mark.parametrize(
    ("tool", "path", "effect"),
    [
        ("mcp__fs__delete", "/home/ann/.config", "ask"),
        ("mcp__fs__rename_folder", "/home/ann/.claude", "ask"),
        ("mcp__fs__write", "/home/ann/.config", "abstain"),
        ("mcp__fs__write", "/home/ann/.config/baton/config", "ask"),
    ],
)
def test_a_tool_that_removes_or_moves_takes_a_whole_folder(tool, path, effect):
    call = ToolCall(client="x", session_id="s", tool_name=tool, tool_input={"path": path}, cwd="/home/ann/app")
    assert evaluate(POLICIES, Facts(call=call)).effect == effect
