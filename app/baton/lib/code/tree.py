"""The common syntax of all languages for evaluation: expressions, assignments, loops, functions."""

from collections.abc import Sequence

import msgspec


class Node(msgspec.Struct, frozen=True):
    """A part of a program."""


class Text(Node, frozen=True):
    """A literal text or number."""

    value: str


class Join(Node, frozen=True):
    """Joined texts: a concatenation, an f-string, a template."""

    parts: Sequence[Node]


class Items(Node, frozen=True):
    """A list, a tuple or a set; also the keys of a mapping."""

    parts: Sequence[Node]


class Mapping(Node, frozen=True):
    """A mapping with literal keys."""

    values: dict[str, Node]


class Name(Node, frozen=True):
    """A variable, a function or a module."""

    name: str


class Member(Node, frozen=True):
    """An attribute: `of.name`."""

    of: Node
    name: str


class Subscript(Node, frozen=True):
    """An element: `of[key]`; the key `::-1` reverses the order."""

    of: Node
    key: Node


class Call(Node, frozen=True):
    """A call with its arguments; `named` are keyword arguments, or the keys of a mapping as last argument."""

    of: Node
    args: Sequence[Node] = ()
    named: dict[str, Node] = {}


class Either(Node, frozen=True):
    """One of several values: `a if c else b`, `a or b`."""

    parts: Sequence[Node]


class Group(Node, frozen=True):
    """Parts evaluated in order; the value is unknown. `certain` is False if they may not run."""

    parts: Sequence[Node]
    certain: bool = True


class Assign(Node, frozen=True):
    """`names = value`; several names unpack the value."""

    names: tuple[str, ...]
    value: Node


class Loop(Node, frozen=True):
    """`for names in over: body`."""

    names: tuple[str, ...]
    over: Node
    body: Sequence[Node]


class Function(Node, frozen=True):
    """A function; `name` is "" for an anonymous one. With `returns_last`, the last part's value is the result."""

    name: str
    params: tuple[str, ...]
    body: Sequence[Node]
    returns_last: bool = False


class Return(Node, frozen=True):
    """`return value`."""

    value: Node


class Use(Node, frozen=True):
    """An import of the module or member `path` under a name, or ""."""

    path: str
    name: str


class Unread(Node, frozen=True):
    """A construct without an equivalent in this form."""

    why: str


class SyntaxEffect(Node, frozen=True):
    """An effect of syntax, such as backticks: equal to a call of the table's name for it."""

    name: str
    args: Sequence[Node] = ()


NOTHING = Group(())
