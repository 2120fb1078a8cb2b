"""Compile globs (`*`, `**`, `?`, `[…]`) into matchers that take linear time."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import re2

Match = Callable[[str], bool]

_SPECIAL = re.compile(r"[*?\[]")
_EXTENDED = re.compile(r"[@!+*?]\([^()]*\)")
"""Bash's extended globs, such as `@(a|b)`; what they match is not read, so each may match anything."""
_WILD = re.compile(r"\*+/?|\?|\[.[^\]]*\]")
"""What stands for other text. `**/` may stand for none at all, so the slash behind a star is not literal."""


def is_glob(text: str) -> bool:
    """Return whether a pattern is more than a literal."""
    return _SPECIAL.search(text) is not None


def literal_parts(glob: str) -> list[str]:
    """Return the texts that every text has which the glob matches; some may be empty."""
    return _WILD.split(glob)


def any_of(patterns: Iterable[str]) -> Match:
    """Return a matcher of whole texts against any of the globs; `*` matches slashes too. Raise ValueError."""
    return _build(tuple(patterns), ".*")


def any_path(patterns: Iterable[str]) -> Match:
    """Return a matcher of whole paths against any of the globs; `*` stays within a folder. Raise ValueError."""
    return _build(tuple(patterns), "[^/]*")


@lru_cache(maxsize=1024)
def name_in_shell(name: str) -> Match:
    """Return a matcher of a folder's name as a shell matches it: a wildcard at the start takes no leading dot."""
    pattern = _EXTENDED.sub("*", name)
    hidden = not pattern.startswith(("*", "?"))
    try:
        match = any_path([pattern.replace("**", "*").replace("[^", "[!")])
    except ValueError:  # a bracket that is never closed is a letter
        return lambda wanted: wanted == name
    return lambda wanted: (hidden or not wanted.startswith(".")) and match(wanted)


def translate(glob: str, star: str) -> str:
    """Return a glob as an RE2 expression without anchors; `star` is what a single `*` becomes. Raise ValueError."""
    out: list[str] = []
    at = 0
    while at < len(glob):
        char = glob[at]
        if glob.startswith("**/", at):
            out.append("(?:.*/)?")
            at += 3
        elif glob.startswith("**", at):
            out.append(".*")
            at += 2
        elif char == "*":
            out.append(star)
            at += 1
        elif char == "?":
            out.append("." if star == ".*" else "[^/]")
            at += 1
        elif char == "[":
            # A `]` that comes first is one of the characters, as in a shell.
            end = glob.find("]", at + 2)
            if end < 0:
                raise ValueError(f"`{glob}`: `[` is never closed; allowed: `[abc]`, `[!a-z]`")
            body = glob[at + 1 : end].replace("\\", r"\\")
            out.append("[" + ("^" + body[1:] if body.startswith("!") else body) + "]")
            at = end + 1
        else:
            out.append(re.escape(char))
            at += 1
    return "".join(out)


def _simple(glob: str) -> Match | None:
    """Return a plain text search for a glob with stars only at its ends: ten times faster than RE2."""
    inner = glob.strip("*")
    if is_glob(inner) or not inner:
        return None
    if glob.startswith("*"):
        return (lambda text: inner in text) if glob.endswith("*") else (lambda text: text.endswith(inner))
    return lambda text: text.startswith(inner)


def _build(patterns: tuple[str, ...], star: str) -> Match:
    literals = frozenset(p for p in patterns if not is_glob(p))
    globs = [p for p in patterns if is_glob(p)]
    if not globs:
        return literals.__contains__
    tests: list[Match] = []
    # Where a star may cross a `/`, most globs are a plain search at one end or in the middle; the rest go to RE2 in one
    # pattern, which reads the text once for all of them.
    if star == ".*":
        if any(not g.strip("*") for g in globs):
            return lambda _text: True
        tests = [simple for g in globs if (simple := _simple(g))]
        globs = [g for g in globs if _simple(g) is None]
    if globs:
        test = _regex("|".join(translate(g, star) for g in globs))
        # What all of them hold is looked for first: most texts have none of it, and RE2 costs ten times as much.
        needle = _common_text(globs) if star == ".*" else ""
        tests.append((lambda text: needle in text and test(text)) if needle else test)
    return lambda text: text in literals or any(test(text) for test in tests)


def _common_text(globs: list[str]) -> str:
    """Return the longest literal part that all globs have, "" if there is none."""
    parts = [set(literal_parts(glob)) for glob in globs]
    return max(set.intersection(*parts), key=len, default="")


def _regex(expression: str) -> Match:
    options = re2.Options()
    options.dot_nl = True
    options.log_errors = False
    try:
        full = re2.compile(f"(?:{expression})", options).fullmatch
    except re2.error as error:
        detail = error.args[0]
        text = detail.decode() if isinstance(detail, bytes) else str(detail)
        raise ValueError(f"a pattern that RE2 refuses: {text}") from error

    def match(text: str) -> bool:
        try:
            return full(text) is not None
        except UnicodeEncodeError:
            return full(text.encode("utf-8", "replace").decode()) is not None

    return match
