"""What calls do, by the verb that a language's table has for them."""

import re
import shlex
from collections.abc import Callable, Sequence

from baton.engine.code import values
from baton.engine.code.model import is_known
from baton.engine.code.state import DEEPEST, Arguments, State
from baton.engine.code.text_calls import TEXT_CALLS
from baton.engine.code.tree import Function
from baton.engine.code.values import ANY, TAINTED, Bound, Ref, Thing, Value, texts

_WRITING = re.compile(r"[wax+>]")
_URL = re.compile(r"(?:https?|ftp)://")


def _read(state: State, call: Arguments) -> Value:
    found = state.callbacks(call.args, call.named, call.receiver)
    things = [value for value in (call.receiver, *call.args) if isinstance(value, Thing)]
    _feed(state, things)
    return next((value for value in things if value.kind in TAINTED), found)


def _feed(state: State, things: Sequence[Thing]) -> None:
    """Note that a download is written to a process (`process.stdin.write(download)`)."""
    if {"process", "download"} <= {value.kind for value in things}:
        state.fed = True


def _contents(state: State, call: Arguments) -> Value:
    """What a file holds: a download if the text has put one there."""
    found = _read(state, call)
    state.read(texts(call.first()))
    return Thing("download") if state.is_downloaded(texts(call.first())) else found


def _unread(state: State, call: Arguments) -> Value:
    state.callbacks(call.args, call.named, call.receiver)
    if call.effect.word == "a file is executed" and state.is_downloaded(texts(call.first())):
        state.tainted(Thing("download"))
    state.cannot_tell(call.effect.word or "a call that may do anything")
    return None


def _file(_state: State, _call: Arguments) -> Value:
    return Thing("file")


def _star(state: State, call: Arguments) -> Value:
    state.stars += texts(call.args[0])
    return None


def _idle(state: State, call: Arguments) -> Value:
    _feed(state, [value for value in (call.receiver, *call.args, *call.named.values()) if isinstance(value, Thing)])
    return (_unread if call.args or call.named else _read)(state, call)


def _write(state: State, call: Arguments) -> Value:
    # A function among the arguments is called: `fs.writeFile(path, data, () => …)`.
    state.callbacks(call.args, call.named, None)
    if call.effect.word == "urls" and any(_URL.match(text) for text in texts(call.at(0))):
        state.network = True
    for at in call.effect.at or (0,):
        value = call.at(at)
        # `File.delete(a, b)`: every argument from here on is a path.
        if call.effect.word == "each":
            flat = [value, *call.args[at + 1 :]]
            every = [item for one in flat for item in (one if isinstance(one, list) else [one])]
        else:
            every = value if isinstance(value, list) and value else [value]
        for item in every:
            state.write(texts(item), removes=call.effect.verb == "remove")
    return Thing("file") if call.effect.word == "file" else None


def _open(state: State, call: Arguments) -> Value:
    at, mode_at = call.effect.at
    path = texts(call.at(at, "file", "path", "name"))
    held = Thing("download" if state.is_downloaded(path) else "file")
    state.callbacks(call.args, {}, held)
    mode = call.at(mode_at)
    for name in ("mode", "flags", "flag"):
        mode = call.named.get(name, mode)
    if call.effect.word == "urls" and any(_URL.match(text) for text in path):
        state.network = True
        return Thing("download")
    # Ruby and Perl start the program behind a `|`.
    if call.effect.word == "urls" and any(text.lstrip().startswith("|") for text in path):
        for text in path:
            state.script((text.lstrip()[1:],), call.named)
        return None
    # PHP's own streams are no files.
    path = tuple([text for text in path if not text.startswith("php://")])
    if mode is None:
        # Without a mode a file is read; one that is there and has no known value may be for writing.
        given = len(call.args) > mode_at
        if given:
            state.cannot_tell("a file is opened in a way that is not known")
        state.read(path)
        return held
    if any(not is_known(text) for text in texts(mode)):
        state.cannot_tell("a file is opened in a way that is not known")
    if any(_WRITING.search(text) or text.isdigit() for text in texts(mode) if text != "0"):
        state.write(path)
        return Thing("file")
    state.read(path)
    return held


_TWO = re.compile(r"\s*(\+?[<>]{1,2}|\|)?\s*(.*?)\s*(\|?)\s*\Z", re.DOTALL)


def _open_three(state: State, call: Arguments) -> Value:
    """Perl's `open` with a mode: a file, or a command with its arguments."""
    mode = texts(call.at(0))[0]
    if "|" in mode:
        return _args(state, Arguments(call.effect, call.args[1:], call.named))
    if "&" in mode:  # a copy of a descriptor: a shell on a connection has one
        state.terminal = True
    elif ">" in mode or not is_known(mode):
        state.write(texts(call.at(1)))
    else:
        state.read(texts(call.at(1)))
    return Thing("file")


def _open_two(state: State, call: Arguments) -> Value:
    """Perl's `open` with one text for the mode and the path, or the command."""
    for text in texts(call.at(0)):
        found = _TWO.match(text)
        mode, path, pipe = (found[1] or "", found[2], found[3]) if found else ("", text, "")
        if mode == "|" or pipe:
            state.script((path,), {})
        elif path.startswith("&"):
            state.terminal = True
        elif ">" in mode:
            state.write((path,))
        elif not is_known(text[:1]):
            state.cannot_tell("a file is opened in a way that is not known")
        else:
            state.read((path,))
    return Thing("file")


def _shell(state: State, call: Arguments) -> Value:
    state.callbacks(call.args, call.named, None)
    named = dict(call.named)
    for part in call.args:
        if isinstance(part, dict):
            named |= part
    for at in call.effect.at or (0,):
        state.script(call.at(at), named)
    return Thing("process")


def _args(state: State, call: Arguments) -> Value:
    """All arguments are the program and its arguments; one alone is shell text."""
    parts = call.args[call.effect.at[0] :] if call.effect.at else call.args
    # Ruby takes the environment first, and options last.
    parts = [part for part in parts if not isinstance(part, dict)]
    named = dict(call.named)
    for part in call.args:
        if isinstance(part, dict):
            named |= part
    if not parts:
        state.cannot_tell("a command is run that is not known")
    elif len(parts) == 1 and not isinstance(parts[0], list):
        state.script(parts[0], named)
    else:
        state.argv(parts, named)
    state.callbacks(call.args, {}, None)
    return Thing("process")


def _run(state: State, call: Arguments) -> Value:
    """A list of arguments, or a text: what `subprocess` takes."""
    given = call.at(0, "args", "cmd", "command")
    if isinstance(given, dict):
        given = given.get("cmd")
    if any(isinstance(call.named.get(key), Thing | Bound) for key in ("stdin", "stdout")) and state.socket:
        state.terminal = True
    fed = call.named.get("input")
    if isinstance(given, list):
        state.argv(given, call.named)
    elif fed is not None and is_known(texts(fed)[0]):
        state.script(values.join([(f"printf %s {shlex.quote(texts(fed)[0])} | ",), texts(given)]), call.named)
    else:
        state.script(given, call.named)
    return Thing("process")


def _exec(state: State, call: Arguments) -> Value:
    """A program, then its arguments: a list (`argv`: with the program's name first), or the rest (`rest`)."""
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
    # Node's `shell: true` joins the words to a line, and what they hold is the shell's again.
    if shell is not None and shell not in (("false",), ("False",)):
        state.script(values.join([texts(value) for value in (program, *words)], " "), named)
    else:
        state.argv([program, *words], named)
    state.callbacks(call.args, {}, None)
    return Thing("process")


def _eval(state: State, call: Arguments) -> Value:
    value = call.first()
    if isinstance(value, Function):
        return state.apply(value, [])
    if isinstance(value, Thing) and value.kind in TAINTED:
        state.tainted(value)
        return None
    found: Value = None
    for text in texts(value):
        if not is_known(text) or state.depth >= DEEPEST:
            state.cannot_tell("code is executed that is not known")
            return None
        state.depth += 1
        found = state.body(state.reread(text))
        state.depth -= 1
    return found


def _download(state: State, call: Arguments) -> Value:
    state.network = True
    if call.effect.word == "to":
        state.write(texts(call.at(call.effect.at[0])))
    state.callbacks(call.args, call.named, Thing("download"))
    return Thing("download")


def _network(state: State, call: Arguments) -> Value:
    state.network = True
    state.callbacks(call.args, call.named, None)
    return None


def _socket(state: State, call: Arguments) -> Value:
    state.network = state.socket = True
    state.callbacks(call.args, call.named, Thing("socket"))
    return Thing("socket")


def _terminal(state: State, call: Arguments) -> Value:
    state.terminal = True
    if call.effect.at:
        return _run(state, call)
    return None


def _module(state: State, call: Arguments) -> Value:
    found = texts(call.first())
    if state.is_downloaded(found) and not found[0].endswith(".json"):
        state.tainted(Thing("download"))
        return None
    if found[0].endswith(".json"):
        state.read(found)
        return None
    if found == ANY:
        state.cannot_tell("a module is loaded that is not known")
        return None
    return state.import_(found[0].removeprefix("node:").replace("/", "."))


def _member(state: State, call: Arguments) -> Value:
    name = texts(call.at(1 if call.receiver is None else 0))
    of = call.args[0] if call.receiver is None and call.args else call.receiver
    return state.member_of(of, name[0]) if is_known(name[0]) else None


def _send(state: State, call: Arguments) -> Value:
    """A method whose name is a value: `Kernel.send(:system, "ls")`, `call_user_func("system", "ls")`."""
    name = texts(call.args[0])[0] if call.args else ""
    if not call.args or not is_known(name):
        return _unread(state, call)
    of = call.args[0] if isinstance(call.args[0], Function) else call.receiver
    function = of if isinstance(of, Function) else Ref(name) if of is None else state.member_of(of, name)
    return state.call_value(function, call.args[1:], call.named)


def _folder(state: State, call: Arguments) -> Value:
    inner = [value for value in call.args if isinstance(value, Function)]
    outer = state.folder
    state.folder = values.join_paths([outer, texts(call.first())])
    if inner:
        state.callbacks(inner, {}, None)
        state.folder = outer
    return None


def _call_of(state: State, call: Arguments) -> Value:
    """A function is given with its arguments (`Thread(target=f, args=…)`, `map(f, items)`)."""
    function = call.named.get("target", call.args[0] if call.args else None)
    given = call.named.get("args", call.args[1] if len(call.args) > 1 else None)
    rest: list[list[Value]] = [[element] for element in state.elements(given)]
    if "args" in call.named or (len(call.args) > 2):  # noqa: PLR2004
        rest = [given if isinstance(given, list) else call.args[1:]]
    if isinstance(function, tuple) and len(function) == 1 and is_known(function[0]):
        function = Ref(function[0])  # PHP names functions by texts
    if not isinstance(function, Function | Ref | Bound):
        return None
    return [state.call_value(function, row, {}) for row in rest]


def _each(state: State, call: Arguments) -> Value:
    """A method that calls a function with each element."""
    _feed(state, [value for value in (call.receiver, *call.args) if isinstance(value, Thing)])
    found = state.callbacks(call.args, call.named, call.receiver)
    return [found] if found is not None else call.receiver if isinstance(call.receiver, list) else None


def _input(state: State, call: Arguments) -> Value:
    state.callbacks(call.args, call.named, Thing("stdin"))
    return Thing("stdin")


def _extract(state: State, call: Arguments) -> Value:
    value = call.first()
    state.write(texts(value) if value is not None else (".",) if not call.args else ANY)
    return None


CALLS: dict[str, Callable[[State, Arguments], Value]] = {
    **TEXT_CALLS,
    "read": _read, "contents": _contents, "unread": _unread, "idle": _idle, "write": _write, "remove": _write, "open": _open, "shell": _shell,
    "args": _args, "run": _run, "exec": _exec, "eval": _eval, "download": _download, "network": _network,
    "socket": _socket, "terminal": _terminal, "module": _module, "member": _member, "folder": _folder,
    "call": _call_of, "each": _each,
    "input": _input, "extract": _extract, "file": _file, "star": _star, "send": _send, "three": _open_three, "two": _open_two,
}  # fmt: skip
