"""Find the commands, scripts and input run by a program, by the `runs` of the shell tables."""

import re
from collections.abc import Callable

import msgspec

from baton.lib.bash.expansion.words import Word
from baton.lib.bash.tables.classify import Invocation
from baton.lib.bash.tables.tables import Way

_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")
_BUNDLE = re.compile(r"-[A-Za-z]*\Z")
_OPERANDS = {"first": slice(0, 1), "second": slice(1, 2), "operands": slice(None)}
_FILE_OF_ASSIGNMENTS = re.compile(r"\$\((?:<|(?:cat|grep|egrep|sed|xargs|awk|tr|cut)\b)[^$`;&()]*\.env\b[^$`;&()]*\)\Z")
"""The words of a file named `.env`, as lines of `NAME=value`."""
_STDIN_FILES = frozenset(["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"])


class RunTargets(msgspec.Struct, frozen=True):
    """What a program runs: commands (words and assignments), scripts (words to be joined), a script file, or its input.

    `stdin` is the use of its standard input: "script" (shell text), a language (code), "other" (a script in an unread
    language), "crontab" (a table with lines ending in shell text), "" (data). `code` are the words of a string in
    `language`, one for each `-e`.
    """

    commands: tuple[tuple[list[Word], tuple[str, ...]], ...] = ()
    scripts: tuple[list[Word], ...] = ()
    stdin: str = ""
    file: Word | None = None
    code: tuple[Word, ...] = ()
    language: str = ""


NOTHING = RunTargets()


def find_targets(use: Invocation) -> RunTargets:
    """Try the program's ways to run something in order; the first match counts."""
    for way in use.runs:
        for name, apply in _APPLY.items():
            if getattr(way, name) is not None:
                found = apply(way, use)
                if found is not None:
                    return found
    return NOTHING


def _command(way: Way, use: Invocation) -> RunTargets | None:
    operands = use.operands
    skip = way.command or 0
    if way.program:
        first = operands[skip - 1] + 1 if skip and len(operands) >= skip else min(operands, default=len(use.words))
        return _arguments_of(way, use, use.words[first:])
    if len(operands) <= skip:
        return None
    at, assigns = _assignments(way, use, operands[skip])
    if at >= len(use.words):
        return None
    if _is_text(use.words[at:]):
        return RunTargets(scripts=(use.words[at:],))
    commands = [(use.words[at:], assigns)]
    # `env $vars cmd`: the expansion may be assignments or empty, so the command may start after it.
    if way.assignments == "expanded" and _expansion(use.words[at]):
        while at < len(use.words) and (_expansion(use.words[at]) or _ASSIGNMENT.match(use.words[at].text)):
            at += 1
        if at < len(use.words):
            # `env $(grep -v '^#' .env | xargs) npm start`: the content of a file of assignments is not a program.
            if _FILE_OF_ASSIGNMENTS.match(commands[0][0][0].text):
                commands = []
            commands.append((use.words[at:], assigns))
    return RunTargets(commands=tuple(commands))


def _assignments(way: Way, use: Invocation, at: int) -> tuple[int, tuple[str, ...]]:
    """Return the command's position after the assignments, and these."""
    words = use.words
    if not way.assignments:
        return at, ()
    if way.assignments == "expanded" and words[at].text == "-":  # `env - cmd` is `env -i cmd`
        at += 1
    first = at
    while at < len(words) and _ASSIGNMENT.match(words[at].text):
        at += 1
    assigns = tuple([word.text for word in words[first:at]])
    # `env A=1 -- cmd`
    while at < len(words) and assigns and words[at].text == "--":
        at += 1
    return at, assigns


def _is_text(words: list[Word]) -> bool:
    """Return whether one word is a whole command line, as accepted by some wrappers: `watchexec 'npm test'`."""
    return len(words) == 1 and not words[0].dynamic and " " in words[0].text.strip()


def _arguments_of(way: Way, use: Invocation, arguments: list[Word]) -> RunTargets | None:
    program = way.program
    if program[:1] == "-":
        program = next((value for option, value in use.values if option == program), "")
    return RunTargets(commands=(([Word(program), *arguments], ()),)) if program else None


def _expansion(word: Word) -> bool:
    return word.dynamic and word.text[:1] in {"$", "`"}


def _after(way: Way, use: Invocation) -> RunTargets | None:
    # Only before the program's command: in `xargs env -- x`, the `--` belongs to `env`.
    skips = (other.command for other in use.runs if other.command is not None and len(use.operands) > other.command)
    first = min((use.operands[skip] for skip in skips), default=len(use.words))
    for index in range(1, min(first, len(use.words) - 1)):
        if use.words[index].text == way.after:
            words = use.words[index + 1 :]
            if way.program:
                return _arguments_of(way, use, words)
            return RunTargets(scripts=(words,)) if _is_text(words) else RunTargets(commands=((words, ()),))
    return None


def _script(way: Way, use: Invocation) -> RunTargets | None:
    operands, words = use.operands, use.words
    place = way.script or ""
    if place.startswith("-"):
        word = _option_script(place, use)
        return RunTargets(scripts=([word],)) if word else None
    if place == "each":
        return RunTargets(scripts=tuple([words[index]] for index in operands)) if operands else None
    skip = 1 if place == "rest" else 0
    if len(operands) <= skip:
        return None
    at = operands[skip]
    return RunTargets(scripts=([words[at]] if place == "first" else words[at:],))


def _option_script(option: str, use: Invocation) -> Word | None:
    words = use.words
    letter = option[1:] if len(option) == 2 else ""  # noqa: PLR2004 (a dash and one letter)
    stops = any(way.file for way in use.runs)  # a script file ends an interpreter's own options
    for index in range(1, len(words)):
        text = words[index].text
        if text == "--" or (stops and use.operands[:1] == [index] and text[:1] != "+"):
            return None
        if text.startswith(option + "=") and len(option) > 2:  # noqa: PLR2004
            return Word(text[len(option) + 1 :])
        if text == option or (letter and letter in text and _BUNDLE.match(text)):
            at = index + 1
            # `bash -c -e 'text'`: the script is the first word that is not an option.
            while at < len(words) and words[at].text[:1] in {"-", "+"} and len(words[at].text) > 1:
                at += 2 if words[at].text in {"-o", "-O", "+o", "+O"} else 1
            return words[at] if at < len(words) else None
        if letter and text.startswith(option) and not words[index].dynamic:
            return Word(text[2:])
    return None


def _stdin(way: Way, use: Invocation) -> RunTargets:
    del use
    return RunTargets(stdin="script" if way.stdin is True else str(way.stdin))


def _code(way: Way, use: Invocation) -> RunTargets | None:
    """Find code: the values of options, joined into one text, an operand, or all arguments, one per line."""
    found: list[Word] = []
    for place in way.code or ():
        if place in _OPERANDS:
            found += [use.words[at] for at in use.operands[_OPERANDS[place]]]
        elif place == "arguments":
            found += use.words[1:]
    for (option, value), at in zip(use.values, use.value_places, strict=True):
        if option not in (way.code or ()):
            continue
        # `node -p -e code`: after the first option comes the second, and then the code.
        if value in (way.code or ()) and at + 1 < len(use.words):
            found.append(use.words[at + 1])
        else:
            found.append(_end_of(use.words[at], value))
    return RunTargets(code=tuple(found), language=way.language) if found else None


def _end_of(word: Word, value: str) -> Word:
    """Return the end of a word: the value in `-e'print 1'` or `--eval=1`."""
    cut = len(word.text) - len(value)
    if not cut:
        return word
    found = Word(value)
    found.dynamic, found.spans = word.dynamic, word.spans
    for text, kind in word.parts:
        found.parts.append((text[cut:], kind))
        cut = max(0, cut - len(text))
    return found


def _between(way: Way, use: Invocation) -> RunTargets | None:
    found: list[list[Word]] = []
    start = 0
    for index, word in enumerate(use.words):
        if start and word.text in way.until:
            if index > start:
                found.append(use.words[start:index])
            start = 0
        elif not start and word.text in (way.between or ()):
            start = index + 1
    if start and start < len(use.words):
        found.append(use.words[start:])
    # `fd -x rm` appends the file if no `{}` marks its place.
    if way.adds:
        found = [words if any("{" in word.text for word in words) else [*words, Word(way.adds)] for words in found]
    return RunTargets(commands=tuple([(words, ()) for words in found])) if found else None


def _module(way: Way, use: Invocation) -> RunTargets | None:
    option = way.module or ""
    for index in range(1, len(use.words)):
        text = use.words[index].text
        if use.operands and index > use.operands[0]:
            return None
        if (text == option or (_BUNDLE.match(text) and text.endswith(option[1:]))) and index + 1 < len(use.words):
            return RunTargets(commands=((use.words[index + 1 :], ()),))
        if text.startswith(option) and len(text) > len(option):
            return RunTargets(commands=(([Word(text[len(option) :]), *use.words[index + 1 :]], ()),))
    return None


def _file(way: Way, use: Invocation) -> RunTargets | None:
    del way
    if not use.operands or "-s" in use.flags or use.words[use.operands[0]].text in _STDIN_FILES:
        return None
    return RunTargets(file=use.words[use.operands[0]])


_APPLY: dict[str, Callable[[Way, Invocation], RunTargets | None]] = {
    "command": _command, "after": _after, "code": _code, "script": _script, "stdin": _stdin, "between": _between,
    "module": _module, "file": _file,
}  # fmt: skip
