"""Find paths that begin with a variable which may be empty: `rm -rf "$DIR"/*` is then `rm -rf /*`."""

import re
from functools import lru_cache

_FIRST = re.compile(r"\$(?:\{(\w+)\}|(\w+))(/.*)", re.DOTALL)
_SETS = re.compile(r"\b(\w+)\+?=|\b(?:for|select)\s+(\w+)|\b(?:read|getopts|mapfile|readarray)\b([^;|&\n]{0,200})")
_WORDS = re.compile(r"\w+")
_ALWAYS_SET = frozenset(
    [
        "HOME",
        "PWD",
        "OLDPWD",
        "TMPDIR",
        "TEMP",
        "TMP",
        "USER",
        "LOGNAME",
        "RUNNER_TEMP",
        "RUNNER_TOOL_CACHE",
        "GITHUB_WORKSPACE",
        "CI_PROJECT_DIR",
        "WORKSPACE",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
        "CARGO_TARGET_DIR",
        "GOPATH",
        "GOCACHE",
        "XDG_CACHE_HOME",
        "XDG_RUNTIME_DIR",
        "CLAUDE_PROJECT_DIR",
    ]
)
"""Variables that a session has where a line may use them at all."""


def behind_unset(target: str, line: str) -> str:
    """Return what follows a variable at the start of a path that the line does not set; "" for another path.

    Args:
        target: The path as written. A variable with a default or a check (`${DIR:?}`) is never empty.
        line: The shell line as written. Arguments of functions and scripts (`$1`) are taken to be given.
    """
    found = _FIRST.match(target)
    if found is None:
        return ""
    name = found[1] or found[2]
    if name in _ALWAYS_SET or name.isdigit() or name in _set_by(line):
        return ""
    return found[3]


@lru_cache(maxsize=256)
def _set_by(line: str) -> frozenset[str]:
    """Return the names that a line may set. Many targets of one line ask for them, so it is searched once."""
    names = _SETS.findall(line)
    return frozenset(
        [name for found in names for name in found[:2] if name] + _WORDS.findall(" ".join(one[2] for one in names))
    )
