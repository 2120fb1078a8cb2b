"""Follow a program's known values through it, and note what it does, by its language's table."""

import re
import shlex
from collections.abc import Callable, Sequence

from baton.engine.code import tree, values
from baton.engine.code.effects import Effect, Table
from baton.engine.code.model import UNKNOWN, Code, FileWrite, Run, is_known, variable
from baton.engine.code.tree import Function, Node
from baton.engine.code.values import ANY, Bound, Ref, Texts, Thing, Value, texts

MAX_STEPS = 12_000
"""Parts of a program that are looked at, calls of its own functions counted each time."""
MAX_FOUND = 256
"""Commands, and paths, that one text may name."""
_DEEPEST = 6
"""Calls of the text's own functions within each other that are followed, and texts that are executed by texts."""
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "cmd", "cmd.exe", "powershell", "pwsh"])
_WRITING = re.compile(r"[wax+>]")
_URL = re.compile(r"(?:https?|ftp)://")
_TAINTED = frozenset(["download", "stdin"])


class OverBudgetError(Exception):
    """A text has more parts than are looked at."""


class Evaluator:
    """Evaluates one text. `reread` brings a text that it executes as code (`eval`) to the common form."""

    def __init__(self, table: Table, reread: Callable[[str], Sequence[Node]]) -> None:
        self.table = table
        self.reread = reread
        self.scope: dict[str, Value] = {}
        self.writes: dict[FileWrite, None] = {}
        self.runs: dict[Run, None] = {}
        self.network = False
        self.runs_network = False
        self.runs_input = False
        self.unread = ""
        self.socket = False
        self.terminal = False
        self.shells = False
        self.steps = 0
        self.depth = 0
        self.certain = True
        self.folder: Texts = ("",)
        self.stars: list[str] = []
        self.pending: dict[int, Function] = {}
        self.returned: list[Value] = []

    def code(self) -> Code:
        """Return what was found."""
        return Code(
            writes=tuple(self.writes),
            runs=tuple(self.runs),
            network=self.network,
            runs_network=self.runs_network or (self.socket and (self.terminal or self.shells)),
            runs_input=self.runs_input,
            unread=self.unread,
        )

    def program(self, parts: Sequence[Node]) -> None:
        """Evaluate a whole program; functions that it defines and does not call count as called with anything."""
        try:
            self.body(parts)
            while self.pending:
                _, function = self.pending.popitem()
                self.apply(function, [])
        except (OverBudgetError, RecursionError):
            self.cannot_tell("too much code")

    def cannot_tell(self, why: str) -> None:
        """Note that a part cannot be told."""
        self.unread = self.unread or why

    def body(self, parts: Sequence[Node]) -> Value:
        """Evaluate statements; functions are known before they are reached."""
        for part in parts:
            if isinstance(part, Function) and part.name:
                self.scope[part.name] = part
                self.pending[id(part)] = part
        found: Value = None
        for part in parts:
            found = self.value(part)
        return found

    def value(self, node: Node) -> Value:
        """Evaluate one part."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise OverBudgetError
        return _EVALUATE[type(node)](self, node)

    # expressions

    def text(self, node: tree.Text) -> Value:
        return (node.value,)

    def joined(self, node: tree.Join) -> Value:
        parts = [self.value(part) for part in node.parts]
        tainted = [part for part in parts if isinstance(part, Thing) and part.kind in _TAINTED]
        if tainted:
            return tainted[0]
        if len(parts) > 1 and all(isinstance(part, list) for part in parts):
            return [item for part in parts if isinstance(part, list) for item in part]
        return values.join([texts(part) for part in parts])

    def items(self, node: tree.Items) -> Value:
        return [self.value(part) for part in node.parts]

    def mapping(self, node: tree.Mapping) -> Value:
        return {key: self.value(part) for key, part in node.values.items()}

    def name(self, node: tree.Name) -> Value:
        if UNKNOWN[0] in node.name:
            self.cannot_tell("a part of the code comes from the shell around it")
            return None
        if node.name in self.scope:
            return self.scope[node.name]
        constant = self.table.constants.get(node.name)
        if constant is not None:
            return (constant,)
        for module in self.stars:
            if self.table.find(f"{module}.{node.name}"):
                return Ref(f"{module}.{node.name}")
        return Ref(node.name)

    def member(self, node: tree.Member) -> Value:
        return self.member_of(self.value(node.of), node.name)

    def member_of(self, of: Value, name: str) -> Value:
        """Return an attribute of a value."""
        if isinstance(of, Ref):
            if name in {"__dict__", "default", "prototype"}:
                return of
            path = f"{of.path}.{name}"
            constant = self.table.constants.get(path)
            return (constant,) if constant is not None else Ref(path)
        if isinstance(of, dict):
            return of.get(name)
        if isinstance(of, Thing) and of.kind == "path" and name in {"parent", "dirname"}:
            return Thing("path", values.decode("parent", of.texts))
        return Bound(of, name)

    def either(self, node: tree.Either) -> Value:
        return values.either([self.value(part) for part in node.parts])

    def group(self, node: tree.Group) -> Value:
        outer = self.certain
        self.certain = outer and node.certain
        found = self.body(node.parts)
        self.certain = outer
        return found

    def function(self, node: Function) -> Value:
        self.pending[id(node)] = node
        return node

    def assign(self, node: tree.Assign) -> Value:
        value = self.value(node.value)
        if len(node.names) == 1:
            self.set(node.names[0], value)
        else:
            for at, name in enumerate(node.names):
                self.set(name, value[at] if isinstance(value, list) and at < len(value) else None)
        return value

    def set(self, name: str, value: Value) -> None:
        """Set a variable; where the assignment may not happen, it may keep what it had."""
        if not self.certain and self.scope.get(name) is not None:
            value = values.either([self.scope[name], value])
        self.scope[name] = value

    def loop(self, node: tree.Loop) -> Value:
        over = self.elements(self.value(node.over))
        if len(node.names) == 1:
            self.scope[node.names[0]] = values.either(over)
        else:
            for at, name in enumerate(node.names):
                column = [row[at] if isinstance(row, list) and at < len(row) else None for row in over]
                self.scope[name] = values.either(column)
        outer, self.certain = self.certain, False
        self.body(node.body)
        self.certain = outer
        return None

    def elements(self, value: Value) -> list[Value]:
        """Return what a loop over a value goes through."""
        if isinstance(value, list) and value and len(value) <= values.MOST:
            return value
        if isinstance(value, dict):
            return [(key,) for key in value]
        return [value if isinstance(value, Thing) and value.kind in _TAINTED else None]

    def returning(self, node: tree.Return) -> Value:
        self.returned.append(self.value(node.value))
        return None

    def use(self, node: tree.Use) -> Value:
        self.import_(node.path)
        if node.name:
            self.scope[node.name] = Ref(node.path)
        return None

    def import_(self, path: str) -> Ref:
        """Note an import: a module that is not known may be the project's own, and do anything."""
        first = path.partition(".")[0]
        if first not in self.table.modules and self.table.find(path) is None:
            self.cannot_tell(f"`{path}` is imported")
        return Ref(path)

    def not_read(self, node: tree.Unread) -> Value:
        self.cannot_tell(node.why)
        return None

    def syntax(self, node: tree.Effect) -> Value:
        return self.call_named(node.name, None, [self.value(arg) for arg in node.args], {})

    # calls

    def call(self, node: tree.Call) -> Value:
        of = self.value(node.of)
        args = [self.value(arg) for arg in node.args]
        return self.call_value(of, args, {name: self.value(arg) for name, arg in node.named.items()})

    def call_value(self, of: Value, args: list[Value], named: dict[str, Value]) -> Value:
        """Call a value."""
        if isinstance(of, Function):
            return self.apply(of, args)
        if isinstance(of, Ref):
            return self.call_named(of.path, None, args, named)
        if isinstance(of, Bound):
            return self.method(of, args, named)
        self.callbacks(args, named, None)
        self.cannot_tell("a function is called that is not known")
        return None

    def method(self, bound: Bound, args: list[Value], named: dict[str, Value]) -> Value:
        """Call a method of a value that is no module."""
        of, name = bound.of, bound.name
        if isinstance(of, Thing) and self.table.find(f"{of.kind}.{name}"):
            return self.call_named(f"{of.kind}.{name}", of, args, named)
        return self.call_named(f".{name}", of, args, named)

    def call_named(self, path: str, receiver: Value, args: list[Value], named: dict[str, Value]) -> Value:
        """Call by the table."""
        effect = self.table.find(path)
        if effect is None and "." in path[1:]:
            effect = self.table.find("." + path.rpartition(".")[2])
        if effect is None:
            self.callbacks(args, named, receiver)
            self.cannot_tell(f"`{path.lstrip('.')}` is called")
            return None
        return _CALL[effect.verb](self, effect, args, named, receiver)

    def apply(self, function: Function, args: Sequence[Value]) -> Value:
        """Evaluate a function of the text."""
        self.pending.pop(id(function), None)
        if self.depth >= _DEEPEST:
            self.cannot_tell("calls within calls")
            return None
        outer = {name: self.scope.get(name) for name in function.params}
        for at, name in enumerate(function.params):
            self.scope[name] = args[at] if at < len(args) else None
        self.depth += 1
        returned, self.returned = self.returned, []
        last = self.body(function.body)
        found = self.returned + ([last] if function.returns_last else [])
        self.returned = returned
        self.depth -= 1
        self.scope.update(outer)
        return values.either(found) if found else None

    def callbacks(self, args: Sequence[Value], named: dict[str, Value], receiver: Value) -> Value:
        """Call the functions among arguments, with what the receiver holds."""
        found: Value = None
        for value in (*args, *named.values()):
            if isinstance(value, Function):
                found = self.apply(value, [values.either(self.elements(receiver))])
            elif isinstance(value, Ref) and isinstance(receiver, Thing | list) and self.table.find(value.path):
                for element in self.elements(receiver):
                    found = self.call_named(value.path, None, [element], {})
        return found

    # what calls do

    def argument(self, at: int, args: Sequence[Value], named: dict[str, Value], receiver: Value, *names: str) -> Value:
        """Return an argument by its position, or by one of its names; -1 is the receiver."""
        if at < 0:
            return receiver
        for name in names:
            if name in named:
                return named[name]
        if at < len(args):
            return args[at]
        rest = [value for name, value in named.items() if name not in _OPTIONS]
        return rest[at - len(args)] if at - len(args) < len(rest) else None

    def write(self, paths: Texts, *, removes: bool = False) -> None:
        """Note paths that are written."""
        for path in paths:
            for place in self.folder:
                self.writes[FileWrite(_path(path, place), removes)] = None
        if len(self.writes) > MAX_FOUND:
            raise OverBudgetError

    def run(self, run: Run) -> None:
        """Note a command that is run."""
        self.runs[run] = None
        if len(self.runs) > MAX_FOUND:
            raise OverBudgetError
        words = run.words or tuple(run.script.split()[:3])
        if words and words[0].rpartition("/")[2] in _SHELLS and words[1:2] != ("-c",):
            self.shells = True

    def folders(self, named: dict[str, Value]) -> Texts:
        """Return the folder of a command (`cwd=`), or the folders if it may be several."""
        given = named.get("cwd") or named.get("chdir")
        if given is None:
            return self.folder
        return values.join_paths([self.folder, texts(given)])

    def script(self, value: Value, named: dict[str, Value]) -> None:
        """Note shell text that is run."""
        if isinstance(value, Thing) and value.kind in _TAINTED:
            self.tainted(value)
            return
        for text in texts(value):
            if not is_known(text[:1]) and text.strip().count(UNKNOWN[0]) == 2 and text.endswith(UNKNOWN[0]):  # noqa: PLR2004
                self.cannot_tell("a command is run that is not known")
                continue
            for folder in self.folders(named):
                self.run(Run(script=text, folder=folder))

    def argv(self, parts: Sequence[Value], named: dict[str, Value]) -> None:
        """Note an argument list that is run."""
        flat: list[Value] = []
        for part in parts:
            flat += part if isinstance(part, list) else [part]
        for part in flat:
            if isinstance(part, Thing) and part.kind in _TAINTED:
                self.tainted(part)
        program = texts(flat[0]) if flat else ANY
        if program == ANY:
            self.cannot_tell("a program is run that is not known")
            if len(flat) < 2:  # noqa: PLR2004 (the program alone)
                return
        words = [texts(part) for part in flat]
        # One command for each value of a word that differs; all combinations would be many.
        widest = max(len(word) for word in words)
        found = [tuple([word[min(at, len(word) - 1)] for word in words]) for at in range(widest)]
        given = named.get("input")
        for argv in found:
            for folder in self.folders(named):
                if given is not None and all(is_known(text) for text in texts(given)):
                    fed = " | ".join([f"printf %s {shlex.quote(texts(given)[0])}", shlex.join(argv)])
                    self.run(Run(script=fed, folder=folder))
                else:
                    self.run(Run(words=argv, folder=folder))

    def tainted(self, thing: Thing) -> None:
        """Note that what comes from the network, or from standard input, is executed."""
        if thing.kind == "stdin":
            self.runs_input = True
        else:
            self.runs_network = True
        self.cannot_tell("what is executed comes from elsewhere")


_OPTIONS = frozenset(
    ["cwd", "chdir", "shell", "check", "text", "capture_output", "encoding", "env", "timeout", "exist_ok", "parents",
     "ignore_errors", "newline", "errors", "recursive", "force", "stdout", "stderr", "stdin", "stdio", "input",
     "universal_newlines", "missing_ok", "dirs_exist_ok", "flag", "verbose", "noop", "secure", "buffering"]
)  # fmt: skip


def _path(path: str, folder: str) -> str:
    """Return a path as a shell would write it; `~` means nothing to a program."""
    if path.startswith("~"):
        path = f"./{path}"
    if folder and not path.startswith("/"):
        return values.join_paths([(folder,), (path,)])[0]
    return path


# Each verb of a table: (evaluator, effect, arguments, named arguments, receiver) → the call's value.

_Call = Callable[[Evaluator, Effect, list[Value], dict[str, Value], Value], Value]


def _read(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del effect
    found = self.callbacks(args, named, receiver)
    for value in (receiver, *args):
        if isinstance(value, Thing) and value.kind in _TAINTED:
            return value
    return found


def _unread(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    self.callbacks(args, named, receiver)
    self.cannot_tell(effect.word or "a call that may do anything")
    return None


def _file(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del self, effect, args, named, receiver
    return Thing("file")


def _star(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del effect, named, receiver
    self.stars += texts(args[0])
    return None


def _idle(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    return (_unread if args or named else _read)(self, effect, args, named, receiver)


def _write(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    self.callbacks(args, named, None)
    for at in effect.at or (0,):
        value = self.argument(at, args, named, receiver)
        if effect.word == "each":
            flat = [value, *args[at + 1 :]]
            every = [item for one in flat for item in (one if isinstance(one, list) else [one])]
        else:
            every = value if isinstance(value, list) and value else [value]
        for item in every:
            self.write(texts(item), removes=effect.verb == "remove")
    return Thing("file") if effect.word == "file" else None


def _open(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    at, mode_at = effect.at
    path = texts(self.argument(at, args, named, receiver, "file", "path", "name"))
    self.callbacks(args, {}, Thing("file"))
    mode = self.argument(mode_at, args, {}, receiver)
    for name in ("mode", "flags", "flag"):
        mode = named.get(name, mode)
    if effect.word == "urls" and any(_URL.match(text) for text in path):
        self.network = True
        return Thing("download")
    if effect.word == "urls" and any(text.lstrip().startswith("|") for text in path):
        for text in path:
            self.script((text.lstrip()[1:],), named)
        return None
    if mode is None:
        given = len(args) > mode_at
        if given:
            self.cannot_tell("a file is opened in a way that is not known")
        return Thing("file")
    if any(not is_known(text) for text in texts(mode)):
        self.cannot_tell("a file is opened in a way that is not known")
    if any(_WRITING.search(text) or text.isdigit() for text in texts(mode) if text != "0"):
        self.write(path)
    return Thing("file")


def _shell(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    self.callbacks(args, named, None)
    for at in effect.at or (0,):
        self.script(self.argument(at, args, named, receiver), named)
    return Thing("process")


def _args(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    """All arguments are the program and its arguments; one alone is shell text."""
    del receiver
    parts = args[effect.at[0] :] if effect.at else args
    # Ruby takes the environment first, and options last.
    parts = [part for part in parts if not isinstance(part, dict)]
    named = {**named, **{key: value for part in args if isinstance(part, dict) for key, value in part.items()}}
    if not parts:
        self.cannot_tell("a command is run that is not known")
    elif len(parts) == 1 and not isinstance(parts[0], list):
        self.script(parts[0], named)
    else:
        self.argv(parts, named)
    self.callbacks(args, {}, None)
    return Thing("process")


def _run(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    """A list of arguments, or a text: what `subprocess` takes."""
    del effect
    given = self.argument(0, args, named, receiver, "args", "cmd", "command")
    if any(isinstance(named.get(key), Thing | Bound) for key in ("stdin", "stdout")) and self.socket:
        self.terminal = True
    if isinstance(given, list):
        self.argv(given, named)
    else:
        self.script(given, named)
    return Thing("process")


def _exec(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    """A program, then its arguments: a list (`argv`: with the program's name first), or the rest (`rest`)."""
    at = effect.at[0]
    program = self.argument(at, args, named, receiver)
    after = args[at + 1 :]
    listed = [value for value in after if isinstance(value, list)]
    options = [value for value in after if isinstance(value, dict)]
    if options:
        named = {**options[0], **named}
    shell = named.get("shell")
    words: list[Value]
    if effect.word == "rest":
        words = list(after[1:])
    elif effect.word == "argv":
        words = listed[0][1:] if listed else [None] if after else []
    else:
        words = listed[0] if listed else [None] if after and after[0] is None else []
    if shell is not None and shell not in (("false",), ("False",)):
        self.script(values.join([texts(value) for value in (program, *words)], " "), named)
    else:
        self.argv([program, *words], named)
    self.callbacks(args, {}, None)
    return Thing("process")


def _eval(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    value = self.argument(effect.at[0] if effect.at else 0, args, named, receiver)
    if isinstance(value, Function):
        return self.apply(value, [])
    if isinstance(value, Thing) and value.kind in _TAINTED:
        self.tainted(value)
        return None
    for text in texts(value):
        if not is_known(text) or self.depth >= _DEEPEST:
            self.cannot_tell("code is executed that is not known")
            return None
        self.depth += 1
        found = self.body(self.reread(text))
        self.depth -= 1
    return found


def _download(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    self.network = True
    if effect.word == "to":
        self.write(texts(self.argument(effect.at[0], args, named, receiver)))
    self.callbacks(args, named, Thing("download"))
    return Thing("download")


def _network(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del effect, receiver
    self.network = True
    self.callbacks(args, named, None)
    return None


def _socket(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del effect, receiver
    self.network = self.socket = True
    self.callbacks(args, named, Thing("socket"))
    return Thing("socket")


def _terminal(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    self.terminal = True
    if effect.at:
        return _run(self, effect, args, named, receiver)
    return None


def _path_of(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del named
    given = [receiver, *args] if effect.at else args
    found = values.join_paths([texts(value) for value in given]) if given else (".",)
    return Thing("path", found) if effect.verb == "path" else found


def _same(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    return self.argument(effect.at[0] if effect.at else 0, args, named, receiver)


def _text(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del self, args, named, receiver
    found = re.sub(r"\$(\w+)", lambda match: variable(match[1]), effect.word)
    return Thing("path", (found,)) if effect.at else (found,)


def _decode(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    value = self.argument(effect.at[0] if effect.at else 0, args, named, receiver)
    if isinstance(value, Thing) and value.kind in _TAINTED:
        return value
    if effect.word == "chr" and isinstance(value, list):
        return values.join([values.decode("chr", texts(item)) for item in value])
    if effect.word == "chr" and len(args) > 1:
        return values.join([values.decode("chr", texts(item)) for item in args])
    found = values.decode(effect.word, texts(value))
    return Thing("path", found) if isinstance(value, Thing) and value.kind == "path" else found


def _list(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    """The names in a folder (`list`), or the paths that a pattern finds (`glob`)."""
    if effect.verb == "list":
        return [ANY]
    given = [self.argument(at, args, named, receiver) for at in effect.at]
    found = values.join_paths([texts(value) for value in given])
    return [Thing("path", found) if -1 in effect.at else found]


def _module(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    found = texts(self.argument(effect.at[0] if effect.at else 0, args, named, receiver))
    if found == ANY:
        self.cannot_tell("a module is loaded that is not known")
        return None
    return self.import_(found[0].removeprefix("node:").replace("/", "."))


def _member(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del effect
    name = texts(self.argument(1 if receiver is None else 0, args, named, receiver))
    of = args[0] if receiver is None and args else receiver
    return self.member_of(of, name[0]) if is_known(name[0]) else None


def _folder(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    inner = [value for value in args if isinstance(value, Function)]
    outer = self.folder
    self.folder = values.join_paths(
        [outer, texts(self.argument(effect.at[0] if effect.at else 0, args, named, receiver))]
    )
    if inner:
        self.callbacks(inner, {}, None)
        self.folder = outer
    return None


def _call_of(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    """A function is given with its arguments (`Thread(target=f, args=…)`, `map(f, items)`)."""
    del effect, receiver
    function = named.get("target", args[0] if args else None)
    given = named.get("args", args[1] if len(args) > 1 else None)
    rest: list[list[Value]] = [[element] for element in self.elements(given)]
    if "args" in named or (len(args) > 2):  # noqa: PLR2004
        rest = [given if isinstance(given, list) else args[1:]]
    if not isinstance(function, Function | Ref | Bound):
        return None
    return [self.call_value(function, row, {}) for row in rest]


def _each(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    """A method that calls a function with each element."""
    del effect
    found = self.callbacks(args, named, receiver)
    return [found] if found is not None else receiver if isinstance(receiver, list) else None


def _append(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del effect, named
    if isinstance(receiver, list) and len(receiver) < values.MOST:
        for value in args:
            receiver.extend(value if isinstance(value, list) else [value])
    self.callbacks(args, {}, None)
    return receiver


def _format(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    """Fill a pattern with arguments (`fill`), join a list (`join`), or replace a part (`replace`)."""
    if effect.word == "join":
        glue, listed = (receiver, args[0] if args else None) if effect.at else (args[0] if args else ("",), receiver)
        if not isinstance(listed, list) or len(texts(glue)) != 1:
            return None
        return values.join([texts(item) for item in listed], texts(glue)[0]) if listed else ("",)
    if effect.word == "replace":
        found = [texts(value) for value in (receiver, *args[:2])]
        if len(found) != 3 or any(len(one) != 1 or not is_known(one[0]) for one in found):  # noqa: PLR2004
            self.callbacks(args, named, None)
            return receiver if isinstance(receiver, Thing) else None
        return (found[0][0].replace(found[1][0], found[2][0])[: values.LONGEST],)
    if effect.word == "split":
        one = texts(receiver)
        glue = texts(args[0])[0] if args else None
        if len(one) != 1 or not is_known(one[0]) or (glue is not None and not glue):
            return None
        return [(piece,) for piece in one[0].split(glue)[: values.MOST]]
    pattern, given = (receiver, args) if effect.at == (-1,) else (args[0] if args else None, args[1:])
    flat = [item for value in given for item in (value if isinstance(value, list) else [value])]
    if named and isinstance(pattern, tuple):
        pattern = tuple([re.sub(r"\{([A-Za-z]\w*)\}", lambda m: texts(named.get(m[1]))[0], text) for text in pattern])
    return values.fill(texts(pattern), [texts(value) for value in flat])


def _environment(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    name = texts(self.argument(effect.at[0] if effect.at else 0, args, named, receiver))[0]
    return (variable(name),) if name.isidentifier() and is_known(name) else None


def _input(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    del effect, receiver
    self.callbacks(args, named, Thing("stdin"))
    return Thing("stdin")


def _extract(self: Evaluator, effect: Effect, args: list[Value], named: dict[str, Value], receiver: Value) -> Value:
    value = self.argument(effect.at[0] if effect.at else 0, args, named, receiver)
    self.write(texts(value) if value is not None else (".",) if not args else ANY)
    return None


_CALL: dict[str, _Call] = {
    "read": _read, "unread": _unread, "idle": _idle, "write": _write, "remove": _write, "open": _open, "shell": _shell,
    "args": _args, "run": _run, "exec": _exec, "eval": _eval, "download": _download, "network": _network,
    "socket": _socket, "terminal": _terminal, "path": _path_of, "join": _path_of, "same": _same, "text": _text,
    "decode": _decode, "list": _list, "glob": _list, "module": _module, "member": _member, "folder": _folder,
    "call": _call_of, "each": _each, "append": _append, "format": _format, "environment": _environment,
    "input": _input, "extract": _extract, "file": _file, "star": _star,
}  # fmt: skip


def _index(self: Evaluator, node: tree.Index) -> Value:
    of, key = self.value(node.of), texts(self.value(node.key))
    name = key[0]
    if isinstance(of, Thing):
        return of if of.kind in _TAINTED else None
    if isinstance(of, Ref):
        effect = self.table.find(f"{of.path}[]")
        if effect is not None:
            return _CALL[effect.verb](self, effect, [key], {}, None)
        return self.member_of(of, name) if name.isidentifier() and is_known(name) else None
    if isinstance(of, list) and name.lstrip("-").isdigit() and len(name) < 4:  # noqa: PLR2004 (a short number)
        return of[int(name)] if -len(of) <= int(name) < len(of) else None
    if isinstance(of, dict):
        return of.get(name)
    if name == "::-1":
        return of[::-1] if isinstance(of, list) else values.decode("reverse", texts(of))
    return None


_EVALUATE: dict[type[Node], Callable[[Evaluator, "Node | object"], Value]] = {
    tree.Text: Evaluator.text,  # type: ignore[dict-item]
    tree.Join: Evaluator.joined,  # type: ignore[dict-item]
    tree.Items: Evaluator.items,  # type: ignore[dict-item]
    tree.Mapping: Evaluator.mapping,  # type: ignore[dict-item]
    tree.Name: Evaluator.name,  # type: ignore[dict-item]
    tree.Member: Evaluator.member,  # type: ignore[dict-item]
    tree.Index: _index,  # type: ignore[dict-item]
    tree.Call: Evaluator.call,  # type: ignore[dict-item]
    tree.Either: Evaluator.either,  # type: ignore[dict-item]
    tree.Group: Evaluator.group,  # type: ignore[dict-item]
    tree.Assign: Evaluator.assign,  # type: ignore[dict-item]
    tree.Loop: Evaluator.loop,  # type: ignore[dict-item]
    tree.Function: Evaluator.function,  # type: ignore[dict-item]
    tree.Return: Evaluator.returning,  # type: ignore[dict-item]
    tree.Use: Evaluator.use,  # type: ignore[dict-item]
    tree.Unread: Evaluator.not_read,  # type: ignore[dict-item]
    tree.Effect: Evaluator.syntax,  # type: ignore[dict-item]
}
