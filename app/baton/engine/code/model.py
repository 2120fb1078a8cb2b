"""What a text of code does: the files it writes, the commands it runs, and whether it uses the network."""

import re

import msgspec

LANGUAGES = (
    "awk",
    "dialogue",
    "ed",
    "javascript",
    "justfile",
    "lisp",
    "lua",
    "makefile",
    "package.json",
    "perl",
    "php",
    "python",
    "r",
    "ruby",
    "sed",
    "tcl",
    "applescript",
    "powershell",
    "powershell-arguments",
    "cmd",
    "cmd-arguments",
    "unparsed",
)

_MARK = "\ua66e"  # a letter to every grammar, in a string as in a name; no code is written with it
UNKNOWN = f"{_MARK}UNKNOWN{_MARK}"
"""Stands in a text for a part whose value is not known."""
_MARKED = re.compile(f"{_MARK}(\\w*?){_MARK}")


def variable(name: str) -> str:
    """Return what stands in a text for the value of an environment variable."""
    return f"{_MARK}{name}{_MARK}"


def is_known(text: str) -> bool:
    """Return whether a text has no part whose value is not known."""
    return _MARK not in text


def as_written(text: str) -> str:
    """Return a text as a shell would write it: `$UNKNOWN`, `$HOME`."""
    return _MARKED.sub(r"$\1", text).replace(_MARK, "") if _MARK in text else text


def split(text: str) -> list[tuple[str, bool]]:
    """Return the pieces of a text in their order, each with whether it is a variable (`$HOME`)."""
    return [(f"${piece}" if at % 2 else piece, bool(at % 2)) for at, piece in enumerate(_MARKED.split(text)) if piece]


class FileWrite(msgspec.Struct, frozen=True):
    """A path that is created, changed or removed. `path` may have `UNKNOWN` in it; `removes` is True for a removal."""

    path: str
    removes: bool = False


class Run(msgspec.Struct, frozen=True):
    """A command that is run, as shell text (`script`) or as an argument list (`words`), in `folder` ("" if its own).

    `fed` is True if its standard input is what the text downloads.
    """

    script: str = ""
    words: tuple[str, ...] = ()
    folder: str = ""
    fed: bool = False


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """What a text does, as far as it can be told.

    `reads` are the files that it reads by name, and the patterns of files that it looks for. `runs_network` is True if what comes from the network is executed: a download in `exec`, a shell on a socket.
    `runs_input` is True if standard input is executed as code, `forks_without_end` if it is a fork bomb.
    `unread` is "" if the whole text is known to do nothing else; otherwise it says what cannot be told.
    """

    writes: tuple[FileWrite, ...] = ()
    reads: tuple[str, ...] = ()
    runs: tuple[Run, ...] = ()
    network: bool = False
    runs_network: bool = False
    runs_input: bool = False
    forks_without_end: bool = False
    unread: str = ""
