"""Effects of code: written files, commands, network use."""

import re

import msgspec

LANGUAGES = (
    "awk", "dialogue", "ed", "javascript", "justfile", "lisp", "lua", "makefile", "package.json", "perl", "php",
    "python", "r", "ruby", "sed", "tcl", "applescript", "powershell", "powershell-arguments", "cmd", "cmd-arguments",
    "unparsed",
)  # fmt: skip

_MARK = "\ua66e"  # a letter in every grammar, both in strings and names; real code does not contain it
UNKNOWN = f"{_MARK}UNKNOWN{_MARK}"  # placeholder in a string for an unknown part
_MARKED = re.compile(f"{_MARK}(\\w*?){_MARK}")


def variable(name: str) -> str:
    """Return the placeholder for the value of an environment variable."""
    return f"{_MARK}{name}{_MARK}"


def is_known(text: str) -> bool:
    """Return whether a string has no unknown part."""
    return _MARK not in text


def as_written(text: str) -> str:
    """Return a string in shell spelling: `$UNKNOWN`, `$HOME`."""
    return _MARKED.sub(r"$\1", text).replace(_MARK, "") if _MARK in text else text


def split(text: str) -> list[tuple[str, bool]]:
    """Return the pieces of a string in order, each with a flag for variables (`$HOME`)."""
    return [(f"${piece}" if at % 2 else piece, bool(at % 2)) for at, piece in enumerate(_MARKED.split(text)) if piece]


class FileWrite(msgspec.Struct, frozen=True):
    """A path created, changed or removed. `path` may contain `UNKNOWN`; `removes` is True for a removal."""

    path: str
    removes: bool = False


class Run(msgspec.Struct, frozen=True):
    """A command, as shell text (`script`) or as an argument list (`words`), in `folder` ("" for its own).

    `fed`: its standard input is a download of the code.
    """

    script: str = ""
    words: tuple[str, ...] = ()
    folder: str = ""
    fed: bool = False


DECODED = Run(script="base64 -d | sh")  # represents decoded text run as code or as shell text


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The effects of a string, as far as known.

    `destroys` is True if it throws stored data away: `DROP TABLE`. `reads` are the files that it reads by name, and the patterns of files that it looks for. `runs_network` is True if what comes from the network is executed: a download in `exec`, a shell on a socket.
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
    destroys: bool = False
    unread: str = ""
