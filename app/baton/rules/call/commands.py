"""The commands in a tool's input as one shell line: a line, an argument list, a script, code in a language."""

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from baton.clients.tool_inputs import decoded_text, name_words, runs_lines, squeezed
from baton.lib.code.languages.windows import cmd_as_shell, powershell_as_shell
from baton.rules.call.call import is_usual
from baton.rules.call.call import parts as parts_of

_LINES = frozenset({
    "command", "cmd", "commands", "cmds", "commandline", "cmdline", "shellcommand", "bashcommand", "terminalcommand",
    "commandtext", "commandstring", "shellscript", "bashscript", "shellcode", "rawcommand", "fullcommand", "shell",
    "bash", "shcommand", "runcommand", "execcommand", "executecommand", "systemcommand", "oscommand", "exec", "argv",
    "clicommand", "awscommand", "gcloudcommand", "azcommand", "gitcommand", "ghcommand", "dockercommand",
    "run", "remotecommand", "sshcommand",
})  # fmt: skip
"""Keys of commands, squeezed."""
_SEVERAL = frozenset({"commands", "cmds", "lines"})
_PROGRAMS = frozenset({"program", "executable", "exe", "binary", "bin", "executablepath", "programpath", "commandpath"})
"""Keys of a program with its arguments under another key."""
_FILES = frozenset({"file", "path", "name", "process", "tool"})
"""The same in executing tools; elsewhere these keys name anything."""
_ARGUMENTS = (
    "subcommand", "options", "flags", "args", "arguments", "argv", "parameters", "params", "arg", "argument", "arglist",
    "argumentlist", "cmdargs", "commandargs", "extraargs", "argsarray", "operands",
)  # fmt: skip
"""Keys of arguments, in the order of joining."""
_OF_LINES = _LINES | _PROGRAMS | frozenset(_ARGUMENTS) | {"input", "script", "code"}
_SCRIPTS = frozenset({
    "script", "code", "sourcecode", "newsource", "cellsource", "scriptcontent", "scripttext",
    "codecontent", "codesnippet", "snippet", "program", "source", "expression", "pythoncode",
})  # fmt: skip
_LANGUAGES = ("language", "lang", "kernel", "runtime", "interpreter", "type")
_STDIN = ("stdin", "stdindata", "stdintext", "standardinput")
_ENVIRONMENT = ("env", "environment", "environ", "envvars", "environmentvariables")
_KEYS = _LINES | _PROGRAMS | _SCRIPTS
_BESIDE = frozenset({
    "description", "explanation", "reason", "title", "justification", "sessionid", "shellid", "bashid", "terminalid",
    "id", "processid", "pid", "mode", "cwd", "workdir", "workingdirectory", "workingdir", "directory", "dir", "dirpath",
    "timeout", "timeoutms", "shell", "env", "environment", "host", "user", "username", "encoding", "signal", "label",
    "isbackground", "runinbackground", "yieldtimems", "maxoutputtokens", "login", "ws", "url", "type", "status", "name",
    "withescalatedpermissions", "sandboxpermissions", "prefixrule", "goal", "summary", "intent", "requestedby",
})  # fmt: skip
"""Keys of executing tools without a line."""
_RUNNERS = {
    **dict.fromkeys(("python", "python3", "py", "ipython", "jupyter", "pyodide"), "python3"),
    **dict.fromkeys(("javascript", "js", "node", "nodejs", "typescript", "ts", "deno", "bun"), "node"),
    **dict.fromkeys(("ruby", "rb"), "ruby"),
    "php": "php",
    **dict.fromkeys(("perl", "pl"), "perl"),
    **dict.fromkeys(("applescript", "osascript"), "osascript"),
    "r": "Rscript",
    **dict.fromkeys(("powershell", "pwsh", "ps", "ps1"), "pwsh"),
    **dict.fromkeys(("bash", "sh", "shell", "zsh", "terminal", "console"), ""),
}  # the program for code of a language; "" for shells
_RUNS_CODE = frozenset({"run", "exec", "execute", "eval", "interpreter", "repl", "sandbox", "notebook", "cell"})
_NOTEBOOKS = frozenset({"notebook", "cell", "jupyter", "kernel", "code"})
_ELSEWHERE = frozenset(
    {"browser", "page", "playwright", "puppeteer", "devtools", "chrome", "selenium", "webdriver", "dom", "tab"}
    | {"sql", "query", "database", "db", "postgres", "mysql", "sqlite", "bigquery", "figma", "blender", "sheets"}
    | {"redis", "mongo", "mongodb", "vscode", "nvim", "vim", "emacs", "slack", "discord", "unity", "godot", "minecraft"}
)  # words in names of tools that run scripts in a browser, a database or another program, not on this machine
_POWERSHELL = frozenset({"powershell", "pwsh"})
_NO_COMMAND = frozenset({"Skill", "SlashCommand", "skill", "Workflow"})  # tools with another kind of name as `command`
_EDITOR_WORDS = frozenset({"view", "create", "str_replace", "insert", "undo_edit", "read", "write", "delete", "rename"})
SHELL_KEYS = frozenset({
    "command", "cmd", "description", "timeout", "run_in_background", "is_background", "workdir", "cwd", "yield_time_ms",
    "max_output_tokens", "session_id", "chars", "dir_path", "directory", "explanation", "justification", "login",
})  # fmt: skip
"""Keys of a shell's usual calls: besides its line, none of them adds to it."""
REMARKS = frozenset({
    "description", "timeout", "run_in_background", "is_background", "yield_time_ms", "max_output_tokens", "explanation",
    "justification", "login",
})  # fmt: skip
"""Those of them that nothing runs or reads: they are for people, or set times."""
_INTERPRETERS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "powershell", "pwsh", "true", "false"})
_JAVASCRIPT = re.compile(r"\b(?:const|let|var)\s|\brequire\s*\(|\bprocess\.|=>|\bfunction\b")
_ESCAPED = re.compile(r"\s*(?:\w+\s*=\s*)?(?:!!?|%(?:sx|system)\s+)(.*)")  # a notebook's `!rm x`, `x = %sx rm x`
_JSON = re.compile(r'\s*[\[{]\s*"')
_LONGEST = 70_000
"""Maximum characters of joined commands. A shell line of this length is not read, so it is asked about."""


def command_of(
    tool: str,
    tool_input: Mapping[str, Any],
    *,
    is_shell: bool = False,
    parts: tuple[Mapping[str, Any], ...] | None = None,
) -> str | None:
    """Return a tool's commands as one shell line; None if the input has none.

    Objects at any depth are searched, as the shape of a tool's input is unknown. In an executing tool (`is_shell`, or
    by its name) every text counts, except known other keys. `parts` are the input's objects.
    """
    words = name_words(tool)
    is_shell = is_shell or (runs_lines(tool) and _ELSEWHERE.isdisjoint(words))
    # Most tools have no command; every call passes here.
    parts = parts_of(tool_input) if parts is None else parts
    if tool in _NO_COMMAND or (not is_shell and len(parts) == 1 and is_usual(tool_input)):
        return None
    found: list[str] = []
    length = 0
    holders = [one for one in parts if is_shell or not (is_usual(one) or _KEYS.isdisjoint(map(squeezed, one)))]
    for lines in (_lines, _texts) if is_shell else (_lines,):
        for holder in holders:
            for line in lines(words, holder, is_shell):
                found.append(line)
                length += len(line)
                if length > _LONGEST:
                    return "\n".join(found)
        if found:
            return "\n".join(found)
    return None


def has_unread_command(tool_input: Mapping[str, Any]) -> bool:
    """Return whether an executing tool's input has content besides keys without a line."""
    return any(
        squeezed(key) not in _BESIDE
        and value not in (None, "", [], {})
        and (key in _KEYS or not isinstance(value, int))
        for key, value in tool_input.items()
    )


def as_command(tool_input: Mapping[str, Any], line: str) -> dict[str, Any]:
    """Return an input with its line as `command`, without the original keys of the line."""
    kept = {
        key: value for key, value in tool_input.items() if (name := squeezed(key)) in _BESIDE or name not in _OF_LINES
    }
    return kept | {"command": line}


def in_shell(tool: str, line: str) -> str:
    """Return a tool's line as a shell line: a PowerShell or a cmd tool has its own language."""
    words = frozenset(name_words(tool))
    if not _POWERSHELL.isdisjoint(words) or tool in _POWERSHELL:
        return powershell_as_shell(line)
    return cmd_as_shell(line) if tool.lower() in ("cmd", "cmd.exe", "batch") else line


def _lines(words: tuple[str, ...], holder: Mapping[str, Any], is_shell: bool) -> Iterator[str]:  # noqa: FBT001
    names = {squeezed(key): value for key, value in holder.items()}
    for name, value in names.items():
        if name == "argv" and not (_PROGRAMS | {"command", "cmd"}).isdisjoint(names):
            continue  # their arguments
        if name in _LINES:
            line = _line(value, lines=name in _SEVERAL)
            # An editor's `command` is one of its own words, such as `view`; `shell` may be the line's interpreter.
            if not line or line in _EDITOR_WORDS or (name in ("shell", "bash") and _is_interpreter(line)):
                continue
            if name not in _SEVERAL | {"argv", "shell", "bash"}:
                line = _surrounded(f"{line} {_arguments(names)}".rstrip(), names)
            said = names.get("shell")
            if isinstance(said, str) and name != "shell" and said.lower().removesuffix(".exe") in _POWERSHELL:
                line = powershell_as_shell(line)
            yield line
        elif (name in _PROGRAMS or (is_shell and name in _FILES and _LINES.isdisjoint(names))) and (
            line := _program(value, names)
        ):
            yield _surrounded(line, names)
        elif name in _SCRIPTS and isinstance(value, str) and value:
            script = _script(words, names, name, value, is_shell=is_shell)
            if script:
                yield script


def _texts(_words: tuple[str, ...], holder: Mapping[str, Any], _is_shell: bool) -> Iterator[str]:  # noqa: FBT001
    """Yield the texts of an executing tool if no key marks the line."""
    for key, value in holder.items():
        name = squeezed(key)
        if name not in _BESIDE and (line := _line(value, lines=name in _SEVERAL)):
            yield line


def _is_interpreter(line: str) -> bool:
    return line.rpartition("/")[2].rpartition("\\")[2].removesuffix(".exe").lower() in _INTERPRETERS


def _line(value: object, *, lines: bool = False) -> str:
    """Return a command's value as a line: text, an argument list, or a list of lines."""
    if isinstance(value, str):
        given = decoded_text(value) if _JSON.match(value) and len(value) <= _LONGEST else None
        if isinstance(given, dict):
            return command_of("shell", given) or value
        return _line(given, lines=lines) or value
    if not isinstance(value, list) or not value:
        return ""
    texts = list(_words_of(value))
    # `["rm -rf /"]` and `["npm i", "npm test"]` are lines; `["rm", "-rf", "/a b"]` are arguments.
    return "\n".join(texts) if texts and (lines or any(map(str.isspace, texts[0]))) else shlex.join(texts)


def _words_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _words_of(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _words_of(one)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _program(value: object, names: Mapping[str, Any]) -> str:
    rest = _arguments(names)
    if not isinstance(value, str) or not value or not rest:
        return ""
    first = rest.partition(" ")[0].strip("'\"")
    # As for `execve`, the first argument may repeat the program.
    if isinstance(names.get("argv"), list) and first.rpartition("/")[2] == value.rpartition("/")[2]:
        rest = rest.partition(" ")[2]
    return f"{shlex.quote(value)} {rest}"


def _arguments(names: Mapping[str, Any]) -> str:
    found: list[str] = []
    for key in _ARGUMENTS:
        value = names.get(key)
        if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            given = decoded_text(value) if len(value) <= _LONGEST else None
            value = value if given is None else given
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list):
            found.append(shlex.join(_words_of(value)))
    return " ".join(filter(None, found))


def _script(words: tuple[str, ...], holder: Mapping[str, Any], name: str, text: str, *, is_shell: bool) -> str:
    """Return a script or code as a line running it; "" if it does not run on this machine."""
    said = next((holder[key].lower() for key in _LANGUAGES if isinstance(holder.get(key), str)), "")
    if name == "newsource" and holder.get("celltype") == "markdown":
        return ""
    if name == "source" and _NOTEBOOKS.isdisjoint(words):
        return ""  # of a copy
    runner = _RUNNERS.get(said)
    # A browser or a database runs it elsewhere, unless the call names a language of this machine.
    if runner is None and not _ELSEWHERE.isdisjoint(words):
        return ""
    if runner is None:
        runner = next((_RUNNERS[word] for word in words if word in _RUNNERS), None)
    if runner is None and (name == "script" or is_shell):
        runner = ""
    if runner is None and (name == "newsource" or not _RUNS_CODE.isdisjoint(words)):
        read = _code("python3", text)
        # An unnamed language is read as both, as a comment may have the other's words.
        return f"{read}\n{_code('node', text)}" if _JAVASCRIPT.search(text) else read
    if runner is None:
        return ""
    # The text is a shell line itself.
    if runner == "":
        return text
    return _code(runner, text)


def _code(runner: str, text: str) -> str:
    """Return a line that gives code to the program of its language."""
    escapes, code = _notebook_lines(text) if runner == "python3" else ([], text)
    return "\n".join(
        (*escapes, _given(f"{runner} -", code) if runner != "pwsh" else shlex.join((runner, "-Command", code)))
    )


def _given(line: str, text: str) -> str:
    # The mark must not occur in the text: the rest would be read as shell.
    end = "END"
    while end in text:
        end += "_"
    return f"{line} <<'{end}'\n{text}\n{end}"


def _surrounded(line: str, names: Mapping[str, Any]) -> str:
    """Return a line with its separately given variables and standard input."""
    text = next((value for key in _STDIN if isinstance(value := names.get(key), str) and value), "")
    line = _given(line, text) if text else line
    env = next((value for key in _ENVIRONMENT if isinstance(value := names.get(key), dict)), {})
    sets = [
        f"{name}={shlex.quote(value)}" for name, value in env.items() if name.isidentifier() and isinstance(value, str)
    ]
    return f"export {' '.join(sets)}\n{line}" if sets else line


def _notebook_lines(code: str) -> tuple[list[str], str]:
    """Split a notebook's shell commands (`!rm x`, `%%bash`) from its Python."""
    if code.startswith(("%%bash", "%%sh", "%%script")):
        return [code.partition("\n")[2]], ""
    if "!" not in code and "%" not in code:
        return [], code
    lines = code.split("\n")
    shell = [found[1] for line in lines if (found := _ESCAPED.match(line))]
    return shell, "\n".join([line for line in lines if not line.lstrip().startswith(("!", "%"))])


# Read a tool call of the Agent Client Protocol by its kind and input, not by its name.

SHELL, EDIT = "Bash", "Edit"
EDIT_KINDS = frozenset({"edit", "delete", "move"})
_EDIT_TOOLS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
_UNSAID = frozenset({"", "other"})
_BARE = {"input", "args"}  # keys of a string or a list given without an object


def judged_as(kind: str, name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the tool and the input for judging a call.

    An executing call is a shell line, and an edit, deletion or move is an edit, whatever the tool's name:
    `mcp__box__run` with a command is no safer than `Bash`. A tool with a command but without name and kind is a shell,
    too.
    """
    if kind == "execute" or (kind in _UNSAID and name in _UNSAID):
        line = command_of(SHELL if kind == "execute" or given.keys() <= _BARE else "", given)
        if line:
            return SHELL, as_command(given, line)
        return (SHELL if kind == "execute" else name), given
    if kind in EDIT_KINDS and name not in _EDIT_TOOLS:
        return EDIT, given
    return name, given
