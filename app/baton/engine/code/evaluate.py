"""Follow a program's known values through it, and note what it does, by its language's table."""

from collections.abc import Callable, Sequence
from typing import ClassVar

from baton.engine.code import tree, values
from baton.engine.code.calls import CALLS
from baton.engine.code.effects import READ
from baton.engine.code.model import UNKNOWN, is_known
from baton.engine.code.state import ALL_ARGUMENTS, DEEPEST, Arguments, OverBudgetError, State
from baton.engine.code.tree import Function, Node
from baton.engine.code.values import TAINTED, Bound, Ref, Thing, Value, texts

MAX_STEPS = 12_000
"""Parts of a program that are looked at, calls of its own functions counted each time."""

_CONTENTS = frozenset(["text", "content", "body", "data", "raw"])
_QUIET = TAINTED | {"file", "socket", "process"}
"""Objects whose other methods read; that they were opened or started is noted before."""


class Evaluator(State):
    """Evaluates one text."""

    def program(self, parts: Sequence[Node]) -> None:
        """Evaluate a whole program; functions that it defines and does not call count as called with anything."""
        try:
            self.body(parts)
            while self.pending:
                _, function = self.pending.popitem()
                self.apply(function, [])
        except (OverBudgetError, RecursionError):
            self.cannot_tell("too much code")

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
            if self.table.find(f"{module}.{node.name}"):
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
            # `process.env.HOME` is what the table lists as `process.env[]`, with the name as the key.
            effect = self.table.find(f"{of.path}[]") if self.table.find(path) is None else None
            return CALLS[effect.verb](self, Arguments(effect, [(name,)], {})) if effect else Ref(path)
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
        """Set a variable; where the assignment may not happen, it may keep what it had."""
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
        """Note an import: a module that is not known may be the project's own, and do anything."""
        path = self.table.aliases.get(path, path)
        first = path.partition(".")[0]
        if first not in self.table.modules and self.table.find(path) is None:
            if self.is_downloaded((path,)):
                self.tainted(Thing("download"))
            self.cannot_tell(f"`{path}` is imported")
        return Ref(path)

    def _not_read(self, node: tree.Unread) -> Value:
        self.cannot_tell(node.why)
        return None

    def _syntax(self, node: tree.Effect) -> Value:
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
        if isinstance(of, Thing) and of.kind in TAINTED:  # `response.text()`, which is an attribute elsewhere
            return of
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
            of, _, name = path.rpartition(".")
            effect = self.table.find("." + name)
            receiver = receiver if receiver is not None or not of else Ref(of)
        if effect is None and isinstance(receiver, Thing) and receiver.kind in _QUIET:
            effect = READ
        if effect is None:
            self.callbacks(args, named, receiver)
            self.cannot_tell(f"`{path.lstrip('.')}` is called")
            return None
        return CALLS[effect.verb](self, Arguments(effect, args, named, receiver))

    def apply(self, function: Function, args: Sequence[Value]) -> Value:
        """Evaluate a function of the text."""
        self.pending.pop(id(function), None)
        if self.depth >= DEEPEST:
            self.cannot_tell("calls within calls")
            return None
        outer = {name: self.scope.get(name) for name in function.params}
        for at, name in enumerate(function.params):
            self.scope[name] = args[at] if at < len(args) else None
        if function.params == (ALL_ARGUMENTS,):
            self.scope[ALL_ARGUMENTS] = list(args)
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

    def _index(self, node: tree.Index) -> Value:
        of, key = self.value(node.of), texts(self.value(node.key))
        name = key[0]
        if isinstance(of, Thing):
            # A part of what was downloaded, or came in as input, is so too.
            return of if of.kind in TAINTED else None
        if isinstance(of, Ref):
            effect = self.table.find(f"{of.path}[]")
            if effect is not None:
                return CALLS[effect.verb](self, Arguments(effect, [key], {}))
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
        tree.Index: _index,
        tree.Call: _call,
        tree.Either: _either,
        tree.Group: _group,
        tree.Assign: _assign,
        tree.Loop: _loop,
        tree.Function: _function,
        tree.Return: _returning,
        tree.Use: _use,
        tree.Unread: _not_read,
        tree.Effect: _syntax,
    }
