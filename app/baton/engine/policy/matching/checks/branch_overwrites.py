"""Find the branches that a program overwrites or deletes on a remote: forced pushes, deletions, and the forges' API."""

import re
from collections.abc import Callable, Iterator

from baton.engine.call.places.places import spellings
from baton.engine.shell.model import Program
from baton.engine.text.globs import any_of

_PUSHES = frozenset({"push", "send-pack"})
_FORCE = frozenset({"-f", "--force", "--force-with-lease"})
_DRY = frozenset({"-n", "--dry-run"})
_DELETE = frozenset({"-d", "--delete"})
_ALL = frozenset({"--all", "--branches"})
_CURRENT = frozenset({"HEAD", "@", "head"})
_REFS = re.compile(
    r"(?:.*/)?git/refs?/heads/(?P<ref>[^?#]+)|(?:.*/)?repository/branches/(?P<branch>[^?#/]+)", re.DOTALL
)
_EXPANSION = re.compile(r"\$\{[^}]*\}|\$\(.*\)|\$\w+|\$.|`[^`]*`", re.DOTALL)
_NO_PLUS = re.compile(r"\$(?:\w|\{[^}+]*\}|\(git (?:branch|describe|rev-parse|symbolic-ref)\b[^+;&|`$]*\))")
"""An expansion that scripts push every day (`git push origin "$TAG"`), and that shows no `+`."""
_WRITES = frozenset({"DELETE", "PATCH", "POST", "PUT"})


def overwritten(program: Program) -> Iterator[str]:
    r"""Yield the names, or globs over names, of the branches that a program overwrites or deletes on a remote.

    An expansion stands as `*` between two NUL characters: which branch it is cannot be told. `\0*\0` alone is the branch
    that is checked out, or any.
    """
    if program.name in {"git", "hub"} and program.subcommand in _PUSHES:
        yield from _pushed(program)
    elif (program.name in {"gh", "glab", "hub"} and program.subcommand == "api") or program.name in {
        "curl",
        "http",
        "xh",
    }:
        yield from _by_api(program)


def test(patterns: list[str], *, named: bool) -> Callable[[Program], bool]:
    """Compile whether a program overwrites one of these branches, or with `named` False, whether it may."""
    holds = any_of(patterns)

    def overwrites(program: Program) -> bool:
        for branch in overwritten(program):
            told = "\0" not in branch
            if told is named and _meet(branch.replace("\0", ""), patterns, holds):
                return True
        return False

    return overwrites


def _meet(branch: str, patterns: list[str], holds: Callable[[str], bool]) -> bool:
    """Return whether a branch, or any that its glob covers, can be one of the patterns'."""
    if not _is_glob(branch):
        return holds(branch)
    covers = any_of([branch])
    return any(covers(one) if not _is_glob(one) else _overlap(branch, one) for one in patterns)


def _overlap(left: str, right: str) -> bool:
    """Return whether two globs can cover the same name, by the text ahead of their first wildcard."""
    one, other = (re.split(r"[*?\[]", text, maxsplit=1)[0] for text in (left, right))
    return one.startswith(other) or other.startswith(one)


def _is_glob(text: str) -> bool:
    return any(letter in text for letter in "*?[")


def _pushed(program: Program) -> Iterator[str]:
    flags = program.flags
    if flags & _DRY:
        return
    forced = bool(flags & _FORCE) or any(flag.startswith("--force-with-lease=") for flag in flags)
    deletes = bool(flags & _DELETE)
    first = 0 if "--repo" in flags else 1  # ahead of the refspecs stands the remote
    specs = [one for operand in program.operands[first:] for one in spellings(operand)]
    if "--mirror" in flags or (forced and flags & _ALL):
        yield "*"
    elif "--prune" in flags or (forced and not specs and "--tags" not in flags):
        yield "\0*\0"
    for spec in specs:
        branch = _overwritten_by(spec, forced=forced, deletes=deletes)
        if branch:
            yield branch


def _overwritten_by(spec: str, *, forced: bool, deletes: bool) -> str:
    """Return the branch that a refspec overwrites or deletes, "" for none."""
    text = _EXPANSION.sub("\0*\0", spec)
    # Of `$(…)` not even a leading `+` is known.
    forced = forced or text.startswith("+") or (text.startswith("\0") and not _NO_PLUS.match(spec))
    source, colon, target = text.removeprefix("+").partition(":")
    if not (forced or deletes or (colon and not source and target)):
        return ""
    if not target:
        if colon and not source:  # `:` pushes every branch that the remote has too
            return "*"
        target = source
    if target in _CURRENT:
        return "\0*\0"
    if target.startswith(("refs/tags/", "tags/", "refs/notes/")):
        return ""
    return target.removeprefix("refs/").removeprefix("heads/")


def _by_api(program: Program) -> Iterator[str]:
    words = program.argv[1:]
    method = ""
    for index, word in enumerate(words):
        if word in {"-X", "--method", "--request"} and index + 1 < len(words):
            method = words[index + 1].upper()
        elif word.startswith(("-X", "--method=", "--request=")):
            method = re.sub(r"^(?:-X|--method=|--request=)", "", word).upper()
        elif word.upper() in _WRITES:
            method = word.upper()
    if method not in _WRITES:
        return
    # Moving a ref is forced only if the body says so; what is read from elsewhere may.
    forced = method == "DELETE" or any(
        "force" in word or "$" in word or word in {"--input", "-d", "--data", "-T"} for word in words
    )
    for word in words if forced else ():
        found = _REFS.match(word)
        if found:
            name = found["ref"] or found["branch"]
            yield _EXPANSION.sub("\0*\0", name.replace("%2F", "/").replace("%2f", "/").rstrip("/"))
