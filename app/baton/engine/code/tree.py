"""The syntax that all languages are brought to before they are evaluated: expressions, assignments, loops, functions."""

from collections.abc import Sequence

import msgspec


class Node(msgspec.Struct, frozen=True):
    """A part of a program."""


class Text(Node, frozen=True):
    """A literal text or number."""

    value: str


class Join(Node, frozen=True):
    """Texts put together: a concatenation, an f-string, a template."""

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


class Index(Node, frozen=True):
    """An element: `of[key]`; the key `::-1` turns the order round."""

    of: Node
    key: Node


class Call(Node, frozen=True):
    """A call with its arguments; `named` are keyword arguments, or the keys of a last argument that is a mapping."""

    of: Node
    args: Sequence[Node] = ()
    named: dict[str, Node] = {}


class Either(Node, frozen=True):
    """One of several values: `a if c else b`, `a or b`."""

    parts: Sequence[Node]


class Group(Node, frozen=True):
    """Parts that are evaluated in their order; the value is not known. `certain` is False where they may not run."""

    parts: Sequence[Node]
    certain: bool = True


class Assign(Node, frozen=True):
    """`names = value`; several names take the value apart."""

    names: tuple[str, ...]
    value: Node


class Loop(Node, frozen=True):
    """`for names in over: body`."""

    names: tuple[str, ...]
    over: Node
    body: Sequence[Node]


class Function(Node, frozen=True):
    """A function; `name` is "" for one without a name. The last part's value is its result, if `returns_last`."""

    name: str
    params: tuple[str, ...]
    body: Sequence[Node]
    returns_last: bool = False


class Return(Node, frozen=True):
    """`return value`."""

    value: Node


class Use(Node, frozen=True):
    """An import of the module or member `path` under a name ("" if it has none)."""

    path: str
    name: str


class Unread(Node, frozen=True):
    """What a language's reader cannot bring to this form."""

    why: str


class Effect(Node, frozen=True):
    """Something that syntax itself does, such as backticks: the same as a call of the table's name for it."""

    name: str
    args: Sequence[Node] = ()


NOTHING = Group(())
