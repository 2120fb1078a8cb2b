"""Compile globs (`*`, `**`, `?`, `[…]`) into matchers that take linear time."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache

import re2

Match = Callable[[str], bool]

_SPECIAL = re.compile(r"[*?\[]")
_WILD = re.compile(r"\*+/?|\?|\[.[^\]]*\]")
"""Wildcards. `**/` may match nothing, so the slash after a star is not literal."""


def is_glob(text: str) -> bool:
    """Return whether a pattern contains wildcards."""
    return _SPECIAL.search(text) is not None


def literal_parts(glob: str) -> list[str]:
    """Return the literal substrings of every match of a glob; some may be empty."""
    return _WILD.split(glob)


def any_of(patterns: Iterable[str]) -> Match:
    """Return a matcher of whole strings against any of the globs; `*` matches slashes too. Raise ValueError."""
    return _build(tuple(patterns), ".*")


def any_path(patterns: Iterable[str]) -> Match:
    """Return a matcher of whole paths against any of the globs; `*` stays within a folder. Raise ValueError."""
    return _build(tuple(patterns), "[^/]*")


def fits_name(glob: str, name: str) -> bool:
    """Return whether a shell glob matches a folder name, in linear time; a leading wildcard does not match a dot.

    Each extended glob of Bash (`@(a|b)`) may match anything, up to the last closing parenthesis.
    """
    at, size, places = 0, len(name), _places(name)
    parenthesis, bracket, every = glob.rfind(")"), glob.rfind("]"), (2 << size) - 1
    # `@(.a|b)` names a hidden file by its dot.
    names_dot = glob[1:2] == "(" and "." in glob[: parenthesis + 1]
    if name.startswith(".") and glob.startswith(("*", "?", "@(", "!(", "+(")) and not names_dot:
        return False
    here = 1  # bit n: the glob so far matches the first n characters
    while here and at < len(glob):
        char = glob[at]
        is_extended = char in "@!+*?" and glob.startswith("(", at + 1) and at < parenthesis
        if is_extended or char == "*":
            here = every & -(here & -here)
            at = parenthesis if is_extended else at
        elif char == "?":
            here = here << 1 & every
        elif char == "[" and (first := at + 1 + glob.startswith(("!", "^"), at + 1)) < bracket:
            # A leading `]` is one of the characters.
            end = glob.find("]", first + 1)
            body = glob[at + 1 : end]
            if body.startswith("[:"):  # `[[:alpha:]]`
                here = here << 1 & every
                end += glob.startswith("]", end + 1)
            else:
                fitting = [bits for letter, bits in places.items() if _in_brackets(letter, body)]
                here = (here & sum(fitting)) << 1
            at = end
        else:
            here = (here & places.get(char, 0)) << 1
        at += 1
    return here >> size & 1 == 1


@lru_cache(maxsize=1024)
def _places(name: str) -> dict[str, int]:
    return {char: sum(1 << at for at, one in enumerate(name) if one == char) for char in name}


def _in_brackets(char: str, body: str) -> bool:
    wanted = body.removeprefix("!").removeprefix("^")
    at, found = 0, False
    while at < len(wanted) and not found:
        is_range = wanted[at + 1 : at + 2] == "-" and at + 2 < len(wanted)
        found = wanted[at] <= char <= wanted[at + 2] if is_range else wanted[at] == char
        at += 3 if is_range else 1
    return found == (wanted == body)


def translate(glob: str, star: str) -> str:
    """Return a glob as an RE2 expression without anchors; `star` replaces a single `*`. Raise ValueError."""
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
            # A leading `]` is one of the characters, as in a shell.
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


def _build(patterns: tuple[str, ...], star: str) -> Match:
    literals = frozenset(p for p in patterns if not is_glob(p))
    globs = [p for p in patterns if is_glob(p)]
    if not globs:
        return literals.__contains__
    if star != ".*":
        test = _regex("|".join(translate(g, star) for g in globs))
        hint = re.compile("|".join(map(re.escape, sorted(_needles(globs))))).search
        return lambda text: text in literals or (hint(text) is not None and test(text))
    if any(not g.strip("*") for g in globs):
        return lambda _text: True
    return _by_searches(literals, globs)


def _by_searches(literals: frozenset[str], globs: list[str]) -> Match:
    """Compile globs whose `*` matches slashes.

    Most are a search for a prefix, suffix or substring: ten times faster than RE2. The rest become one RE2 pattern, so one
    pass reads the string.
    """
    simple = [g for g in globs if not is_glob(g.strip("*"))]
    starts = tuple([g.strip("*") for g in simple if not g.startswith("*")])
    ends = tuple([g.strip("*") for g in simple if not g.endswith("*")])
    parts = tuple([g.strip("*") for g in simple if g.startswith("*") and g.endswith("*")])
    others = [g for g in globs if g not in simple]
    rest = _regex("|".join(translate(g, ".*") for g in others)) if others else None
    needles = _needles(others)

    def match(text: str) -> bool:
        if text in literals or text.startswith(starts) or text.endswith(ends):
            return True
        for part in parts:  # a generator costs more than the searches
            if part in text:
                return True
        if rest is not None:
            for needle in needles:
                if needle in text:
                    return rest(text)
        return False

    return match


def _needles(globs: list[str]) -> tuple[str, ...]:
    """Return texts, one of them in every match of the globs: most strings lack them, and RE2 costs more than the search."""
    parts = [set(literal_parts(glob)) for glob in globs]
    common = max(set.intersection(*parts), key=len, default="") if parts else ""
    needles = {common} if common else {max(one, key=len) for one in parts}
    return tuple([one for one in needles if not any(other in one for other in needles - {one})])


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
