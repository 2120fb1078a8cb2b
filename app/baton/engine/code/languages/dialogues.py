"""Read what is typed to a client in a dialogue (a database's, a debugger's, ftp's): the commands that it hands to a shell."""

import re

from baton.engine.code.languages.sed import MAX_COMMANDS
from baton.engine.code.model import Code, Run

_RUNS = re.compile(
    r"^[ \t]*(?:\\?![ \t]*|(?:\.(?:shell|system)|\.?sh|shell|platform shell|system|\\P|pager)[ \t]+)([^\n]+)"
    r"|^[ \t]*(?:\\(?:g|gx|o|w|copy|out|once)|pipe|\.(?:import|once|output|o|excel))\b[^\n|]*\|[ \t]*([^\n]+)"
    r"|\b(?:from|to)[ \t]+program[ \t]+'([^'\n]+)'",
    re.MULTILINE | re.IGNORECASE,
)
"""`\\! cmd` of psql and mysql, `.shell cmd` of sqlite3, `shell cmd` of gdb, `!cmd` of ftp, `\\o |cmd`, `COPY … PROGRAM`."""


def read_dialogue(text: str) -> Code:
    """Read the lines of a dialogue; what they do beside is in a language that is not read."""
    found = [next(filter(None, match.groups())).strip("\"'") for match in _RUNS.finditer(text)]
    return Code(
        runs=tuple(dict.fromkeys(Run(script=command) for command in found[:MAX_COMMANDS])),
        unread="statements" if len(found) <= MAX_COMMANDS else "too many commands",
    )
