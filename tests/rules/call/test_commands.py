"""The commands in a tool's input, as one shell line."""

from baton.clients.tool_inputs import name_words
from baton.rules.call.commands import command_of
from tests.support.cases import every

COMMANDS = [
    ("mcp__sh__run", {"command": "ls -la"}, "ls -la"),
    ("mcp__sh__run", {"cmd": ["rm", "x y"]}, "rm 'x y'"),
    ("mcp__sh__run", {"command": "rm", "args": ["-rf", "a b"]}, "rm -rf 'a b'"),
    ("mcp__sh__run", {"command": "rm", "args": "-rf /"}, "rm -rf /"),
    ("mcp__sh__run", {"command": "", "script": "ls"}, "ls"),
    ("mcp__sh__run", {"command": ["rm -rf /"]}, "rm -rf /"),
    ("mcp__sh__run", {"commands": ["npm i", "npm test"]}, "npm i\nnpm test"),
    ("mcp__sh__run", {"steps": [{"command": "ls"}, {"run": {"cmd": "pwd"}}]}, {"ls", "pwd"}),
    ("mcp__sh__run", {"query": "ls"}, "ls"),
    ("mcp__db__run", {"query": "ls"}, None),
    ("mcp__redis__run_command", {"key": "don't"}, None),
    ("mcp__term__list", {"filter": "don't"}, None),
    ("mcp__terminal__read_output", {"name": "don't"}, None),
    ("Bash", {"command": "rm", "args": ["-rf", "a b"]}, "rm -rf 'a b'"),
    ("Bash", {"command": "git", "subcommand": "push", "flags": ["--force"]}, "git push --force"),
    ("Bash", {"command": "rm", "args": [["-rf"], 7]}, "rm -rf 7"),
    ("Bash", {"command": "rm", "args": '["-rf", "/"]'}, "rm -rf /"),
    ("Bash", {"command": {"program": "rm", "args": ["x"]}}, "rm x"),
    ("Bash", {"cmd": '{"command": "{\\"command\\": \\"rm x\\"}"}'}, "rm x"),
    ("Bash", {"script": "rm x"}, "rm x"),
    ("Bash", {"shell_command": "rm x", "description": "don't"}, "rm x"),
    ("Bash", {"shellCommand": "rm x"}, "rm x"),
    ("Bash", {"code": "rm x"}, "rm x"),
    ("Bash", {"what": "rm x", "cwd": "/a"}, "rm x"),
    ("Bash", {"commands": ["a b", "c"]}, "a b\nc"),
    ("run_command", {"executable": "/usr/bin/git", "argv": ["git", "push"]}, "/usr/bin/git push"),
    ("mcp__p__spawn", {"program": "rm", "args": ["-rf", "/"]}, "rm -rf /"),
    ("mcp__shell__exec", {"file": "rm", "args": ["x"]}, "rm x"),
    ("mcp__files__copy", {"file": "rm", "args": ["x"]}, None),
    ("mcp__gw__call_tool", {"name": "execute", "arguments": '{"command": "rm x"}'}, "rm x"),
    ("mcp__gw__call_tool", {"request": '{"params": "{\\"cmd\\": \\"rm x\\"}"}'}, "rm x"),
    ("mcp__fs__write", {"path": "a.json", "content": '{"command": "rm x"}'}, None),
    ("mcp__sh__run", {"command": "ls", "shell": "/bin/zsh"}, "ls"),
    ("mcp__x__run", {"command": "sh", "stdin": "rm x"}, "sh <<'END'\nrm x\nEND"),
    (
        "mcp__x__run",
        {"command": "git fetch", "env": {"GIT_SSH_COMMAND": "a b", "N": 1}},
        "export GIT_SSH_COMMAND='a b'\ngit fetch",
    ),
    ("run_command", {"CommandLine": "rm x", "Cwd": "/", "Blocking": True}, "rm x"),
    ("mcp__desktop-commander__interact_with_process", {"pid": 7, "input": "rm x"}, "rm x"),
    ("KillShell", {"shell_id": "don't"}, None),
    ("BashOutput", {"bash_id": "don't"}, None),
    ("terminal", {"cmd": "[ -f x ] && rm x"}, "[ -f x ] && rm x"),
    ("local_shell", {"action": {"type": "exec", "command": ["bash", "-lc", "rm -rf /"]}}, "bash -lc 'rm -rf /'"),
    ("mcp__ide__executeCode", {"code": "import os"}, "python3 - <<'END'\nimport os\nEND"),
    ("execute_code", {"language": "javascript", "code": "END"}, "node - <<'END_'\nEND\nEND_"),
    ("mcp__x__run", {"language": "bash", "code": "rm x"}, "rm x"),
    ("NotebookEdit", {"new_source": "!rm x\nprint(1)", "cell_type": "code"}, "rm x\npython3 - <<'END'\nprint(1)\nEND"),
    ("REPL", {"code": "require('fs')"}, "python3 - <<'END'\nrequire('fs')\nEND\nnode - <<'END'\nrequire('fs')\nEND"),
    ("mcp__jupyter__insert_execute_code_cell", {"cell_source": "!rm x"}, "rm x\npython3 - <<'END'\n\nEND"),
    ("mcp__mac__execute_script", {"script_content": "x", "language": "applescript"}, "osascript - <<'END'\nx\nEND"),
    ("NotebookEdit", {"new_source": "# Title", "cell_type": "markdown"}, None),
    ("mcp__playwright__evaluate", {"script": "() => document.title"}, None),
    ("mcp__geo__lookup", {"code": "DE"}, None),
    ("Skill", {"command": "don't"}, None),
    ("str_replace_editor", {"command": "create", "path": "a"}, None),
    ("Edit", {"file_path": "a", "old_string": "x"}, None),
]


@every(("tool", "given", "line"), COMMANDS)
def test_commands(tool, given, line):
    found = command_of(tool, given)
    assert (set(found.split("\n")) if isinstance(line, set) else found) == line


def test_the_words_of_a_name():
    assert name_words("mcp__ide__executeCode") == ("mcp", "ide", "execute", "code")
    assert name_words("mcp__fs__HTTPGet_file2") == ("mcp", "fs", "http", "get", "file2")


def test_commands_are_put_together_to_a_bound():
    given = {"steps": [{"command": "x" * 60_000} for _ in range(50)]}
    assert len(command_of("mcp__sh__run", given)) < 200_000
