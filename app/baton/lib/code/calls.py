"""Effects of calls, by the verb in a language's table."""

import re
import shlex
from collections.abc import Callable, Sequence

from baton.lib.code import values
from baton.lib.code.evaluate import DEEPEST, Arguments, Evaluator
from baton.lib.code.model import is_known, variable
from baton.lib.code.tree import Function
from baton.lib.code.values import ANY, TAINTED, Bound, Ref, Thing, Value, texts

# Calls that compute strings, paths and lists.


def _path_of(_state: Evaluator, call: Arguments) -> Value:
    given = [call.receiver, *call.args] if call.effect.at else call.args
    found = values.join_paths([texts(value) for value in given]) if given else (".",)
    return Thing("path", found) if call.effect.verb == "path" else found


def _same(_state: Evaluator, call: Arguments) -> Value:
    return call.first()


def _text(_state: Evaluator, call: Arguments) -> Value:
    found = re.sub(r"\$(\w+)", lambda match: variable(match[1]), call.effect.word)
    return Thing("path", (found,)) if call.effect.at else (found,)


def _decode(_state: Evaluator, call: Arguments) -> Value:
    value = call.first()
    if call.effect.word in {"buffer", "codec"}:
        how = texts(call.args[1])[0] if len(call.args) > 1 else ""
        how = how.replace("base64url", "base64").replace("rot_13", "rot13").removesuffix("_codec")
        return _revealed(how, value) if how in values.ENCODINGS else _packed(_state, call) if how in _PACKERS else value
    if call.effect.word in values.ENCODINGS:
        return _revealed(call.effect.word, value)
    if isinstance(value, Thing) and value.kind in TAINTED:
        return value
    if call.effect.word == "chr" and isinstance(value, list):
        return values.join([values.decode("chr", texts(item)) for item in value])
    if call.effect.word == "chr" and len(call.args) > 1:
        return values.join([values.decode("chr", texts(item)) for item in call.args])
    found = values.decode(call.effect.word, texts(value))
    return Thing("path", found) if isinstance(value, Thing) and value.kind == "path" else found


_PACKERS = frozenset(["zlib", "zip", "bz2", "uu", "quopri"])


def _revealed(how: str, value: Value) -> Value:
    """Return decoded text, or a marked object if unknown: running it hides the actual commands."""
    if isinstance(value, Thing) and value.kind in TAINTED:
        return Thing("decoded stdin") if value.kind == "stdin" else value
    found = values.decode(how, texts(value))
    return Thing("decoded") if found == ANY else found


def _packed(state: Evaluator, call: Arguments) -> Value:
    """Calls that unpack or load bytes; their text is never computed. With a word, they may also do anything else."""
    if call.effect.word:
        state.cannot_tell(call.effect.word)
    value = call.first()
    tainted = isinstance(value, Thing) and value.kind in {"download", "stdin", "decoded stdin"}
    return _revealed("hex", value) if tainted else Thing("decoded")


def _list(state: Evaluator, call: Arguments) -> Value:
    """The names in a folder (`list`), the folders below it with their names (`walk`), or paths by a pattern (`glob`)."""
    if call.effect.verb == "list":
        return [ANY]
    given = [texts(call.at(at)) for at in call.effect.at]
    if call.effect.verb == "walk":
        state.read(given[0])
        return [[Thing("path", given[0]), [ANY], [ANY]]]
    found = values.join_paths([*given, ("*",)] if call.effect.verb == "entries" else given)
    state.read(found)
    return [Thing("path", found) if -1 in call.effect.at else found]


def _append(state: Evaluator, call: Arguments) -> Value:
    if isinstance(call.receiver, list) and len(call.receiver) < values.MOST:
        for value in call.args:
            call.receiver.extend(value if isinstance(value, list) else [value])
    state.callbacks(call.args, {}, None)
    return call.receiver


def _format(state: Evaluator, call: Arguments) -> Value:
    """Fill a pattern with arguments (`fill`), join a list (`join`), or replace a part (`replace`)."""
    if call.effect.word == "join":
        # Python's `glue.join(list)`; in JavaScript it is `list.join(glue)`.
        glue, listed = (
            (call.receiver, call.args[0] if call.args else None)
            if call.effect.at
            else (call.args[0] if call.args else ("",), call.receiver)
        )
        if not isinstance(listed, list) or len(texts(glue)) != 1:
            return None
        return values.join([texts(item) for item in listed], texts(glue)[0]) if listed else ("",)
    if call.effect.word == "replace":
        found = [texts(value) for value in (call.receiver, *call.args[:2])]
        # With a pattern or a function as argument, the result is unknown.
        if len(found) != 3 or any(len(one) != 1 or not is_known(one[0]) for one in found):  # noqa: PLR2004
            state.callbacks(call.args, call.named, None)
            return call.receiver if isinstance(call.receiver, Thing) else None
        return (found[0][0].replace(found[1][0], found[2][0])[: values.LONGEST],)
    if call.effect.word == "split":
        one = texts(call.receiver)
        mark = texts(call.args[0])[0] if call.args else None
        # Languages differ for an empty separator.
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


def _words(_state: Evaluator, call: Arguments) -> Value:
    """Return the words of a command line, like `shlex.split`."""
    found = texts(call.first())
    if len(found) != 1 or not is_known(found[0]):
        return None
    try:
        return [(word,) for word in shlex.split(found[0])[: values.MOST]]
    except ValueError:
        return None


def _environment(_state: Evaluator, call: Arguments) -> Value:
    name = texts(call.first())[0]
    return (variable(name),) if name.isidentifier() and is_known(name) else None


TEXT_CALLS: dict[str, Callable[[Evaluator, Arguments], Value]] = {
    "path": _path_of, "join": _path_of, "same": _same, "text": _text, "decode": _decode, "list": _list, "walk": _list, "entries": _list,
    "glob": _list, "append": _append, "format": _format, "environment": _environment, "words": _words,
    "packed": _packed,
}  # fmt: skip


_WRITING = re.compile(r"[wax+>]")


def _read(state: Evaluator, call: Arguments) -> Value:
    found = state.callbacks(call.args, call.named, call.receiver)
    things = [value for value in (call.receiver, *call.args) if isinstance(value, Thing)]
    _feed(state, things)
    return next((value for value in things if value.kind in TAINTED), found)


def _feed(state: Evaluator, things: Sequence[Thing]) -> None:
    """Note that a download is written to a process (`process.stdin.write(download)`)."""
    if {"process", "download"} <= {value.kind for value in things}:
        state.fed = True


def _contents(state: Evaluator, call: Arguments) -> Value:
    """The content of a file: a download if the code has written one to it."""
    found = _read(state, call)
    state.read(texts(call.first()))
    return Thing("download") if state.is_downloaded(texts(call.first())) else found


def _unread(state: Evaluator, call: Arguments) -> Value:
    state.callbacks(call.args, call.named, call.receiver)
    if call.effect.word == "a file is executed" and state.is_downloaded(texts(call.first())):
        state.tainted(Thing("download"))
    state.cannot_tell(call.effect.word or "a call with any effect")
    return None


def _file(_state: Evaluator, _call: Arguments) -> Value:
    return Thing("file")


def _star(state: Evaluator, call: Arguments) -> Value:
    state.stars += texts(call.args[0])
    return None


def _idle(state: Evaluator, call: Arguments) -> Value:
    _feed(state, [value for value in (call.receiver, *call.args, *call.named.values()) if isinstance(value, Thing)])
    return (_unread if call.args or call.named else _read)(state, call)


def _write(state: Evaluator, call: Arguments) -> Value:
    # A function among the arguments is called: `fs.writeFile(path, data, () => …)`.
    state.callbacks(call.args, call.named, None)
    for at in call.effect.at or (0,):
        value = call.at(at)
        for item in value if isinstance(value, list) and value else [value]:
            state.write(texts(item), removes=call.effect.verb == "remove")
    return Thing("file") if call.effect.word == "file" else None


def _move(state: Evaluator, call: Arguments) -> Value:
    state.callbacks(call.args, call.named, None)
    state.argv([("mv",), *(call.at(at) for at in call.effect.at)], {})
    return None


def _open(state: Evaluator, call: Arguments) -> Value:
    at, mode_at = call.effect.at
    path = texts(call.at(at, "file", "path", "name"))
    held = Thing("download" if state.is_downloaded(path) else "file")
    state.callbacks(call.args, {}, held)
    mode = call.at(mode_at)
    for name in ("mode", "flags", "flag"):
        mode = call.named.get(name, mode)
    if mode is None:
        # Without a mode a file is read; an unknown mode may be for writing.
        given = len(call.args) > mode_at
        if given:
            state.cannot_tell("a file is opened in an unknown mode")
        state.read(path)
        return held
    if any(not is_known(text) for text in texts(mode)):
        state.cannot_tell("a file is opened in an unknown mode")
    if any(_WRITING.search(text) or text.isdigit() for text in texts(mode) if text != "0"):
        state.write(path)
        return Thing("file")
    state.read(path)
    return held


def _shell(state: Evaluator, call: Arguments) -> Value:
    state.callbacks(call.args, call.named, None)
    named = dict(call.named)
    for part in call.args:
        if isinstance(part, dict):
            named |= part
    for at in call.effect.at or (0,):
        state.script(call.at(at), named)
    return Thing("process")


def _args(state: Evaluator, call: Arguments) -> Value:
    """All arguments are the program and its arguments; a single one is shell text."""
    parts = call.args[call.effect.at[0] :] if call.effect.at else call.args
    # Ruby takes the environment first, and options last.
    parts = [part for part in parts if not isinstance(part, dict)]
    named = dict(call.named)
    for part in call.args:
        if isinstance(part, dict):
            named |= part
    if not parts:
        state.cannot_tell("an unknown command is run")
    elif len(parts) == 1 and not isinstance(parts[0], list):
        state.script(parts[0], named)
    else:
        state.argv(parts, named)
    state.callbacks(call.args, {}, None)
    return Thing("process")


def _run(state: Evaluator, call: Arguments) -> Value:
    """A list of arguments, or a string, as for `subprocess`."""
    given = call.at(0, "args", "cmd", "command")
    if isinstance(given, dict):
        given = given.get("cmd")
    if any(isinstance(call.named.get(key), Thing | Bound) for key in ("stdin", "stdout")) and state.socket:
        state.terminal = True
    fed = call.named.get("input")
    state.feed_shell(given, fed)
    if isinstance(given, list):
        state.argv(given, call.named)
    elif fed is not None and is_known(texts(fed)[0]):
        state.script(values.join([(f"printf %s {shlex.quote(texts(fed)[0])} | ",), texts(given)]), call.named)
    else:
        state.script(given, call.named)
    return Thing("process")


def _exec(state: Evaluator, call: Arguments) -> Value:
    """A program, then its arguments: a list (`argv`: starting with the program's name), or the rest (`rest`)."""
    at = call.effect.at[0]
    program = call.at(at)
    named = dict(call.named)
    after = call.args[at + 1 :]
    listed = [value for value in after if isinstance(value, list)]
    options = [value for value in after if isinstance(value, dict)]
    if options:
        named |= options[0]
    shell = named.get("shell")
    words: list[Value]
    if call.effect.word == "rest":
        words = list(after[1:])
    elif call.effect.word == "argv":
        words = listed[0][1:] if listed else [None] if after else []
    else:
        given = named.get("args")
        words = listed[0] if listed else given if isinstance(given, list) else [None] if None in after[:1] else []
    # Node's `shell: true` joins the words to a line, and the shell expands it again.
    if shell is not None and shell not in (("false",), ("False",)):
        state.script(values.join([texts(value) for value in (program, *words)], " "), named)
    else:
        state.argv([program, *words], named)
    state.callbacks(call.args, {}, None)
    return Thing("process")


def _eval(state: Evaluator, call: Arguments) -> Value:
    value = call.args[-1] if call.effect.word == "last" and call.args else call.first()
    if isinstance(value, Function):
        return state.apply(value, [])
    if isinstance(value, Thing) and value.kind in TAINTED:
        state.tainted(value)
        return None
    found: Value = None
    for text in texts(value):
        if not is_known(text) or state.depth >= DEEPEST:
            state.cannot_tell("unknown code is executed")
            return None
        state.depth += 1
        found = state.body(state.reread(text))
        state.depth -= 1
    return found


def _download(state: Evaluator, call: Arguments) -> Value:
    state.network = True
    if call.effect.word == "to":
        state.write(texts(call.at(call.effect.at[0])))
    state.callbacks(call.args, call.named, Thing("download"))
    return Thing("download")


def _network(state: Evaluator, call: Arguments) -> Value:
    state.network = True
    state.callbacks(call.args, call.named, None)
    return None


def _socket(state: Evaluator, call: Arguments) -> Value:
    state.network = state.socket = True
    state.callbacks(call.args, call.named, Thing("socket"))
    return Thing("socket")


def _terminal(state: Evaluator, call: Arguments) -> Value:
    state.terminal = True
    if call.effect.at:
        return _run(state, call)
    return None


def _module(state: Evaluator, call: Arguments) -> Value:
    found = texts(call.first())
    if state.is_downloaded(found) and not found[0].endswith(".json"):
        state.tainted(Thing("download"))
        return None
    if found[0].endswith(".json"):
        state.read(found)
        return None
    if found == ANY:
        state.cannot_tell("an unknown module is loaded")
        return None
    module = state.import_(found[0].removeprefix("node:").replace("/", "."))
    # Without a list of names, `__import__("urllib.request")` is `urllib`.
    is_top = call.effect.word == "top" and call.at(3, "fromlist") is None
    return Ref(module.path.partition(".")[0]) if is_top else module


def _member(state: Evaluator, call: Arguments) -> Value:
    name = texts(call.at(1 if call.receiver is None else 0))
    of = call.args[0] if call.receiver is None and call.args else call.receiver
    return state.member_of(of, name[0]) if is_known(name[0]) else None


def _starts(state: Evaluator, call: Arguments) -> Value:
    """A program started by a dedicated function: `pytest.main()`."""
    state.script((call.effect.word,), {})
    return _read(state, call)


def _folder(state: Evaluator, call: Arguments) -> Value:
    inner = [value for value in call.args if isinstance(value, Function)]
    outer = state.folder
    state.folder = values.join_paths([outer, texts(call.first())])
    if inner:
        state.callbacks(inner, {}, None)
        state.folder = outer
    return None


def _call_of(state: Evaluator, call: Arguments) -> Value:
    """A function given with its arguments (`Thread(target=f, args=…)`, `map(f, items)`)."""
    function = call.named.get("target", call.args[0] if call.args else None)
    given = call.named.get("args", call.args[1] if len(call.args) > 1 else None)
    rest: list[list[Value]] = [[one] for one in ([given] if isinstance(given, tuple) else state.elements(given))]
    if "args" in call.named or (len(call.args) > 2):  # noqa: PLR2004
        rest = [given if isinstance(given, list) else call.args[1:]]
    if not isinstance(function, Function | Ref | Bound):
        return None
    return [state.call_value(function, row, {}) for row in rest]


def _each(state: Evaluator, call: Arguments) -> Value:
    """A method calling a function with each element."""
    _feed(state, [value for value in (call.receiver, *call.args) if isinstance(value, Thing)])
    found = state.callbacks(call.args, call.named, call.receiver)
    return [found] if found is not None else call.receiver if isinstance(call.receiver, list) else None


def _input(state: Evaluator, call: Arguments) -> Value:
    state.callbacks(call.args, call.named, Thing("stdin"))
    return Thing("stdin")


def _extract(state: Evaluator, call: Arguments) -> Value:
    value = call.first()
    state.write(texts(value) if value is not None else (".",) if not call.args else ANY)
    return None


CALLS: dict[str, Callable[[Evaluator, Arguments], Value]] = {
    **TEXT_CALLS,
    "read": _read, "contents": _contents, "unread": _unread, "idle": _idle, "write": _write, "remove": _write, "move": _move, "open": _open, "shell": _shell,
    "args": _args, "run": _run, "exec": _exec, "eval": _eval, "download": _download, "network": _network,
    "socket": _socket, "terminal": _terminal, "module": _module, "member": _member, "folder": _folder,
    "call": _call_of, "each": _each,
    "input": _input, "extract": _extract, "file": _file, "star": _star, "starts": _starts,
}  # fmt: skip
