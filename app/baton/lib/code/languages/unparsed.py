"""Find literal commands, removals and writes in code without a parser: Perl, PHP, Ruby, Julia, Elixir, Lisps etc.

Code naming a function that starts processes is presumed to run its literals; its other effects are unknown.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from baton.lib.code.languages.sed import MAX_COMMANDS
from baton.lib.code.model import DECODED, Code, FileWrite, Run, variable
from baton.lib.code.values import unescape

# Read input for an interactive client (a database's, a debugger's, ftp's): the commands it passes to a shell.

_DIALOGUE_RUNS = re.compile(
    r"^[ \t]*(?:\\?![ \t]*|(?:\.(?:shell|system)|\.?sh|shell|platform shell|system|\\P|pager)[ \t]+)([^\n]+)"
    r"|^[ \t]*(?:\\(?:g|gx|o|w|copy|out|once)|pipe|\.(?:import|once|output|o|excel))\b[^\n|]*\|[ \t]*([^\n]+)"
    r"|\b(?:from|to)[ \t]+program[ \t]+'([^'\n]+)'",
    re.MULTILINE | re.IGNORECASE,
)  # `\! cmd` of psql, mysql; `.shell cmd` of sqlite3; `shell cmd` of gdb; `!cmd` of ftp; `\o |cmd`; `COPY … PROGRAM`

_COMMENT = re.compile(r"^[ \t]*(?:--|//|#)[^\n]*|/\*.*?\*/|'(?:[^'\n]|'')*'", re.MULTILINE | re.DOTALL)
_DESTROYS = re.compile(
    r"\bdrop\s+(?:table|database|schema|view|materialized|index|column|role|user|keyspace|collection|sequence|type|owned|function)\b"
    r"|\btruncate\b|\bdelete\s+from\b|\bpg_terminate_backend\b|\bflush(?:all|db)\b|\bdropdatabase\b"
    r"|\.(?:drop|deletemany|remove)\s*\(",
    re.IGNORECASE,
)  # statements of a database that throw data away


def read_dialogue(text: str) -> Code:
    """Read the shell commands of a dialogue; its other statements are not read."""
    found = [next(filter(None, match.groups())).strip("\"'") for match in _DIALOGUE_RUNS.finditer(text)]
    return Code(
        runs=tuple(dict.fromkeys(Run(script=command) for command in found[:MAX_COMMANDS])),
        destroys=_DESTROYS.search(_COMMENT.sub(" ", text)) is not None,
        unread="statements" if len(found) <= MAX_COMMANDS else "too many commands",
    )


# Find the commands in files of task runners: recipes of makefiles and justfiles, scripts of package.json.

MAX_TASKS = 256
_CONTINUED = re.compile(r"[ \t]*\\\n[ \t]*")
_RECIPE = re.compile(r"^(?:\t|[^\t#\n=]+::?[^\n;=]*;)[ \t]*[@+-]*[ \t]*(.+)$", re.MULTILINE)
_INDENTED = re.compile(r"^[ \t]+[@-]*(\S.*)$", re.MULTILINE)
_BRACES = re.compile(r"\{\{.*?\}\}")
_ASKED = re.compile(r"\$[({]shell\s+([^\n]*)[)}]|^[\w.]+\s*!=\s*(.+)$", re.MULTILINE)
_VARIABLE = re.compile(r"\$(?:\$|[({](\w+)[)}]|([\w@<^?*%+]))")


def read_makefile(text: str) -> Code:
    """Read a makefile. Its includes and functions are not read."""
    text = _CONTINUED.sub(" ", text)
    found = [match[1] for match in _RECIPE.finditer(text)]
    found += [match[1] or match[2] for match in _ASKED.finditer(text)]
    return _code([_VARIABLE.sub(_expanded, command) for command in found])


def read_justfile(text: str) -> Code:
    """Read a justfile: its recipes are the indented lines."""
    found = [match[1] for match in _INDENTED.finditer(_CONTINUED.sub(" ", text))]
    return _code([_BRACES.sub(variable("UNKNOWN"), command) for command in found])


def read_package(text: str) -> Code:
    """Read the scripts of a package.json."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return Code(unread="not valid JSON")
    scripts = data.get("scripts") if isinstance(data, dict) else None
    return _code([one for one in scripts.values() if isinstance(one, str)] if isinstance(scripts, dict) else [])


def _code(commands: list[str]) -> Code:
    runs = dict.fromkeys(Run(script=command) for command in commands[:MAX_TASKS])
    return Code(runs=tuple(runs), unread="" if len(commands) <= MAX_TASKS else "too many recipes")


def _expanded(match: re.Match[str]) -> str:
    """`$$` is the shell's own dollar. Make uses environment variables as its own."""
    name = match[1] or match[2]
    return "$" if not name else variable(name) if name[0].isalpha() and len(name) > 1 else variable("UNKNOWN")


# Find calls with literal strings in unparsed languages. Other effects are unknown.

MAX_CALLS = 256
_TEXT = r"\(?\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|\[\[(.*?)\]\])"
_WORDS = r"[ \t]+([^\n;\]}]+)"

_CALLS_RUN = {
    "lua": re.compile(r"\b(?:os\.execute|io\.popen)\s*" + _TEXT, re.DOTALL),
    "r": re.compile(r"\b(?:system2?|shell|processx::run|sys::exec_wait)\s*" + _TEXT, re.DOTALL),
    "applescript": re.compile(r"\bdo\s+shell\s+script\s+" + _TEXT, re.DOTALL | re.IGNORECASE),
    "tcl": re.compile(r"\b(?:exec|spawn|system)\b(?:\s+-\w+)*" + _WORDS),
}
_CALLS_WRITE = {
    "lua": re.compile(r"\bio\.open\s*" + _TEXT + r"\s*,\s*[\"'](?:[wa]|r\+)"),
    "r": re.compile(
        r"\b(?:writeLines|write\.csv|write\.table|saveRDS|sink|file\.create|dir\.create|cat)\s*\((?:[^()]*?,\s*)?(?:file\s*=\s*|con\s*=\s*)?"
        + _TEXT[3:]
    ),
    "tcl": re.compile(r"\b(?:file\s+(?:mkdir|rename|copy)(?:\s+-force)?|open)" + _WORDS),
}
_CALLS_REMOVE = {
    "lua": re.compile(r"\b(?:os\.remove|os\.rename|lfs\.rmdir)\s*" + _TEXT),
    "r": re.compile(r"\b(?:unlink|file\.remove|file_delete|dir_delete)\s*" + _TEXT),
    "tcl": re.compile(r"\bfile\s+delete(?:\s+-force)?(?:\s+--)?" + _WORDS),
}
_CALLS_NETWORK = re.compile(r"socket|https?://|download\.file|\bcurl\b|\bhttr?2?\b")


_JOIN = r"\s*(?:\.\.?|\+|<>|\*)\s*"
_HOME = re.compile(
    rf"(?:([\"']){_JOIN})?(?:"
    r"#\{\s*(?:Dir\.home|ENV(?:\[|\.fetch\()[\"']HOME[\"'][\])])\s*\}|\$ENV\{\s*[\"']?HOME[\"']?\s*\}|\bENV(?:\[|\.fetch\()\s*[\"']HOME[\"']\s*[\])]"
    r"|\$_(?:SERVER|ENV)\[\s*[\"']HOME[\"']\s*\]|(?:\b\w+(?:\.|::|/))?\bget_?env!?\s*\(?\s*[\"']HOME[\"']\s*\)?|\bDir\.home\b"
    r"|(?:\bSystem\.)?\b(?:homedir|NSHomeDirectory|user_home!?)(?:\(\)|\s)|\bSystem\.getProperty\(\s*[\"']user\.home[\"']\s*\)|(?<=[\"'<])~(?=[/\"'>])"
    rf")(?:{_JOIN}([\"']))?"
)
"""An expression for the home folder, with the quotes of the literals joined to it."""


def _home(match: re.Match[str]) -> str:
    if not (match[1] or match[2] or match[0] == "~" or match.string.count('"', 0, match.start()) % 2):
        return f'"{variable("HOME")}"'
    return ("" if match[1] else match[2] or "") + variable("HOME") + ("" if match[2] else match[1] or "")


def _found(patterns: dict[str, re.Pattern[str]], language: str, text: str) -> Iterator[str]:
    pattern = patterns.get(language)
    for at, match in enumerate(pattern.finditer(text) if pattern is not None else ()):
        if at >= MAX_CALLS:
            return
        found = next((group for group in match.groups() if group is not None), "")
        yield re.sub(r"\\.", lambda escape: unescape(escape[0]), found)


def read(language: str, text: str) -> Code:
    """Read the literal calls of a string."""
    text = _HOME.sub(_home, text)
    writes = [FileWrite(path) for path in _found(_CALLS_WRITE, language, text)]
    writes += [FileWrite(path, removes=True) for path in _found(_CALLS_REMOVE, language, text)]
    if language == "tcl":
        writes = [
            FileWrite(word, write.removes) for write in writes for word in write.path.split() if word[:1] not in "$-"
        ]
    return Code(
        writes=tuple(dict.fromkeys(writes)),
        runs=tuple(dict.fromkeys([Run(script=command) for command in _found(_CALLS_RUN, language, text)])),
        network=_CALLS_NETWORK.search(text) is not None,
        unread="the language is only partly supported",
    )


READERS: dict[str, Callable[[str], Code]] = {name: partial(read, name) for name in ("applescript", "lua", "r", "tcl")}


MAX_LITERALS = 256

# An unclosed literal extends to the end: otherwise each quote in it would be tried as a start.
_END = r"\\?\Z"
_DOUBLE = rf'"((?:[^"\\]|\\.)*)(?:"|{_END})'
_LITERALS = {
    "unparsed": re.compile(
        _DOUBLE
        + rf"|'((?:[^'\\]|\\.)*)(?:'|{_END})|`((?:[^`\\]|\\.)*)(?:`|{_END})"
        + r"|(?:%[wxqQ]|\bq[qxw]?)\s{0,8}(?:"
        + "|".join([rf"\{a}((?:[^\{b}\\]|\\.)*)(?:\{b}|{_END})" for a, b in ("()", "{}", "[]", "<>", "||", "//", "!!")])
        + ")",
        re.DOTALL,
    ),  # the last are `qx{rm x}` and `%w(rm x)` of Perl and Ruby
    "lisp": re.compile(_DOUBLE, re.DOTALL),  # in Lisp a single quote opens a list
}
_STARTS_PROCESSES = re.compile(
    r"\b(?:system\w*|capture\w*|passthru|exec\w*|shell\w*|sh|bash|cmd|command|call[-_]?(?:command|process)\w*|run|run[-_]?(?:program|command|process)"
    r"|spawn\w*|popen|open_process\w*|process\w*|proc(?:_open)?|start[-_]?process\w*|subprocess|qx|readpipe|posix_spawn|fork|pipeline)\b"
    r"|[\"'\])]\s{0,8}\.?\s{0,8}!|%x|`|\|\s{0,8}[\"']|[\"']\s{0,8}\||\$\w+\(",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"(?:[\s,\[\](){}#:]|\bnil\b|\bNone\b|\bNothing\b|\bfalse\b|\btrue\b|\b[tf0]\b)*")
"""Separators between the arguments of one command."""
_REMOVES = re.compile(
    r"\b(?:(?<![\"'])rm|rm[-_](?:rf|r|f)|rmdir|rmtree|unlink|remove\w*|delete[\w-]*|del_dir\w*|del_dir_r|trash|purge)\b!?[\w\s.(\[:/\"',-]{0,60}$",
    re.IGNORECASE,
)
_REMOVED = re.compile(r"\)*\s*\.\s*(?:delete|remove|unlink|deltree)\w*", re.IGNORECASE)
_WRITES = re.compile(
    r"(?:>[\"'],\s*$|\b(?:write[\w-]*|file_put_contents|spit|touch|mkdir\w*|mkpath|make_dir\w*|create\w*|append\w*|save\w*|cp|mv|rename\w*|copy\w*|truncate|with-open-file"
    r"|with-output-to-file|call-with-output-file|open-output-file)\b!?[\w\s.(:/-]{0,60}$)",
    re.IGNORECASE,
)
_WRITTEN = re.compile(
    r"\)*\s*(?:\.\s*(?:write|append|setText|text\s*=|bytes\s*=|<<|mkdir|create)\w*|,\s*[\"':]?(?:w|a|write|append)(?=[\"'+b\]),\s])|\s+:direction\s+:output)"
)
_TYPED = re.compile(r"^[ \t]*:![ \t]*([^\n]+)", re.MULTILINE)
"""A command for the dialogue of a language: `:!cmd` of ghci."""
_NETWORK = re.compile(r"[sS]ock(?:et|open)|https?://|\bcurl\b|\bhttp\w*\.|\bdownload\b|gen_tcp|slurp\s+\"http")
_EXECUTES = re.compile(
    r"\beval\b\s*(?:[($]|[A-Za-z]\w*[\s.:(])|\b(?:system|exec|popen|passthru|shell_exec)\s*(?:\(\s*[A-Za-z$]|\$|sprintf\b|\(?\s*[\"'][^\"']*[\"']\.unpack)"
)  # calls that run a value instead of a literal
_LOADS = re.compile(r"\b(?:do|load|include|require)(?:_once)?\s*\(?\s*[\"']$")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|da|k|z)?sh\b")
_DECODES = re.compile(r"base64|decode64|\b(?:un)?pack1?\b|hex2bin|gzinflate|rot13", re.IGNORECASE)
_INPUT = re.compile(r"STDIN|\$<|php://(?:stdin|input)|\b(?:system|exec)\b[^;\n]{0,40}\$_\b", re.IGNORECASE)


def _read(language: str, text: str) -> Code:
    text = _HOME.sub(_home, text)
    runs = [Run(script=match[1]) for match in islice(_TYPED.finditer(text), MAX_LITERALS)]
    writes: list[FileWrite] = []
    starts_processes = _STARTS_PROCESSES.search(text) is not None
    executes = _EXECUTES.search(text) is not None
    seen: set[str] = set()
    loads = False
    for group in _groups(_LITERALS[language], text):
        words = [literal for literal, _, _ in group if literal]
        # Only a parser could distinguish a line from a program with arguments: both are judged.
        if starts_processes and words:
            runs += [Run(script=word.strip("|")) for word in words if " " in word]
            if " " not in words[0]:
                runs.append(Run(words=tuple(words)))
        for literal, start, end in group:
            before, after = text[max(0, start - 100) : start], text[end : end + 100]
            loads = loads or (literal in seen and _LOADS.search(text[max(0, start - 30) : start + 1]) is not None)
            seen.add(literal)
            if _REMOVES.search(before) or _REMOVED.match(after):
                writes.append(FileWrite(literal, removes=True))
            elif _WRITES.search(before) or _WRITTEN.match(after) or literal[:1] == ">":
                writes.append(FileWrite(literal.lstrip("> ")))
    network = _NETWORK.search(text) is not None
    shell = any(_SHELL.match(run.script or run.words[0]) for run in runs)
    if executes and _DECODES.search(text):
        runs.append(DECODED)
    return Code(
        writes=tuple(dict.fromkeys(writes)),
        runs=tuple(dict.fromkeys(runs)),
        network=network,
        runs_network=network and (executes or loads or shell),
        runs_input=executes and _INPUT.search(text) is not None,
        unread="the language is only partly supported",
    )


read_unparsed = partial(_read, "unparsed")
"""Read code with literals in double or single quotes or backticks."""
read_lisp = partial(_read, "lisp")
"""Read code of a Lisp, with literals only in double quotes."""


def _groups(pattern: re.Pattern[str], text: str) -> Iterator[list[tuple[str, int, int]]]:
    """Yield groups of adjacent literals, each with its start and end."""
    group: list[tuple[str, int, int]] = []
    for at, match in enumerate(pattern.finditer(text)):
        if at >= MAX_LITERALS:
            break
        if group and _BETWEEN.fullmatch(text, group[-1][2], match.start()) is None:
            yield group
            group = []
        found = next((part for part in match.groups() if part is not None), "")
        literal = re.sub(r"\\.", lambda escape: unescape(escape[0]), found, flags=re.DOTALL)
        group.append((literal, match.start(), match.end()))
    if group:
        yield group
