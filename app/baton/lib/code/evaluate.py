"""Trace known values through a program and note its effects, by its language's table."""

import posixpath
import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

import msgspec

from baton.lib.code import tree, values
from baton.lib.code.effects import READ, Effect, Table
from baton.lib.code.model import DECODED, UNKNOWN, Code, FileWrite, Run, is_known
from baton.lib.code.tree import Function, Node
from baton.lib.code.values import ANY, TAINTED, Bound, Ref, Texts, Thing, Value, texts

MAX_FOUND = 256  # maximum commands, and paths, of one text
DEEPEST = 6  # maximum nesting of followed calls, and of texts executed by texts
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "cmd", "cmd.exe", "powershell", "pwsh"])
_RUNS_ARGUMENTS = _SHELLS | {
    "python", "python3", "pypy3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "eval", "ssh", "xargs", "osascript",
}  # fmt: skip
"""Programs that may execute one of their arguments."""
_OPTIONS = frozenset(
    ["cwd", "chdir", "shell", "check", "text", "capture_output", "encoding", "env", "timeout", "exist_ok", "parents",
     "ignore_errors", "newline", "errors", "recursive", "force", "stdout", "stderr", "stdin", "stdio", "input", "stdin_data",
     "universal_newlines", "missing_ok", "dirs_exist_ok", "flag", "verbose", "noop", "secure", "buffering"]
)  # fmt: skip
MAX_STEPS = 12_000  # maximum evaluated parts of a program; calls of its own functions count each time

_CONTENTS = frozenset(["text", "content", "body", "data", "raw"])
_QUIET = TAINTED | {"file", "socket", "process"}
"""Objects whose other methods only read; opening or starting them has been noted before."""


class OverBudgetError(Exception):
    """A string has too many parts."""


class Arguments(msgspec.Struct, frozen=True):
    """A call's arguments and its effect in the table; `receiver` is a method's object."""

    effect: Effect
    args: list[Value]
    named: dict[str, Value]
    receiver: Value = None

    def at(self, at: int, *names: str) -> Value:
        """Return an argument by its position, or by one of its names; -1 is the receiver."""
        if at < 0:
            return self.receiver
        for name in names:
            if name in self.named:
                return self.named[name]
        if at < len(self.args):
            return self.args[at]
        rest = [value for name, value in self.named.items() if name not in _OPTIONS]
        return rest[at - len(self.args)] if at - len(self.args) < len(rest) else None

    def first(self) -> Value:
        """Return the first argument named by the table."""
        return self.at(self.effect.at[0] if self.effect.at else 0)


class Evaluator:
    """Evaluates one text: its findings, and the traced values.

    `calls` are the effects of the table's verbs; `reread` converts a string executed as code to the common form.
    """

    def __init__(
        self,
        table: Table,
        calls: Mapping[str, Callable[["Evaluator", Arguments], Value]],
        reread: Callable[[str], Sequence[Node]],
    ) -> None:
        self.table = table
        self.calls = calls
        self.reread = reread
        self.scope: dict[str, Value] = {}
        self.writes: dict[FileWrite, None] = {}
        self.reads: dict[str, None] = {}
        self.runs: dict[Run, None] = {}
        self.network = False
        self.runs_network = False
        self.runs_input = False
        self.unread = ""
        self.socket = False
        self.terminal = False
        self.shells = False
        self.fed = False
        self.files: set[str] = set()
        self.steps = 0
        self.depth = 0
        self.certain = True
        self.folder: Texts = ("",)
        self.stars: list[str] = []
        self.pending: dict[int, Function] = {}
        self.returned: list[Value] = []

    def code(self) -> Code:
        """Return the findings."""
        return Code(
            writes=tuple(self.writes),
            reads=tuple(self.reads),
            runs=tuple(self.runs),
            network=self.network,
            runs_network=self.runs_network
            or (self.fed and self.shells)
            or (self.socket and (self.terminal or self.shells)),
            runs_input=self.runs_input,
            unread=self.unread,
        )

    def cannot_tell(self, why: str) -> None:
        """Note that a part has an unknown effect."""
        self.unread = self.unread or why

    def elements(self, value: Value) -> list[Value]:
        """Return the elements of a loop over a value."""
        if isinstance(value, list) and value and len(value) <= values.MOST:
            return value
        if isinstance(value, dict):
            return [(key,) for key in value]
        return [value if isinstance(value, Ref) or (isinstance(value, Thing) and value.kind in TAINTED) else None]

    def write(self, paths: Texts, *, removes: bool = False) -> None:
        """Note written paths."""
        for path in paths:
            for place in self.folder:
                where = _path(path, place)
                self.writes[FileWrite(where, removes)] = None
                if not removes and is_known(where):
                    named = posixpath.normpath(where)
                    self.files |= {named, posixpath.splitext(named)[0]}  # imports omit the extension
        if len(self.writes) > MAX_FOUND:
            raise OverBudgetError

    def read(self, paths: Texts) -> None:
        """Note read paths; `0` is standard input."""
        for path in paths:
            if path and path != "0" and not path.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/")):
                self.reads.update({_path(path, place): None for place in self.folder})
        if len(self.reads) > MAX_FOUND:
            raise OverBudgetError

    def is_downloaded(self, paths: Texts) -> bool:
        """Return whether a file may contain a download: this text has written it, and uses the network."""
        if not (self.network and self.files):
            return False
        return any(posixpath.normpath(_path(path, place)) in self.files for path in paths for place in self.folder)

    def run(self, run: Run) -> None:
        """Note a run command."""
        self.runs[run] = None
        if len(self.runs) > MAX_FOUND:
            raise OverBudgetError
        words = run.words or tuple(run.script.split()[:3])
        if words and words[0].rpartition("/")[2] in _SHELLS and words[1:2] != ("-c",):
            self.shells = True

    def folders(self, named: dict[str, Value]) -> Texts:
        """Return the possible folders of a command (`cwd=`)."""
        given = named.get("cwd") or named.get("chdir")
        if given is None:
            return self.folder
        return values.join_paths([self.folder, texts(given)])

    def script(self, value: Value, named: dict[str, Value]) -> None:
        """Note executed shell text."""
        if isinstance(value, Thing) and value.kind in TAINTED:
            self.tainted(value)
            return
        for text in texts(value):
            if not is_known(text[:1]) and text.strip().count(UNKNOWN[0]) == 2 and text.endswith(UNKNOWN[0]):  # noqa: PLR2004
                self.cannot_tell("an unknown command is run")
                continue
            for folder in self.folders(named):
                self.run(Run(script=text, folder=folder, fed=_is_fed(named)))

    def argv(self, parts: Sequence[Value], named: dict[str, Value]) -> None:
        """Note an executed argument list."""
        flat: list[Value] = []
        for part in parts:
            flat += part if isinstance(part, list) else [part]
        for at, part in enumerate(flat):
            if isinstance(part, Thing) and part.kind in TAINTED:
                before = {text.rpartition("/")[2] for one in flat[:at] for text in texts(one)}
                if not at or not before.isdisjoint(_RUNS_ARGUMENTS):
                    self.tainted(part)
        program = texts(flat[0]) if flat else ANY
        if program == ANY:
            self.cannot_tell("an unknown program is run")
            if len(flat) < 2:  # noqa: PLR2004 (the program alone)
                return
        words = [texts(part) for part in flat]
        # One command for each value of a variable word; all combinations would be too many.
        widest = max(len(word) for word in words)
        found = [tuple([word[min(at, len(word) - 1)] for word in words]) for at in range(widest)]
        given = named.get("input")
        for argv in found:
            for folder in self.folders(named):
                if given is not None and all(is_known(text) for text in texts(given)):
                    fed = " | ".join([f"printf %s {shlex.quote(texts(given)[0])}", shlex.join(argv)])
                    self.run(Run(script=fed, folder=folder))
                else:
                    self.run(Run(words=argv, folder=folder, fed=_is_fed(named)))

    def feed_shell(self, program: Value, given: Value) -> None:
        """Note decoded text as the input of a shell."""
        name = texts(program[0] if isinstance(program, list) and program else program)[0].rpartition("/")[2]
        if isinstance(given, Thing) and given.kind.startswith("decoded") and name in _SHELLS:
            self.tainted(given)

    def tainted(self, thing: Thing) -> None:
        """Note that data from the network, or from standard input, is executed."""
        if thing.kind == "download":
            self.runs_network = True
        if thing.kind.endswith("stdin"):
            self.runs_input = True
        if thing.kind.startswith("decoded"):
            self.run(DECODED)
        self.cannot_tell("external data is executed")

    # The parts of a program

    def program(self, parts: Sequence[Node]) -> None:
        """Evaluate a whole program; its uncalled functions count as called with any arguments."""
        try:
            self.body(parts)
            while self.pending:
                _, function = self.pending.popitem()
                self.apply(function, [])
        except (OverBudgetError, RecursionError):
            self.cannot_tell("too much code")

    def body(self, parts: Sequence[Node]) -> Value:
        """Evaluate statements; functions are known before their definition is reached."""
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
        return self._EVALUATE[type(node)](self, node)

    def _text(self, node: tree.Text) -> Value:
        return (node.value,)

    def _joined(self, node: tree.Join) -> Value:
        parts = [self.value(part) for part in node.parts]
        tainted = [part for part in parts if isinstance(part, Thing) and part.kind in TAINTED]
        if tainted:
            return tainted[0]
        if len(parts) > 1 and all(isinstance(part, list) for part in parts):
            return [item for part in parts if isinstance(part, list) for item in part]
        return values.join([texts(part) for part in parts])

    def _items(self, node: tree.Items) -> Value:
        return [self.value(part) for part in node.parts]

    def _mapping(self, node: tree.Mapping) -> Value:
        return {key: self.value(part) for key, part in node.values.items()}

    def _name(self, node: tree.Name) -> Value:
        if UNKNOWN[0] in node.name:
            self.cannot_tell("a part of the code comes from the shell around it")
            return None
        if node.name in self.scope:
            return self.scope[node.name]
        constant = self.table.constants.get(node.name)
        if constant is not None:
            return (constant,)
        for module in self.stars:
            if self.table.effect(f"{module}.{node.name}"):
                return Ref(f"{module}.{node.name}")
        return Ref(node.name)

    def _member(self, node: tree.Member) -> Value:
        return self.member_of(self.value(node.of), node.name)

    def member_of(self, of: Value, name: str) -> Value:
        """Return an attribute of a value."""
        if isinstance(of, Ref):
            if name in {"__dict__", "default", "prototype"}:
                return of
            path = f"{of.path}.{name}"
            constant = self.table.constants.get(path)
            if constant is not None:
                return (constant,)
            # The table lists `process.env.HOME` as `process.env[]`, with the name as the key.
            effect = self.table.effect(f"{of.path}[]") if self.table.effect(path) is None else None
            return self.calls[effect.verb](self, Arguments(effect, [(name,)], {})) if effect else Ref(path)
        if isinstance(of, dict):
            return of.get(name)
        if isinstance(of, Thing) and of.kind in TAINTED and name in _CONTENTS:
            return of
        if isinstance(of, Thing) and of.kind == "process" and name == "stdin":
            return of
        if isinstance(of, Thing) and of.kind == "path" and name in {"parent", "dirname"}:
            return Thing("path", values.decode("parent", of.texts))
        return Bound(of, name)

    def _either(self, node: tree.Either) -> Value:
        return values.either([self.value(part) for part in node.parts])

    def _group(self, node: tree.Group) -> Value:
        outer = self.certain
        self.certain = outer and node.certain
        found = self.body(node.parts)
        self.certain = outer
        return found

    def _function(self, node: Function) -> Value:
        self.pending[id(node)] = node
        return node

    def _assign(self, node: tree.Assign) -> Value:
        value = self.value(node.value)
        if len(node.names) == 1:
            self.set(node.names[0], value)
        else:
            for at, name in enumerate(node.names):
                self.set(name, value[at] if isinstance(value, list) and at < len(value) else None)
        return value

    def set(self, name: str, value: Value) -> None:
        """Set a variable; after an uncertain assignment, it may have its old value."""
        if not self.certain and self.scope.get(name) is not None:
            value = values.either([self.scope[name], value])
        self.scope[name] = value

    def _loop(self, node: tree.Loop) -> Value:
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

    def _returning(self, node: tree.Return) -> Value:
        self.returned.append(self.value(node.value))
        return None

    def _use(self, node: tree.Use) -> Value:
        found = self.import_(node.path)
        if node.name:
            self.scope[node.name] = found
        return None

    def import_(self, path: str) -> Ref:
        """Note an import: an unknown module may be the project's own, and do anything."""
        path = self.table.aliases.get(path, path)
        if path.partition(".")[0] not in self.table.modules and self.table.effect(path) is None:
            if self.is_downloaded((path,)):
                self.tainted(Thing("download"))
            self.cannot_tell(f"`{path}` is imported")
        return Ref(path)

    def _not_read(self, node: tree.Unread) -> Value:
        self.cannot_tell(node.why)
        return None

    def _syntax(self, node: tree.SyntaxEffect) -> Value:
        return self.call_named(node.name, None, [self.value(arg) for arg in node.args], {})

    def _call(self, node: tree.Call) -> Value:
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
        if isinstance(of, Thing) and of.kind in TAINTED:  # `response.text()`, an attribute in other libraries
            return of
        self.callbacks(args, named, None)
        self.cannot_tell("an unknown function is called")
        return None

    def method(self, bound: Bound, args: list[Value], named: dict[str, Value]) -> Value:
        """Call a method of a value other than a module."""
        of, name = bound.of, bound.name
        if isinstance(of, Thing) and self.table.effect(f"{of.kind}.{name}"):
            return self.call_named(f"{of.kind}.{name}", of, args, named)
        return self.call_named(f".{name}", of, args, named)

    def call_named(self, path: str, receiver: Value, args: list[Value], named: dict[str, Value]) -> Value:
        """Call by the table."""
        effect = self.table.effect(path)
        if effect is None and "." in path[1:]:
            of, _, name = path.rpartition(".")
            effect = self.table.effect("." + name)
            receiver = receiver if receiver is not None or not of else Ref(of)
        if effect is None and isinstance(receiver, Thing) and receiver.kind in _QUIET:
            effect = READ
        if effect is None:
            self.callbacks(args, named, receiver)
            self.cannot_tell(f"`{path.lstrip('.')}` is called")
            return None
        return self.calls[effect.verb](self, Arguments(effect, args, named, receiver))

    def apply(self, function: Function, args: Sequence[Value]) -> Value:
        """Evaluate a function of the text."""
        self.pending.pop(id(function), None)
        if self.depth >= DEEPEST:
            self.cannot_tell("deeply nested calls")
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
        """Call the functions among arguments, with the receiver's elements."""
        found: Value = None
        for value in (*args, *named.values()):
            if isinstance(value, Function):
                found = self.apply(value, [values.either(self.elements(receiver))])
            elif isinstance(value, Ref) and isinstance(receiver, Thing | list) and self.table.effect(value.path):
                for element in self.elements(receiver):
                    found = self.call_named(value.path, None, [element], {})
        return found

    def _index(self, node: tree.Subscript) -> Value:
        of, key = self.value(node.of), texts(self.value(node.key))
        name = key[0]
        if isinstance(of, Thing):
            # A part of a download or an input counts as the same.
            return of if of.kind in TAINTED else None
        if isinstance(of, Ref):
            effect = self.table.effect(f"{of.path}[]")
            if effect is not None:
                return self.calls[effect.verb](self, Arguments(effect, [key], {}))
            return self.member_of(of, name) if name.isidentifier() and is_known(name) else None
        if isinstance(of, list) and name.lstrip("-").isdigit() and len(name) < 4:  # noqa: PLR2004 (a short number)
            return of[int(name)] if -len(of) <= int(name) < len(of) else None
        if isinstance(of, dict):
            return of.get(name)
        if name == "::-1":
            return of[::-1] if isinstance(of, list) else values.decode("reverse", texts(of))
        return None

    _EVALUATE: ClassVar[dict[type[Node], Callable[..., Value]]] = {
        tree.Text: _text,
        tree.Join: _joined,
        tree.Items: _items,
        tree.Mapping: _mapping,
        tree.Name: _name,
        tree.Member: _member,
        tree.Subscript: _index,
        tree.Call: _call,
        tree.Either: _either,
        tree.Group: _group,
        tree.Assign: _assign,
        tree.Loop: _loop,
        tree.Function: _function,
        tree.Return: _returning,
        tree.Use: _use,
        tree.Unread: _not_read,
        tree.SyntaxEffect: _syntax,
    }


def _is_fed(named: dict[str, Value]) -> bool:
    given = named.get("input", named.get("stdin_data"))
    return isinstance(given, Thing) and given.kind == "download"


def _path(path: str, folder: str) -> str:
    """Return a path in shell spelling; `~` has no meaning to a program."""
    if path.startswith("~"):
        path = f"./{path}"
    if folder and not path.startswith("/"):
        return values.join_paths([(folder,), (path,)])[0]
    return path
