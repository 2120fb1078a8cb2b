"""How far a program's write reaches, and where what it copies, moves, unpacks or links comes to lie."""

from collections.abc import Iterator

from baton.engine.call.places import Place, Reach
from baton.engine.shell.model import Program

PROTECTED = frozenset[Place](("baton_home", "hook_settings"))

_COPIES = frozenset({"cp", "mv", "install", "rsync", "scp", "ditto", "git", "ln"})
"""Programs whose target may be a folder that they write into."""
_UNPACKS = frozenset(
    {"tar", "bsdtar", "unzip", "7z", "7za", "7zz", "7zr", "cpio", "pax", "unar", "unrar", "jar", "stow", "chezmoi"}
)
"""Programs that write what an archive, or another folder, names."""
_CHANGES = frozenset({"chmod", "chown", "chgrp", "chattr", "setfacl", "xattr"})
_RECURSIVE = frozenset({"-r", "-R", "-a", "--recursive", "--archive", "-T", "--no-target-directory", "-d"})
_ALWAYS_RECURSIVE = frozenset({"mv", "rsync", "ditto"})
_REPLACES = frozenset({"-n", "-T", "-h", "--no-dereference", "--no-target-directory"})
_LINKS = frozenset({"-l", "--link", "-s", "--symbolic-link"})
_BY_NAME = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex"})
_NAMES = ("claude", "codex", "baton", "settings", "hooks", "config", "*", "?", "[", "$")
"""What a filter of `find` must hold to concern a protected path at all."""


def reach_of(program: Program, target: str) -> Reach:
    """Return how far the program's write to a target reaches."""
    name = program.name
    if name == "find" and _is_filtered(program):
        return "file"
    if "destructive" in program.categories or (name == "mv" and (target in program.operands[:-1] or "{" in target)):
        return "tree"
    if name in _CHANGES:
        return "tree" if program.flags & {"-R", "--recursive"} else "into"
    if name in _UNPACKS:
        return "below"
    # Of a copy, where it lands is known by its sources' names.
    return "into" if name in ("git", "wget") or (name == "ln" and program.flags & _REPLACES) else "file"


def landings(program: Program, target: str) -> Iterator[tuple[str, Reach]]:
    """Yield what the program touches besides its target: the places of copies, and what links would lead to."""
    name = program.name
    if name not in _COPIES or name == "git":
        return
    sources = [word for word in program.operands if word != target]
    if name == "ln" or (name == "cp" and program.flags & _LINKS):
        for source in sources:
            yield source, "tree"
    if name == "mv" and target in program.operands[:-1]:
        return
    whole = name in _ALWAYS_RECURSIVE or bool(program.flags & _RECURSIVE)
    folder = target.rstrip("/")
    for source in sources:
        last = source.rstrip("/").rpartition("/")[2]
        contents = last in ("", ".", "..") or (name == "rsync" and source.endswith("/"))
        if whole and (contents or program.flags & {"-T", "--no-target-directory"}):
            yield target, "below"
        else:
            yield f"{folder}/{last}", "tree" if whole else "file"


def _is_filtered(program: Program) -> bool:
    """Return whether `find` looks for names that none of the protected paths has."""
    argv = program.argv
    patterns = [argv[at + 1].casefold() for at in range(len(argv) - 1) if argv[at] in _BY_NAME]
    plain = [
        pattern.removeprefix("*").removeprefix(".") if pattern.startswith("*.") else pattern for pattern in patterns
    ]
    return bool(plain) and not any(part in pattern for pattern in plain for part in _NAMES)
