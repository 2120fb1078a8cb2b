"""Arguments between programs: positional parameters of a script, and the input of `xargs`."""

import posixpath
import re
from collections.abc import Iterator

from baton.lib.bash.expansion.scripts import Position, StdinSource
from baton.lib.bash.expansion.values import Unknown, Values, as_value
from baton.lib.bash.expansion.words import EXPANSION, QUOTED, Word
from baton.lib.bash.model import SOMEWHERE
from baton.lib.bash.tables.classify import Invocation
from baton.lib.bash.tables.unwrap import RunTargets

_REPLACES = ("-I", "-J", "-i", "--replace")
FROM_FILE = frozenset(["-a", "--arg-file"])
_MOST_LINES = 16
_NULL = frozenset(["-0", "--null"])
_LISTS = frozenset([":::", ":::+", "::::", "::::+"])
FILE_LISTS = frozenset(["::::", "::::+"])
_PLACES = re.compile(r"\{\d*(?:[./+]{0,3}|#|%)\}|\{=.*?=\}")
"""Placeholders of `parallel` for an argument, or a part of it."""


def given(use: Invocation, runs: RunTargets) -> list[Word] | None:
    """Return a script's positional parameters; None for a program without them."""
    words = use.words
    if runs.file is not None:
        file_at = next((index for index, word in enumerate(words) if word is runs.file), len(words))
        return words[file_at + 1 :]
    if runs.stdin == "script":
        return [words[at] for at in use.operands if words[at].text not in {"-", "/dev/stdin"}]
    at = _script_at(use, runs)
    return None if at is None else words[at + 2 :]


def give(use: Invocation, runs: RunTargets, here: Position) -> None:
    """Set the variables and positional parameters of a program's command or script."""
    words = given(use, runs)
    args = None if words is None else tuple([as_value(word) for word in words])
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
    """Return `$0` in the script of `sh -c`, or None."""
    at = _script_at(use, runs)
    return as_value(use.words[at + 1]) if at is not None and at + 1 < len(use.words) else None


def _script_at(use: Invocation, runs: RunTargets) -> int | None:
    script = runs.scripts[0][0] if len(runs.scripts) == 1 and len(runs.scripts[0]) == 1 else None
    if script is None or use.name not in {"bash", "sh", "dash", "zsh", "ksh", "ash", "mksh", "busybox", "rbash"}:
        return None
    return next((index for index, word in enumerate(use.words) if word is script), len(use.words))


def from_input(use: Invocation, argv: list[Word], text: str | None) -> Iterator[list[Word]]:
    """Yield the commands of `xargs` or `parallel`, from its input or the words after `:::`."""
    mark = next((index for index, word in enumerate(argv) if word.text in _LISTS), len(argv))
    listed = [] if mark < len(argv) and argv[mark].text in FILE_LISTS else argv[mark + 1 :]
    argv = argv[:mark]
    own = token(use)
    parallel = use.name in {"parallel", "sem"}
    if listed:
        lines = [word.text for word in listed if word.text not in _LISTS][:_MOST_LINES]
    elif text is None:
        # The program's replacement is unknown.
        if own and argv and own in argv[0].text:
            yield [_unknown(argv[0]), *argv[1:]]
        return
    elif own or parallel:
        lines = [line.strip() for line in text.replace("\0", "\n").split("\n") if line.strip()][:_MOST_LINES]
    else:
        pieces = text.strip("\n").split("\0") if _NULL & use.flags else text.replace("\0", " ").split()
        yield [*argv, *[Word(piece) for piece in pieces if piece]]
        return
    places = re.compile(re.escape(own)) if own else _PLACES if parallel else None
    for line in lines:
        put = [word if places is None else _put(word, places, line) for word in argv]
        yield put if any(new is not old for new, old in zip(put, argv, strict=True)) else [*argv, Word(line)]


def _put(word: Word, places: re.Pattern[str], line: str) -> Word:
    """Return a word with its placeholders filled; `{//}` is the argument's folder."""
    made = places.sub(lambda found: posixpath.dirname(line) if "//" in found[0] else line, word.text)
    return word if made == word.text else Word(made)


def token(use: Invocation) -> str:
    """Return the placeholder of `xargs` for an argument; "" if it appends them."""
    for option, value in use.values:
        if option in _REPLACES:
            return value
    return "{}" if not use.flags.isdisjoint(_REPLACES) else ""


def from_programs(source: StdinSource) -> Word:
    """Return a word for the arguments of `xargs` from an unknown input."""
    word = Word(SOMEWHERE)
    word.dynamic, word.spans = True, source.all_spans()
    return word


def _unknown(word: Word) -> Word:
    found = Word("$" + word.text)
    found.parts, found.dynamic = [(found.text, EXPANSION)], True
    return found


def starts_itself(argv: list[Word], place: Position) -> bool:
    """Return whether a script restarts itself (`exec su-exec app "$0" "$@"`) with its own arguments and input."""
    return (
        [word.text for word in argv] == ["$0", "$@"]
        and all(kind & QUOTED for word in argv for _, kind in word.parts)
        and place.input is None
        and place.values.args is None
    )
