"""The commands in the input of a tool, as one shell line: a line, a list of arguments, a script, code in a language."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from baton.engine.code.languages.windows import cmd_as_shell, powershell_as_shell

_LINES = frozenset(
    {"command", "cmd", "commands", "cmds", "command_line", "commandline", "shell_command", "shell", "bash"}
)
_ARGUMENTS = ("args", "arguments", "argv", "parameters")
_SCRIPTS = frozenset({"script", "code", "source_code", "new_source", "snippet", "program"})
_LANGUAGES = ("language", "lang", "kernel", "runtime", "interpreter", "type")
_KEYS = _LINES | _SCRIPTS | {"argv", "exec"}
_RUNNERS = {
    **dict.fromkeys(("python", "python3", "py", "ipython", "jupyter", "pyodide"), "python3"),
    **dict.fromkeys(("javascript", "js", "node", "nodejs", "typescript", "ts", "deno", "bun"), "node"),
    **dict.fromkeys(("ruby", "rb"), "ruby"),
    "php": "php",
    **dict.fromkeys(("perl", "pl"), "perl"),
    **dict.fromkeys(("powershell", "pwsh", "ps", "ps1"), "pwsh"),
    **dict.fromkeys(("bash", "sh", "shell", "zsh", "terminal", "console"), ""),
}
"""What runs code of a language; "" for shells."""
_RUNS_CODE = frozenset({"run", "exec", "execute", "eval", "interpreter", "repl", "sandbox", "notebook", "cell"})
_ELSEWHERE = frozenset(
    {"browser", "page", "playwright", "puppeteer", "devtools", "chrome", "selenium", "webdriver", "dom", "tab"}
    | {"sql", "query", "database", "db", "postgres", "mysql", "sqlite", "bigquery", "figma", "blender", "sheets"}
)
"""Words in the names of tools whose scripts run in a browser, a database or another program, not on this machine."""
_POWERSHELL = frozenset({"powershell", "pwsh"})
_NO_COMMAND = frozenset({"Skill", "SlashCommand", "skill", "Workflow"})
"""Tools whose `command` is the name of something else."""
_EDITOR_WORDS = frozenset({"view", "create", "str_replace", "insert", "undo_edit", "read", "write", "delete", "rename"})
_WORD = re.compile(r"[Pp]ower[Ss]hell|[A-Z]?[a-z]+\d?|[A-Z]+(?![a-z])")
_LONGEST = 70_000
"""Characters of commands that are put together. A shell line of that length is more than is read, so it is asked about."""
_MOST_OBJECTS = 4_096


def name_words(tool: str) -> list[str]:
    """Return the words of a tool's name, small: `mcp__ide__executeCode` → mcp, ide, execute, code."""
    return [word.lower() for word in _WORD.findall(tool)]


def command_of(tool: str, tool_input: Mapping[str, Any], *, nested: bool = False) -> str | None:
    """Return the commands that a tool is to run, as one shell line; None where the input has none.

    With `nested`, objects at any depth are searched, as nobody knows the shape of an MCP tool's input; otherwise the
    input and the objects in it.
    """
    if tool in _NO_COMMAND:
        return None
    # Most tools have no command; this is on the way of each of their calls.
    if not nested and _KEYS.isdisjoint(tool_input) and dict not in map(type, tool_input.values()):
        return None
    found: list[str] = []
    length = 0
    for holder in _holders(tool_input, nested=nested):
        for line in _lines(tool, holder):
            found.append(line)
            length += len(line)
            if length > _LONGEST:
                return "\n".join(found)
    return "\n".join(found) if found else None


def in_shell(tool: str, line: str) -> str:
    """Return a tool's line as one of the shell: a PowerShell or a cmd tool speaks its own language."""
    words = frozenset(name_words(tool))
    if not _POWERSHELL.isdisjoint(words) or tool in _POWERSHELL:
        return powershell_as_shell(line)
    return cmd_as_shell(line) if tool.lower() in ("cmd", "cmd.exe", "batch") else line


def _holders(tool_input: Mapping[str, Any], *, nested: bool) -> Iterator[Mapping[str, Any]]:
    """Yield the objects that may hold a command."""
    waiting: list[Any] = [tool_input]
    for _ in range(_MOST_OBJECTS):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, list):
            waiting += [one for one in value if isinstance(one, dict | list)]
            continue
        if not _KEYS.isdisjoint(map(str.lower, value)):
            yield value
        if nested or value is tool_input:
            waiting += [one for one in value.values() if isinstance(one, dict) or (nested and isinstance(one, list))]


def _lines(tool: str, holder: Mapping[str, Any]) -> Iterator[str]:
    words = name_words(tool)
    for key, value in holder.items():
        name = key.lower()
        if name in _LINES or name in ("argv", "exec"):
            line = _line(value, lines=name in ("commands", "cmds"))
            # An editor's `command` is one of its own words, such as `view`. `args` beside a `command` are its arguments.
            if line and line not in _EDITOR_WORDS:
                yield f"{line} {_arguments(holder)}".rstrip() if name in ("command", "cmd") else line
        elif name in _SCRIPTS and isinstance(value, str) and value:
            script = _script(words, holder, name, value)
            if script:
                yield script


def _line(value: object, *, lines: bool) -> str:
    """Return a command's value as a line: text, a list of arguments, or a list of lines."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list) or not value:
        return ""
    texts = [one for one in value if isinstance(one, str)]
    if len(texts) < len(value):
        return ""
    # `["rm -rf /"]` and `["npm i", "npm test"]` are lines; `["rm", "-rf", "/a b"]` are arguments.
    return "\n".join(texts) if lines or any(map(str.isspace, texts[0])) else shlex.join(texts)


def _arguments(holder: Mapping[str, Any]) -> str:
    for key in _ARGUMENTS:
        value = holder.get(key)
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            return shlex.join(value)
        if isinstance(value, str):
            return value
    return ""


def _script(words: list[str], holder: Mapping[str, Any], name: str, text: str) -> str:
    """Return a script or a piece of code as a line that runs it; "" where it does not run on this machine."""
    said = next((holder[key].lower() for key in _LANGUAGES if isinstance(holder.get(key), str)), "")
    if name == "new_source" and holder.get("cell_type") == "markdown":
        return ""
    runner = _RUNNERS.get(said)
    # A browser or a database runs it elsewhere, unless the call names a language of this machine.
    if runner is None and not _ELSEWHERE.isdisjoint(words):
        return ""
    if runner is None:
        runner = next((_RUNNERS[word] for word in words if word in _RUNNERS), None)
    if runner is None and name == "script":
        runner = ""
    if runner is None and (name == "new_source" or not _RUNS_CODE.isdisjoint(words)):
        runner = "python3"
    if runner is None:
        return ""
    # The text is a shell line itself.
    if runner == "":
        return text
    escapes, code = _notebook_lines(text) if runner == "python3" else ([], text)
    # The mark must not stand in the code: what follows it would be read as shell.
    end = "END"
    while end in code:
        end += "_"
    return "\n".join(
        (
            *escapes,
            f"{runner} - <<'{end}'\n{code}\n{end}" if runner != "pwsh" else shlex.join((runner, "-Command", code)),
        )
    )


def _notebook_lines(code: str) -> tuple[list[str], str]:
    """Split what a notebook gives to a shell (`!rm x`, `%%bash`) from its Python."""
    if code.startswith(("%%bash", "%%sh", "%%script")):
        return [code.partition("\n")[2]], ""
    if "!" not in code and "%" not in code:
        return [], code
    lines = code.split("\n")
    shell = [line.lstrip()[1:] for line in lines if line.lstrip().startswith("!")]
    python = [line for line in lines if not line.lstrip().startswith(("!", "%"))]
    return shell, "\n".join(python)
