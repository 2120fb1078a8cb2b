"""The arguments that one program gives another: positional parameters of a script, and what `xargs` reads."""

from collections.abc import Iterator

from baton.engine.shell.expansion.scripts import Position
from baton.engine.shell.expansion.values import Unknown, Values, as_value
from baton.engine.shell.expansion.words import EXPANSION, QUOTED, Word
from baton.engine.shell.tables.classify import Invocation
from baton.engine.shell.tables.unwrap import RunTargets

_REPLACES = ("-I", "-J", "-i", "--replace")
FROM_FILE = frozenset(["-a", "--arg-file"])
_MOST_LINES = 16
_NULL = frozenset(["-0", "--null"])
_LISTS = frozenset([":::", ":::+"])


def given(use: Invocation, runs: RunTargets) -> tuple[str, ...] | None:
    """Return the positional parameters that a shell gives its script; None for a program that gives none."""
    words = use.words
    if runs.file is not None:
        file_at = next((index for index, word in enumerate(words) if word is runs.file), len(words))
        return tuple([as_value(word) for word in words[file_at + 1 :]])
    if runs.stdin == "script":
        return tuple([as_value(words[at]) for at in use.operands if words[at].text not in {"-", "/dev/stdin"}])
    at = _script_at(use, runs)
    return None if at is None else tuple([as_value(word) for word in words[at + 2 :]])


def give(use: Invocation, runs: RunTargets, here: Position) -> None:
    """Set the variables and positional parameters of what a program runs."""
    args = given(use, runs)
    if args is None and not use.assigns and not any(assigns for _, assigns in runs.commands):
        return
    here.values = Values(here.values, args=args)
    if (name := own_name(use, runs)) is not None:
        here.values.set("0", (name,))
    for text in (*use.assigns, *[one for _, assigns in runs.commands for one in assigns]):
        name, equals, value = text.partition("=")
        if equals:
            here.values.set(name, (Unknown(value) if "$" in value or "`" in value else value,))


def own_name(use: Invocation, runs: RunTargets) -> str | None:
    """Return what `$0` stands for in the script of `sh -c`; None where nothing is given for it."""
    at = _script_at(use, runs)
    return as_value(use.words[at + 1]) if at is not None and at + 1 < len(use.words) else None


def _script_at(use: Invocation, runs: RunTargets) -> int | None:
    """Return the index of the script that a shell is given in one word."""
    script = runs.scripts[0][0] if len(runs.scripts) == 1 and len(runs.scripts[0]) == 1 else None
    if script is None or use.name not in {"bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "busybox", "rbash"}:
        return None
    return next((index for index, word in enumerate(use.words) if word is script), len(use.words))


def from_input(use: Invocation, argv: list[Word], text: str | None) -> Iterator[list[Word]]:
    """Yield the commands that `xargs` or `parallel` makes of its input, or of what stands behind `:::`."""
    mark = next((index for index, word in enumerate(argv) if word.text in _LISTS), -1)
    token = _token(use)
    if mark >= 0:
        lines = [word.text for word in argv[mark + 1 :] if word.text not in _LISTS][:_MOST_LINES]
        argv = argv[:mark]
    elif text is None:
        # What is put into the place of the program is not known.
        if token and argv and token in argv[0].text:
            yield [_unknown(argv[0]), *argv[1:]]
        return
    elif token or use.name == "parallel":
        lines = [line.strip() for line in text.replace("\0", "\n").split("\n") if line.strip()][:_MOST_LINES]
    else:
        pieces = text.strip("\n").split("\0") if _NULL & use.flags else text.replace("\0", " ").split()
        yield [*argv, *[Word(piece) for piece in pieces if piece]]
        return
    token = token or ("{}" if use.name in {"parallel", "sem"} else "")
    for line in lines:
        if any(token in word.text for word in argv):
            yield [Word(word.text.replace(token, line)) if token in word.text else word for word in argv]
        else:
            yield [*argv, Word(line)]


def _token(use: Invocation) -> str:
    for option, value in use.values:
        if option in _REPLACES:
            return value
    return "{}" if not use.flags.isdisjoint(_REPLACES) else ""


def _unknown(word: Word) -> Word:
    found = Word("$" + word.text)
    found.parts, found.dynamic = [(found.text, EXPANSION)], True
    return found


def starts_itself(argv: list[Word], place: Position) -> bool:
    """Return whether a script starts itself once more (`exec su-exec app "$0" "$@"`), with arguments and input of its own."""
    return (
        [word.text for word in argv] == ["$0", "$@"]
        and all(kind & QUOTED for word in argv for _, kind in word.parts)
        and place.input is None
        and place.values.args is None
    )
