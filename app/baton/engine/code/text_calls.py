"""What calls that compute texts, paths and lists do, by the verb that a language's table has for them."""

import re
import shlex
from collections.abc import Callable

from baton.engine.code import values
from baton.engine.code.effects import Effect
from baton.engine.code.model import is_known, variable
from baton.engine.code.state import ALL_ARGUMENTS, Arguments, State
from baton.engine.code.values import ANY, TAINTED, Thing, Value, texts


def _shift(state: State, call: Arguments) -> Value:
    """Perl's `shift`: the first of a list, or of the function's arguments."""
    found = call.args[0] if call.args else state.scope.get(ALL_ARGUMENTS)
    return found.pop(0) if isinstance(found, list) and found else None


def _items(_state: State, call: Arguments) -> Value:
    return [item for value in call.args for item in (value if isinstance(value, list) else [value])]


def _path_of(_state: State, call: Arguments) -> Value:
    given = [call.receiver, *call.args] if call.effect.at else call.args
    found = values.join_paths([texts(value) for value in given]) if given else (".",)
    return Thing("path", found) if call.effect.verb == "path" else found


def _same(_state: State, call: Arguments) -> Value:
    return call.first()


def _text(_state: State, call: Arguments) -> Value:
    found = re.sub(r"\$(\w+)", lambda match: variable(match[1]), call.effect.word)
    return Thing("path", (found,)) if call.effect.at else (found,)


def _decode(_state: State, call: Arguments) -> Value:
    value = call.first()
    if isinstance(value, Thing) and value.kind in TAINTED:
        return value
    if call.effect.word == "buffer":
        how = texts(call.args[1])[0] if len(call.args) > 1 else ""
        return values.decode(how, texts(value)) if how in {"base64", "hex"} else value
    if call.effect.word == "chr" and isinstance(value, list):
        return values.join([values.decode("chr", texts(item)) for item in value])
    if call.effect.word == "chr" and len(call.args) > 1:
        return values.join([values.decode("chr", texts(item)) for item in call.args])
    found = values.decode(call.effect.word, texts(value))
    return Thing("path", found) if isinstance(value, Thing) and value.kind == "path" else found


def _list(state: State, call: Arguments) -> Value:
    """The names in a folder (`list`) and in those below (`walk`), or the paths that a pattern finds (`glob`)."""
    if call.effect.verb == "list":
        return [ANY]
    if call.effect.verb == "walk":
        state.read(texts(call.first()))
        return [ANY]
    given = [call.at(at) for at in call.effect.at]
    found = values.join_paths([texts(value) for value in given])
    state.read(found)
    return [Thing("path", found) if -1 in call.effect.at else found]


def _append(state: State, call: Arguments) -> Value:
    if isinstance(call.receiver, list) and len(call.receiver) < values.MOST:
        for value in call.args:
            call.receiver.extend(value if isinstance(value, list) else [value])
    state.callbacks(call.args, {}, None)
    return call.receiver


def _format(state: State, call: Arguments) -> Value:
    """Fill a pattern with arguments (`fill`), join a list (`join`), or replace a part (`replace`)."""
    if call.effect.word == "join":
        # Python's `glue.join(list)`; JavaScript and Ruby have it the other way round.
        glue, listed = (
            (call.receiver, call.args[0] if call.args else None)
            if call.effect.at
            else (call.args[0] if call.args else ("",), call.receiver)
        )
        if not isinstance(listed, list) or len(texts(glue)) != 1:
            return None
        return values.join([texts(item) for item in listed], texts(glue)[0]) if listed else ("",)
    if call.effect.word == "list":
        rest = [item for value in call.args[1:] for item in (value if isinstance(value, list) else [value])]
        return _format(state, Arguments(Effect("format", (), "join"), call.args[:1], {}, rest))
    if call.effect.word in {"implode", "explode"} and len(call.args) == 2:  # noqa: PLR2004
        word = "join" if call.effect.word == "implode" else "split"
        return _format(state, Arguments(Effect("format", (), word), call.args[:1], {}, call.args[1]))
    if call.effect.word == "replace":
        found = [texts(value) for value in (call.receiver, *call.args[:2])]
        # With a pattern or a function in the place of a text, what comes out is not known.
        if len(found) != 3 or any(len(one) != 1 or not is_known(one[0]) for one in found):  # noqa: PLR2004
            state.callbacks(call.args, call.named, None)
            return call.receiver if isinstance(call.receiver, Thing) else None
        return (found[0][0].replace(found[1][0], found[2][0])[: values.LONGEST],)
    if call.effect.word == "split":
        one = texts(call.receiver)
        mark = texts(call.args[0])[0] if call.args else None
        # Languages differ about an empty mark.
        if len(one) != 1 or not is_known(one[0]) or mark == "":
            return None
        return [(piece,) for piece in one[0].split(mark)[: values.MOST]]
    pattern, given = (
        (call.receiver, call.args) if call.effect.at == (-1,) else (call.args[0] if call.args else None, call.args[1:])
    )
    flat = [item for value in given for item in (value if isinstance(value, list) else [value])]
    if call.named and isinstance(pattern, tuple):
        pattern = tuple(
            [re.sub(r"\{([A-Za-z]\w*)\}", lambda m: texts(call.named.get(m[1]))[0], text) for text in pattern]
        )
    return values.fill(texts(pattern), [texts(value) for value in flat])


def _words(_state: State, call: Arguments) -> Value:
    """Return the words of a command line, as `shlex.split` does."""
    found = texts(call.first())
    if len(found) != 1 or not is_known(found[0]):
        return None
    try:
        return [(word,) for word in shlex.split(found[0])[: values.MOST]]
    except ValueError:
        return None


def _environment(_state: State, call: Arguments) -> Value:
    name = texts(call.first())[0]
    return (variable(name),) if name.isidentifier() and is_known(name) else None


TEXT_CALLS: dict[str, Callable[[State, Arguments], Value]] = {
    "path": _path_of,
    "join": _path_of,
    "same": _same,
    "text": _text,
    "decode": _decode,
    "list": _list,
    "walk": _list,
    "glob": _list,
    "append": _append,
    "format": _format,
    "environment": _environment,
    "items": _items,
    "shift": _shift,
    "words": _words,
}
