"""Paths and texts in the input of an MCP tool."""

import pytest

from baton.rules.call.call import has_more_texts, is_mcp_tool, named_paths
from tests.support.cases import every

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


@every(("given", "paths"), PATHS)
def test_paths(given, paths):
    assert sorted(named_paths(given)) == sorted(paths)


def test_a_large_input_is_read_to_a_reported_limit():
    given = {"x": [f"/a/{n}" for n in range(10_000)]}
    assert 2_000 < len(list(named_paths(given))) < 5_000
    assert has_more_texts(given)
    assert not has_more_texts({"path": "a", "content": "x" * 1_000_000})


def test_padding_cannot_hide_a_path_silently():
    padded = {"pad": ["x"] * 50_000, "path": "/etc/passwd"}
    assert has_more_texts(padded)
    assert "/etc/passwd" in set(named_paths({"pad": ["x"] * 1_500, "path": "/etc/passwd"}))


@pytest.mark.parametrize(
    "patch",
    [
        "*** Begin Patch\n*** Update File: src/a.py\n*** End Patch",
        "--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n",
    ],
)
def test_the_files_of_a_patch_are_paths(patch):
    assert set(named_paths({"patch": patch})) == {"src/a.py"}


def test_tools_matched_by_a_pattern():
    assert is_mcp_tool("mcp__files__write")
    assert not is_mcp_tool("Bash")
