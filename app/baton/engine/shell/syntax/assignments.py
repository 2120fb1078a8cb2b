"""Read assignments, and keep what they set: variables, arrays, references and positional parameters."""

import re

from tree_sitter import Node

from baton.engine.shell import misreadings
from baton.engine.shell.expansion import words
from baton.engine.shell.expansion.scripts import Position, ScriptText
from baton.engine.shell.expansion.values import (
    Alternatives,
    Filler,
    Unknown,
    Value,
    Values,
    appended,
    as_value,
    with_element,
)
from baton.engine.shell.expansion.words import Word
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.programs import builtins
from baton.engine.shell.programs.programs import Programs

_MOST_ROUNDS = 16
"""How many rounds of a loop are followed for a value that grows in each."""
_KEY = re.compile(r"\[([\w.-]+)\]=(.*)\Z", re.DOTALL)

Assigned = tuple[str, Node | None, Word]
"""`NAME=` or `NAME+=`, the node of an array, and the value."""


class Assignments(Programs):
    """Reads assignments."""

    def word(self, node: Node, text: ScriptText) -> Word:
        """Read a word and note in it which programs' output it contains."""
        word = words.read(node, text.src)
        return text.bind(word) if word.dynamic or text.pattern is not None else word

    def assignment(self, node: Node, text: ScriptText, kept: list[Assigned] | None = None) -> Word:
        """Read `NAME=value` as one word. It is added to `kept`, the variables that later commands see."""
        src = text.src
        value = node.child_by_field_name("value")
        if value is None:
            word = Word(src[node.start_byte : node.end_byte].decode())
            if kept is not None:
                kept.append((word.text, None, Word("")))
            return word
        name = src[node.start_byte : value.start_byte]
        # `A= cmd`: the parser takes the next word for the value. To bash the value is empty, and `cmd` is run.
        if name[-1:] != b"=":
            end = src.rindex(b"=", node.start_byte, value.start_byte) + 1
            gap = src[end : value.start_byte]
            raise misreadings.MendError(src, end, value.start_byte, b"'' " if gap.strip(b"\\\n") else b"")
        if value.type == "array":
            word = Word(src[value.start_byte : value.end_byte].decode())
            word.subs = words.find(value, src, quotes=True)
        else:
            word = words.read(value, src)
        target = node.child_by_field_name("name")
        if target is not None and target.type == "subscript":
            word.subs = words.find(target, src, quotes=True) + word.subs
        text.bind(word)
        if kept is not None:
            if word.spans:
                text.variables[name.decode().rstrip("+=")] = word.spans
            kept.append((name.decode(), value if value.type == "array" else None, word))
            named = Word(name.decode() + word.text)
            named.subs = word.subs
            return named
        word.text = name.decode() + word.text
        return word

    def set_variables(self, kept: list[Assigned], place: Position, *, local: bool = False) -> None:
        """Set variables to their values, once the substitutions in these have been walked."""
        for written, array, word in kept:
            name, _, index = written.rstrip("+=").partition("[")
            values = self.value_of(array, word, place, name)
            if index:
                place.values.set(f"{name}[{index.rstrip(']')}]", values)
                place.values.forget(name)
                values = with_element(place.values.get(name), index.rstrip("]"), values)
            elif written.endswith("+="):
                before = place.values.get(name) or ("",)
                values = (*appended(before, values), *self.grown(written, array, word, place))
            elif word.dynamic and len(values) > 1:
                values = (*values, *self.grown(written, array, word, place))
            place.values.set(name, values, certain=place.certain, local=local)

    def value_of(self, array: Node | None, word: Word, place: Position, name: str) -> Alternatives:
        """Return the values that an assignment gives a variable."""
        return self.texts.filler.text(word, place.values) if array is None else self.items(array, place, name)

    def grown(self, written: str, array: Node | None, word: Word, place: Position) -> Alternatives:
        """Return what a variable holds behind a loop that adds to it in each round: `for i in a b; do x="$x $i"; done`."""
        name = written.rstrip("+=")
        if array is None and not written.endswith("+=") and name not in word.text:
            return ()
        variable, rounds = (
            looped(self.texts.filler, [word], place.values, name) if array is None else self.looped(array, place, name)
        )
        if not variable:
            return ()
        here = place.below()
        here.values = Values(place.values)
        value: Value = next((one for one in place.values.get(name) if not isinstance(one, Unknown)), "")
        for one in rounds:
            here.values.set(variable, (one,))
            here.values.set(name, (value,))
            added = self.value_of(array, word, here, name)[:1]
            if not added or isinstance(added[0], Unknown):
                return ()
            value = appended((value,), added)[0] if written.endswith("+=") else added[0]
        return (value,)

    def looped(self, array: Node, place: Position, name: str) -> tuple[str, Alternatives]:
        """Return the variable of a loop in the words of an array, and its values."""
        try:
            return looped(
                self.texts.filler, [self.word(node, place.text) for node in array.named_children], place.values, name
            )
        except UnreadableError:
            return "", ()

    def items(self, array: Node, place: Position, name: str) -> Alternatives:
        """Return the values of an array, for each combination of the alternatives of what is in it."""
        try:
            found = [self.word(node, place.text) for node in array.named_children]
        except UnreadableError:
            return ((Unknown("${…[@]}"),),)
        for word in found:
            key = _KEY.match(word.text)
            if key is not None:
                if not word.dynamic:
                    place.values.set(f"{name}[{key[1]}]", (key[2],))
                _without_key(word)
        made = self.texts.filler.variants(found, place.values) or [found]
        return tuple([tuple([as_value(word) for word in one]) for one in made])

    def refer(self, declares: str, argv: list[Word], kept: list[Assigned], place: Position) -> None:
        """Follow `declare -n x=y` and `unset -n x`: the name stands for another variable."""
        references = place.values.references
        if declares == "unset":
            for word in argv[1:]:
                references.pop(word.text, None)
        for written, _, word in kept:
            name, target = written.rstrip("+="), self.texts.filler.text(word, place.values)[0]
            references.pop(name, None)
            if isinstance(target, str) and target.isidentifier() and target != name and target not in references:
                references[name] = target
            else:
                place.values.forget(name)

    def set_arguments(self, argv: list[Word], place: Position) -> None:
        """Follow `set -- "$@" $x`, in each round of the loop that it stands in."""
        filler = self.texts.filler
        variable, rounds = looped(filler, argv, place.values)
        here = place.below()
        here.values = Values(place.values)
        for one in rounds or ("",):
            if variable:
                here.values.set(variable, (one,))
            made = filler.variants(argv, here.values)
            builtins.apply("set", made[0] if made else argv, here, self.aliases)
        if here.values.args is not None:
            place.values.args = here.values.args


def looped(filler: Filler, words: list[Word], values: Values, but: str = "") -> tuple[str, Alternatives]:
    """Return the variable with the most alternatives and its values, loop variables first; ("", ()) if none has several."""
    names = [name for name in filler.names(words) if name != but]
    name = max(names, key=lambda one: len(values.get(one)), default="")
    found = values.get(name) if name else ()
    return (name, found) if 1 < len(found) <= _MOST_ROUNDS else ("", ())


def _without_key(word: Word) -> None:
    """Remove `[key]=` from an item of an array; items keep the order in which they are written."""
    cut = word.text.index("=") + 1
    word.text = word.text[cut:]
    parts: list[tuple[str, int]] = []
    for text, kind in word.parts:
        parts += [(text[cut:], kind)] if len(text) > cut else []
        cut = max(0, cut - len(text))
    word.parts = parts
