"""The entry point: read a text of code in a language, within limits on its size and on the parts that are looked at."""

from collections.abc import Callable, Sequence

import msgspec

from baton.engine.code.effects import Table
from baton.engine.code.evaluate import Evaluator
from baton.engine.code.fork_loops import forks_without_end
from baton.engine.code.languages import (
    awk,
    dialogues,
    javascript,
    literal_calls,
    perl,
    php,
    python,
    ruby,
    sed,
    task_files,
    unparsed,
    windows,
)
from baton.engine.code.languages.names import javascript as javascript_names
from baton.engine.code.languages.names import perl as perl_names
from baton.engine.code.languages.names import php as php_names
from baton.engine.code.languages.names import python as python_names
from baton.engine.code.languages.names import ruby as ruby_names
from baton.engine.code.model import Code
from baton.engine.code.tree import Node

MAX_LENGTH = 65_536
"""Characters of a text that is read."""

_LANGUAGES: dict[str, tuple[Table, Callable[[str], Sequence[Node]]]] = {
    "javascript": (javascript_names.TABLE, javascript.read),
    "perl": (perl_names.TABLE, perl.read),
    "php": (php_names.TABLE, php.read),
    "python": (python_names.TABLE, python.read),
    "ruby": (ruby_names.TABLE, ruby.read),
}

_SCANNED: dict[str, Callable[[str], Code]] = {
    "awk": awk.read,
    "sed": sed.read,
    **literal_calls.READERS,
    "dialogue": dialogues.read_dialogue,
    "ed": sed.read_ed,
    "justfile": task_files.read_justfile,
    "lisp": unparsed.read_lisp,
    "makefile": task_files.read_makefile,
    "package.json": task_files.read_package,
    "powershell": windows.read_powershell,
    "powershell-arguments": windows.read_powershell_arguments,
    "cmd": windows.read_cmd,
    "cmd-arguments": windows.read_cmd_arguments,
    "unparsed": unparsed.read_unparsed,
}


def read(language: str, text: str) -> Code:
    """Read what a text of code does. Never raises: what cannot be told is said in `unread`."""
    if len(text) > MAX_LENGTH:
        return Code(unread="over 64 KiB of code")
    executed = [text]
    code = _read(language, text, executed)
    bomb = any(forks_without_end(language, part) for part in executed)
    return msgspec.structs.replace(code, forks_without_end=True) if bomb else code


def _read(language: str, text: str, executed: list[str]) -> Code:
    """Read a text; the texts that it executes as code are added to `executed`."""
    if language == "perl" and "<<" in text:
        whole = perl.without_here_documents(text)
        if whole is None:
            return literal_calls.read(language, text)
        text = whole
    if language in _SCANNED:
        return _SCANNED[language](text)
    if language not in _LANGUAGES:
        return Code(unread=f"{language} is not read")
    table, parse = _LANGUAGES[language]

    def reread(part: str) -> Sequence[Node]:
        executed.append(part)
        return parse(part)

    evaluator = Evaluator(table, reread)
    try:
        evaluator.program(parse(text))
    except RecursionError:
        evaluator.cannot_tell("code that is nested too deep")
    return evaluator.code()
