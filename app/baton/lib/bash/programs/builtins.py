"""Effects of shell builtins on variables, positional parameters and aliases: `set`, `read` and `printf -v`."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from baton.lib.bash.expansion import outputs
from baton.lib.bash.expansion.scripts import Position
from baton.lib.bash.expansion.values import Alternatives, Unknown, as_value
from baton.lib.bash.expansion.words import Word

_NAME = re.compile(r"[A-Za-z_]\w*\Z")
_READ_OPTIONS = frozenset(["-p", "-d", "-n", "-N", "-t", "-u", "-i"])
_MAPFILE_OPTIONS = frozenset(["-d", "-n", "-O", "-s", "-u", "-c", "-C"])
"""Options with their value in the next argument."""
_MOST_LINES = 64


def _set(argv: list[Word], place: Position, _aliases: dict[str, str]) -> None:
    for at, word in enumerate(argv[1:], 1):
        if word.text in {"--", "-"}:
            place.values.args = tuple([as_value(one) for one in argv[at + 1 :]])
            place.text.give(argv[at + 1 :])
            return
        if word.text[:1] not in {"-", "+"} and argv[at - 1].text not in {"-o", "+o"}:
            place.values.args = tuple([as_value(one) for one in argv[at:]])
            place.text.give(argv[at:])
            return


def _shift(argv: list[Word], place: Position, _aliases: dict[str, str]) -> None:
    args = place.values.args
    count = int(argv[1].text) if len(argv) > 1 and argv[1].text.isdigit() else 1
    if args is not None:
        place.values.args = args[count:]


def _unset(argv: list[Word], place: Position, _aliases: dict[str, str]) -> None:
    if any(word.text == "-n" for word in argv):  # removes a reference, not its target
        return
    for word in argv[1:]:
        if _NAME.match(word.text):
            place.values.set(word.text, ("",), certain=place.certain)


def _read(argv: list[Word], place: Position, _aliases: dict[str, str]) -> None:
    names, array = _names(argv, _READ_OPTIONS)
    lines = _lines(place)
    if lines is None:
        # Only the value's origin is known: `curl … | while read x; do sh -c "$x"` runs a download.
        for name in [array] if array else names or ["REPLY"]:
            place.values.set(name, (Unknown(f"${name}"),))
            _come_from(name, argv, place)
        return
    marks = place.values.get("IFS")
    blanks = marks[0] if len(marks) == 1 and isinstance(marks[0], str) and marks[0].strip() else ""
    split = [re.split(f"[{re.escape(blanks)}]", line) if blanks else line.split() for line in lines[:_MOST_LINES]]
    if array:
        place.values.set(array, tuple([tuple(words) for words in split]))
    elif not names:
        place.values.set("REPLY", tuple(lines[:_MOST_LINES]))
    for index, name in enumerate(names):
        last = index == len(names) - 1
        values = [" ".join(words[index:]) if last else words[index] if index < len(words) else "" for words in split]
        place.values.set(name, tuple(dict.fromkeys(values)))


def _getopts(argv: list[Word], place: Position, _aliases: dict[str, str]) -> None:
    """Any argument, or the rest of a word after an option's letter, may be an option's value."""
    args = place.values.args
    values = () if args is None else (*args, *[one[2:] for one in args if one[:1] == "-" and one[2:]])
    place.values.set("OPTARG", tuple(dict.fromkeys(values[:_MOST_LINES])) or (Unknown("$OPTARG"),))
    if len(argv) > 2:  # noqa: PLR2004 (`getopts ab: name`)
        place.values.set(argv[2].text, (Unknown(f"${argv[2].text}"),))


def _mapfile(argv: list[Word], place: Position, _aliases: dict[str, str]) -> None:
    names, _ = _names(argv, _MAPFILE_OPTIONS)
    lines = _lines(place)
    name = names[-1] if names else "MAPFILE"
    place.values.set(name, (Unknown(f"${{{name}[@]}}"),) if lines is None else (tuple(lines),))
    _come_from(name, argv, place)


def _come_from(name: str, argv: list[Word], place: Position) -> None:
    """Note the programs printing a variable's input: standard input, or the descriptor of `-u`."""
    spans = [] if place.input is None else place.input.all_spans()
    for option, value in pairwise(argv):
        if option.text == "-u":
            spans = place.text.variables.get(f"/dev/fd/{value.text}", [])
    if spans:
        place.text.variables[name] = spans


def _names(argv: list[Word], takes_value: frozenset[str]) -> tuple[list[str], str]:
    names: list[str] = []
    array, at = "", 1
    while at < len(argv):
        text = argv[at].text
        if text == "-a" and at + 1 < len(argv):
            array = argv[at + 1].text
            at += 1
        elif text in takes_value:
            at += 1
        elif text[:1] == "-" and text.endswith("a") and len(text) > 2 and at + 1 < len(argv):  # noqa: PLR2004 (`-ra`)
            array = argv[at + 1].text
            at += 1
        elif _NAME.match(text):
            names.append(text)
        at += 1
    return names, array


def _lines(place: Position) -> list[str] | None:
    source = place.input.script if place.input is not None else None
    text = outputs.known_text(source) if source is not None else None
    return None if text is None else [line.strip() for line in text.strip("\n ").split("\n")]


def _printf(argv: list[Word], place: Position, _aliases: dict[str, str]) -> None:
    if len(argv) > 3 and argv[1].text == "-v":  # noqa: PLR2004 (`printf -v name format`)
        name = argv[2].text
        dynamic = any(word.dynamic for word in argv[3:])
        text = outputs.printf(argv[3].text, [word.text for word in argv[4:]])
        value: Alternatives = (Unknown(text) if dynamic else text,)
        place.text.variables[name.partition("[")[0]] = [span for word in argv[3:] for span in word.spans]
        if "[" in name:
            name, _, index = name.partition("[")
            place.values.set(f"{name}[{index}", value)
            value = ((str(value[0]),),) if index == "0]" else (Unknown(f"${{{name}[@]}}"),)
        place.values.set(name, value, certain=place.certain)


def _alias(argv: list[Word], _place: Position, aliases: dict[str, str]) -> None:
    for word in argv[1:]:
        name, equals, value = word.text.partition("=")
        if equals and name:
            aliases[name] = value


def _hash(argv: Sequence[Word], _place: Position, aliases: dict[str, str]) -> None:
    if len(argv) > 3 and argv[1].text == "-p":  # noqa: PLR2004 (`hash -p path name`)
        aliases[argv[3].text] = argv[2].text


SETTERS: dict[str, Callable[[list[Word], Position, dict[str, str]], None]] = {
    "set": _set, "shift": _shift, "unset": _unset, "read": _read, "getopts": _getopts, "mapfile": _mapfile,
    "readarray": _mapfile, "printf": _printf, "alias": _alias, "hash": _hash,
}  # fmt: skip


def apply(name: str, argv: list[Word], place: Position, aliases: dict[str, str], assigns: Sequence[str] = ()) -> None:
    """Apply a builtin; `assigns` are the variables before it (`IFS=, read a b`)."""
    marks = next((text[4:] for text in assigns if text.startswith("IFS=")), None)
    before = place.values.get("IFS")
    if marks is not None:
        place.values.set("IFS", (marks,))
    SETTERS[name](argv, place, aliases)
    if marks is not None:
        place.values.set("IFS", before)
