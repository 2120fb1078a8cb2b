"""Find the commands in a program's options, variables and configuration keys, by the shell tables."""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping

from baton.lib.bash.expansion.words import Word
from baton.lib.bash.misreadings import UnreadableError
from baton.lib.bash.tables.classify import Invocation
from baton.lib.bash.tables.tables import HeldCommands, HeldText, HeldVariable, KeyTable, ShellTables, literal, pattern
from baton.lib.text.patches import settings_of

_MAX_WAITING = 50  # maximum variables waiting for a program to use them: each program checks all of them
_MANY = 20
_LONE_EXPANSION = re.compile(r"\$\{?\w+\}?\Z")
_LONE_PROCESS = re.compile(r"[<>]\(.*\)\Z", re.DOTALL)
_PERCENT = re.compile(r"%([ %])")
_ALIAS = "alias."
_GIT_PARAMETERS = re.compile(r"(?<=')[ \t]+(?=')")
TextOf = Callable[[str], str | None]
_MAX_HELD = 100  # maximum commands in one program's arguments: each is parsed separately


class HeldVariables:
    """The variables with commands in one line, and those not yet used by a program.

    `given` are all variables of later programs, `aliases` the values of a program's own ones. `followed` are the settings
    of files, by program: each program of the line has them, the commands in them as well.
    """

    def __init__(self, held: HeldCommands) -> None:
        self.held = held
        self.waiting: dict[str, str] = {}
        self.pairs: dict[str, str] = {}
        self.given: dict[str, str] = {}
        self.aliases: dict[tuple[str, str], str] = {}
        self.followed: set[tuple[str, str, str]] = set()
        self.seen = 0

    def add(self, exports: list[str]) -> None:
        """Add the variables set by the line for all later programs since the last call."""
        for text in exports[self.seen :]:
            name, _, value = text.partition("=")
            self.given[name] = value
            self._wait(text)
        self.seen = len(exports)

    def taken(self, use: Invocation, *, passes_on: bool) -> Iterator[str]:
        """Yield the shell texts run by a program because of its variables.

        `passes_on`: the program starts others, which get the variables too.
        """
        for text in use.assigns:
            name, _, value = text.partition("=")
            variable = self.held.variable(name)
            if variable is not None and (not variable.of or use.name in variable.of):
                yield from _used(variable, value)
            elif passes_on or (self.held.pairs and name.startswith(self.held.pairs)):
                # `GIT_EDITOR=… sh -c 'git commit'`: kept until a program that reads it runs.
                self._wait(text)
        if self.waiting:
            for name, value in list(self.waiting.items()):
                variable = self.held.variable(name)
                if variable is not None and (not variable.of or use.name in variable.of):
                    del self.waiting[name]
                    yield from _used(variable, value)

    def _wait(self, text: str) -> None:
        name, equals, value = text.partition("=")
        if not equals:
            return
        if self.held.pairs and name.startswith(self.held.pairs):
            self.pairs[name] = value
        elif self.held.variable(name) is not None:
            self.waiting[name] = value
        if len(self.waiting) + len(self.pairs) > _MAX_WAITING:
            raise UnreadableError(f"over {_MAX_WAITING} variables with commands")


def may_hold(tables: ShellTables, use: Invocation) -> bool:
    """Return whether a program's arguments may contain commands at all."""
    return (use.entry is not None and use.entry.holds != ()) or use.name in tables.held.keys


def in_arguments(
    tables: ShellTables, use: Invocation, variables: HeldVariables, text_of: TextOf | None
) -> Iterator[Word]:
    """Yield the shell texts run by a program because of its options, operands and configuration keys.

    `text_of` returns the text of a file written by the line; None if it writes none.

    Raises:
        UnreadableError: If there are too many.
    """
    for count, word in enumerate(_held(tables, use, variables, text_of)):
        if count >= _MAX_HELD:
            raise UnreadableError(f"over {_MAX_HELD} commands in the arguments of a program")
        yield word


def _held(tables: ShellTables, use: Invocation, variables: HeldVariables, text_of: TextOf | None) -> Iterator[Word]:
    if use.entry is not None and use.entry.holds:
        given = {"operands", "flags", *[option for option, _ in use.values]}
        for one in use.entry.holds:
            texts = _places(one, use) if one.at in given else ()
            # Few of many arguments contain a command: one search over all of them is enough to check.
            if one.find and len(texts) > _MANY and not pattern(f"(?m){one.find}").search("\n".join(texts)):
                continue
            for text in texts:
                for command in _found(one.find, text):
                    yield from (_word(shell, command, use) for shell in _texts(command, (one.runs, command)))
    keys = tables.held.keys.get(use.name)
    if keys is not None:
        yield from _configured(keys, use, variables, text_of)


def _configured(keys: KeyTable, use: Invocation, variables: HeldVariables, text_of: TextOf | None) -> Iterator[Word]:
    """Yield the commands of a program's configuration; of aliases, the called one with its arguments."""
    settings = list(_settings(keys, use, variables, text_of))
    if not settings and not variables.aliases:
        return
    called, rest = _called(use)
    for key, value, stays in settings:
        name = key.strip().casefold()
        if stays and keys.setting and _names_program(keys, name, value.strip()):
            yield Word(f"{keys.setting} {shlex.quote(f'{name}={value}')}")
        if name.startswith(_ALIAS):
            variables.aliases[use.name, name.removeprefix(_ALIAS)] = value
            if name == _ALIAS + called:
                continue
        template = keys.template(name)
        if template is not None:
            yield from (_word(shell, value, use) for shell in _texts(value, template.shell_text(value.strip())))
    value = variables.aliases.get((use.name, called), "").strip()
    template = keys.template(_ALIAS + called) if value else None
    # An alias starting with its own name is a subcommand's, and is not used.
    if template is not None and value.split()[0] != called:
        for shell in _texts(value, template.shell_text(value)):
            behind = [one.text if one.dynamic else shlex.quote(one.text) for one in rest]
            word = _word(" ".join([shell, *behind]), value, use)
            word.spans = [*word.spans, *[span for one in rest for span in one.spans]]
            yield word


def _names_program(keys: KeyTable, name: str, value: str) -> bool:
    """Return whether a setting names a program, except an ordinary everyday one."""
    template = keys.template(name)
    return (
        bool(value)
        and template is not None
        and template.shell_text(value) is not None
        and not any(pattern(one).fullmatch(f"{name}={value}") for one in keys.ordinary)
    )


def _called(use: Invocation) -> tuple[str, list[Word]]:
    first = use.subcommand.partition(" ")[0] or next((use.words[at].text for at in use.operands), "")
    for at, word in enumerate(use.words):
        if at and word.text == first and at not in use.value_places:
            return first.casefold(), use.words[at + 1 :]
    return "", []


def _used(variable: HeldVariable, value: str) -> Iterator[str]:
    for text in _found(variable.find, value):
        yield from _texts(text, variable.template.shell_text(text))


def _found(find: str, text: str) -> list[str]:
    if not find:
        return [text]
    return [match[1] or "" for match in pattern(find).finditer(text)] if literal(find) in text else []


def _places(one: HeldText, use: Invocation) -> list[str]:
    if one.at == "operands":
        return [use.words[at].text for at in use.operands]
    if one.at == "flags":
        return use.raw_flags
    return [value for option, value in use.values if option == one.at]


def _settings(
    keys: KeyTable, use: Invocation, variables: HeldVariables, text_of: TextOf | None
) -> Iterator[tuple[str, str, bool]]:
    """Yield the keys and values given to a program, and whether they persist after its end."""
    given = variables.given | dict(text.split("=", 1) for text in use.assigns if "=" in text)
    files = [*keys.files, *[given[name] for name in keys.file_variables if name in given]]
    for key, value, stays in _arguments(keys, use, variables, given):
        if key.casefold() in keys.includes:
            files.append(value)
        yield key, value, stays
    for text in map(text_of, files) if text_of is not None else ():
        for key, value in settings_of(text or ""):
            if (use.name, key, value) not in variables.followed:
                variables.followed.add((use.name, key, value))
                yield key, value, True


def _arguments(
    keys: KeyTable, use: Invocation, variables: HeldVariables, given: Mapping[str, str]
) -> Iterator[tuple[str, str, bool]]:
    for option, value in use.values:
        if option in keys.options:
            key, _, setting = value.partition("=" if "=" in value else " ")
            yield key, setting, use.subcommand == "clone"
        elif option in keys.variables:
            key, _, name = value.partition("=")
            yield key, given.get(name, ""), False
        elif option.startswith("--") and keys.template(option.lstrip("-")) is not None:
            yield option[2:], value, False
    words = [*use.subcommand.split(), *[use.words[at].text for at in use.operands]] if keys.setters else []
    for setter in [one for one in keys.setters if words[: len(one)] == one]:
        of_setter = words[len(setter) :]
        yield from ((key, value, True) for key, equals, value in (word.partition("=") for word in of_setter) if equals)
        if len(of_setter) > 1:
            yield of_setter[0], of_setter[1], True
    # `GIT_CONFIG_KEY_0` names the key, `GIT_CONFIG_VALUE_0` its value.
    if keys.pairs and (variables.pairs or use.assigns):
        for name in [name for name in variables.pairs if name.startswith(keys.pairs[0])]:
            setting = variables.pairs.get(keys.pairs[1] + name[len(keys.pairs[0]) :], "")
            yield variables.pairs[name], setting, True


def _texts(value: str, found: tuple[str, str] | None) -> Iterator[str]:
    if found is None or not value.strip():
        return
    runs, command = found
    # `GIT_EDITOR=$EDITOR` is unknown; its later arguments must not make it look like a command.
    if _LONE_EXPANSION.match(command):
        yield command
    elif "{text}" in runs:
        yield runs.replace("{text}", command)
    elif "{remote}" in runs:
        yield runs.replace("{remote}", _PERCENT.sub(r"\\\1", command))
    elif "{list}" in runs:
        yield runs.replace("{list}", shlex.join(command.split(",")))
    elif "{quoted}" in runs:
        # `BASH_ENV=<(…)` is the file of a printing process; quotes would make it a name.
        yield runs.replace("{quoted}", command if _LONE_PROCESS.match(command) else shlex.quote(command))
    else:
        try:
            words = shlex.split(_GIT_PARAMETERS.sub(" -c ", command) if runs.startswith("git -c") else command)
        except ValueError:
            return
        yield runs.replace("{words}", shlex.join(words))


def _word(shell: str, command: str, use: Invocation) -> Word:
    """Return the text as a word with the substitutions of its argument."""
    source = next((word for word in use.words if word.spans and word.text.endswith(command)), None)
    if source is not None and source.text == shell:
        return source
    word = Word(shell)
    if source is not None:
        word.dynamic, word.spans = True, source.spans
    return word
