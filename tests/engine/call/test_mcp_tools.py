"""What the input of an MCP tool names."""

import pytest

from baton.engine.call.mcp_tools import command_of, is_mcp_tool, named_paths

PATHS = [
    ({"path": "/a/b", "content": "hello"}, ["/a/b"]),
    ({"x": [{"deep": ["~/.c"]}]}, ["~/.c"]),
    ({"files": {"/a/b": "text"}}, ["/a/b"]),
    ({"uri": "FILE:///a/b%2Ec"}, ["/a/b.c"]),
    ({"p": "a/b", "q": r"C:\x\y"}, ["a/b", r"C:\x\y"]),
    ({"body": "see ~/.claude/settings.json", "title": "a"}, []),
    ({"body": "/a\n/b"}, []),
    ({"p": "/a b/c"}, ["/a b/c"]),
    ({"n": 1, "t": True, "z": None}, []),
    ({"long": "/" + "a" * 5_000}, []),
]


@pytest.mark.parametrize(("given", "paths"), PATHS)
def test_paths(given, paths):
    assert sorted(named_paths(given)) == sorted(paths)


def test_a_large_input_is_read_to_a_bound():
    assert len(list(named_paths({"x": [f"/a/{n}" for n in range(10_000)]}))) == 400


COMMANDS = [
    ({"command": "ls -la"}, "ls -la"),
    ({"cmd": ["rm", "x y"]}, ["rm", "x y"]),
    ({"command": "rm", "args": ["-rf", "a b"]}, "rm -rf 'a b'"),
    ({"command": "rm", "args": "no list"}, "rm"),
    ({"command": "", "script": "ls"}, "ls"),
    ({"query": "ls"}, None),
]


@pytest.mark.parametrize(("given", "command"), COMMANDS)
def test_commands(given, command):
    assert command_of(given) == command


def test_which_tools_are_meant():
    assert is_mcp_tool("mcp__files__write")
    assert not is_mcp_tool("Bash")
