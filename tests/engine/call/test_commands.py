"""The commands in a tool's input, as one shell line."""

import pytest

from baton.engine.call.commands import command_of, name_words

COMMANDS = [
    ("mcp__sh__run", {"command": "ls -la"}, "ls -la"),
    ("mcp__sh__run", {"cmd": ["rm", "x y"]}, "rm 'x y'"),
    ("mcp__sh__run", {"command": "rm", "args": ["-rf", "a b"]}, "rm -rf 'a b'"),
    ("mcp__sh__run", {"command": "rm", "args": "-rf /"}, "rm -rf /"),
    ("mcp__sh__run", {"command": "", "script": "ls"}, "ls"),
    ("mcp__sh__run", {"command": ["rm -rf /"]}, "rm -rf /"),
    ("mcp__sh__run", {"commands": ["npm i", "npm test"]}, "npm i\nnpm test"),
    ("mcp__sh__run", {"steps": [{"command": "ls"}, {"run": {"cmd": "pwd"}}]}, {"ls", "pwd"}),
    ("mcp__sh__run", {"query": "ls"}, None),
    ("local_shell", {"action": {"type": "exec", "command": ["bash", "-lc", "rm -rf /"]}}, "bash -lc 'rm -rf /'"),
    ("mcp__ide__executeCode", {"code": "import os"}, "python3 - <<'END'\nimport os\nEND"),
    ("execute_code", {"language": "javascript", "code": "END"}, "node - <<'END_'\nEND\nEND_"),
    ("mcp__x__run", {"language": "bash", "code": "rm x"}, "rm x"),
    ("NotebookEdit", {"new_source": "!rm x\nprint(1)", "cell_type": "code"}, "rm x\npython3 - <<'END'\nprint(1)\nEND"),
    ("NotebookEdit", {"new_source": "# Title", "cell_type": "markdown"}, None),
    ("mcp__playwright__evaluate", {"script": "() => document.title"}, None),
    ("mcp__geo__lookup", {"code": "DE"}, None),
    ("Skill", {"command": "don't"}, None),
    ("str_replace_editor", {"command": "create", "path": "a"}, None),
    ("Edit", {"file_path": "a", "old_string": "x"}, None),
]


@pytest.mark.parametrize(("tool", "given", "line"), COMMANDS)
def test_commands(tool, given, line):
    found = command_of(tool, given, nested="__" in tool)
    assert (set(found.split("\n")) if isinstance(line, set) else found) == line


def test_the_words_of_a_name():
    assert name_words("mcp__ide__executeCode") == ["mcp", "ide", "execute", "code"]
    assert name_words("mcp__fs__HTTPGet_file2") == ["mcp", "fs", "http", "get", "file2"]


def test_commands_are_put_together_to_a_bound():
    given = {"steps": [{"command": "x" * 60_000} for _ in range(50)]}
    assert len(command_of("mcp__sh__run", given, nested=True)) < 200_000
