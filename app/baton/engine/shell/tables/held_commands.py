"""Find the commands that a program's options, variables and configuration keys hold, by the shell tables."""

import re
import shlex
from collections.abc import Iterator

from baton.engine.shell.expansion.words import Word
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.tables.classify import Invocation
from baton.engine.shell.tables.held_tables import HeldCommands, HeldText, HeldVariable, KeyTable, literal, pattern
from baton.engine.shell.tables.tables import ShellTables

_MAX_WAITING = 50
"""Variables that wait for a program which uses them. Each is looked at for every program, so there is a limit."""
_MANY = 20
_LONE_EXPANSION = re.compile(r"\$\{?\w+\}?\Z")
_LONE_PROCESS = re.compile(r"[<>]\(.*\)\Z", re.DOTALL)
_PERCENT = re.compile(r"%([ %])")
_GIT_PARAMETERS = re.compile(r"(?<=')[ \t]+(?=')")


_MAX_HELD = 100
"""Commands in the arguments of one program: each is parsed by itself, and nobody writes so many."""


class HeldVariables:
    """The variables that hold commands, in one line, and which of them no program has used yet."""

    def __init__(self, held: HeldCommands) -> None:
        self.held = held
        self.waiting: dict[str, str] = {}
        self.pairs: dict[str, str] = {}
        self.seen = 0

    def note(self, exports: list[str]) -> None:
        """Take in the variables that the line has set for all later programs since the last call."""
        for text in exports[self.seen :]:
            self._wait(text)
        self.seen = len(exports)

    def taken(self, use: Invocation, *, passes_on: bool) -> Iterator[str]:
        """Yield the shell texts that a program runs because of its variables.

        `passes_on` is True for a program that starts others: they get the variables too.
        """
        for text in use.assigns:
            name, _, value = text.partition("=")
            variable = self.held.variable(name)
            if variable is not None and (not variable.of or use.name in variable.of):
                yield from _used(variable, value)
            elif passes_on or (self.held.pairs and name.startswith(self.held.pairs)):
                # `GIT_EDITOR=… sh -c 'git commit'`: kept until a program runs that reads it.
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
            raise UnreadableError(f"over {_MAX_WAITING} variables that hold commands")


def may_hold(tables: ShellTables, use: Invocation) -> bool:
    """Return whether the arguments of a program can hold commands at all."""
    return (use.entry is not None and use.entry.holds != ()) or use.name in tables.held.keys


def in_arguments(tables: ShellTables, use: Invocation, variables: HeldVariables) -> Iterator[Word]:
    """Yield the shell texts that a program runs because of its options, operands and configuration keys.

    Raises:
        UnreadableError: If there are too many.
    """
    for count, word in enumerate(_held(tables, use, variables)):
        if count >= _MAX_HELD:
            raise UnreadableError(f"over {_MAX_HELD} commands in the arguments of a program")
        yield word


def _held(tables: ShellTables, use: Invocation, variables: HeldVariables) -> Iterator[Word]:
    if use.entry is not None:
        for one in use.entry.holds:
            texts = _places(one, use)
            # Of many arguments hardly any holds a command: one search over all of them tells that.
            if one.find and len(texts) > _MANY and not pattern(f"(?m){one.find}").search("\n".join(texts)):
                continue
            for text in texts:
                for command in _found(one.find, text):
                    yield from (_word(shell, command, use) for shell in _texts(command, (one.runs, command)))
    keys = tables.held.keys.get(use.name)
    if keys is not None:
        for key, value in _settings(keys, use, variables):
            template = keys.find(key.strip())
            if template is not None:
                yield from (_word(shell, value, use) for shell in _texts(value, template.find(value.strip())))


def _used(variable: HeldVariable, value: str) -> Iterator[str]:
    for text in _found(variable.find, value):
        yield from _texts(text, variable.template.find(text))


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


def _settings(keys: KeyTable, use: Invocation, variables: HeldVariables) -> Iterator[tuple[str, str]]:
    """Yield the keys and values that a program is given."""
    for option, value in use.values:
        if option in keys.options:
            key, _, setting = value.partition("=" if "=" in value else " ")
            yield key, setting
        elif option in keys.variables:
            key, _, name = value.partition("=")
            given = dict(text.split("=", 1) for text in use.assigns if "=" in text)
            yield key, given.get(name, "")
    if use.subcommand in keys.setters:
        words = [use.words[at].text for at in use.operands]
        if len(words) > 1:
            yield words[0], words[1]
        elif words and "=" in words[0]:
            key, _, setting = words[0].partition("=")
            yield key, setting
    # `GIT_CONFIG_KEY_0` names the key whose value `GIT_CONFIG_VALUE_0` holds.
    if keys.pairs and (variables.pairs or use.assigns):
        for name in [name for name in variables.pairs if name.startswith(keys.pairs[0])]:
            setting = variables.pairs.get(keys.pairs[1] + name[len(keys.pairs[0]) :], "")
            yield variables.pairs[name], setting


def _texts(value: str, found: tuple[str, str] | None) -> Iterator[str]:
    """Yield the shell text of a held command, if it is run at all."""
    if found is None or not value.strip():
        return
    runs, command = found
    # Of `GIT_EDITOR=$EDITOR` nothing is known, and what it will be given must not make it look like a command.
    if _LONE_EXPANSION.match(command):
        yield command
    elif "{text}" in runs:
        yield runs.replace("{text}", command)
    elif "{remote}" in runs:
        yield runs.replace("{remote}", _PERCENT.sub(r"\\\1", command))
    elif "{list}" in runs:
        yield runs.replace("{list}", shlex.join(command.split(",")))
    elif "{quoted}" in runs:
        # `BASH_ENV=<(…)` is the file of a process that prints, which its quotes would make a name.
        yield runs.replace("{quoted}", command if _LONE_PROCESS.match(command) else shlex.quote(command))
    else:
        try:
            words = shlex.split(_GIT_PARAMETERS.sub(" -c ", command) if runs.startswith("git -c") else command)
        except ValueError:
            return
        yield runs.replace("{words}", shlex.join(words))


def _word(shell: str, command: str, use: Invocation) -> Word:
    """Return the text as a word that keeps the substitutions of the argument that it stands in."""
    source = next((word for word in use.words if word.spans and word.text.endswith(command)), None)
    if source is not None and source.text == shell:
        return source
    word = Word(shell)
    if source is not None:
        word.dynamic, word.spans = True, source.spans
    return word
