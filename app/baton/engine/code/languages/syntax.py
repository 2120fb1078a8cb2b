"""Parse a text with a tree-sitter grammar, within limits on the work that it takes."""

import re
import warnings
from collections.abc import Iterable

from tree_sitter import Language, Node, Parser

from baton.engine.code import tree

MAX_NODES = 12_000
"""Parts of a text that are looked at."""
MAX_DEPTH = 120
"""Parts within parts that are followed."""
_SHORT = 400
"""Bytes up to which a text is parsed in one piece: error recovery is quadratic, which does not matter here yet."""
_CHUNK = 128
"""Bytes that the parser gets at a time. It asks for few of them twice, unless it recovers from errors."""

_STACKED = re.compile(rb"\b((?:\w{1,16}\s{1,4}){1,3})\1{30}")
"""The same few words again and again: `new new new`, of which the parsers keep all readings at once."""


def grammar(address: object) -> Language:
    """Make a language of what a grammar's package gives; older ones give a number, which is going to end."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return Language(address)


def parse(language: Language, src: bytes) -> Node | None:
    """Parse a text; None if that would take too much work.

    The parser belongs to this call alone: a long text is given to it in pieces by Python code, where another thread may
    go on, and a parser that is entered twice kills the process.
    """
    parser = Parser(language)
    if len(src) <= _SHORT:
        return parser.parse(src).root_node
    if _STACKED.search(src):
        return None
    looks = steps = 0
    most_looks = 100 + 10 * (len(src) // _CHUNK)
    most_steps = 60 + len(src) * 16 // 1024

    def chunk(offset: int, _point: object) -> bytes:
        nonlocal looks
        looks += 1
        return src[offset : offset + _CHUNK] if looks <= most_looks else b""

    def stop(_offset: int, _has_error: bool) -> bool:  # noqa: FBT001 (the parser calls it so)
        nonlocal steps
        steps += 1
        return steps > most_steps or looks > most_looks

    try:
        root = parser.parse(chunk, progress_callback=stop).root_node
    except ValueError:
        return None
    return None if looks > most_looks or root.descendant_count > MAX_NODES else root


class Reader:
    """Brings a parsed text to the common form: a method `on_<kind>` for each kind of node that matters."""

    def __init__(self, src: bytes) -> None:
        self.src = src
        self.depth = 0

    def text(self, node: Node | None) -> str:
        """Return the text of a node."""
        return self.src[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""

    def read(self, node: Node | None) -> tree.Node:
        """Bring one node to the common form; of a kind that does not matter, what is in it."""
        if node is None:
            return tree.NOTHING
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return tree.Unread("code that is nested too deep")
            found = getattr(self, f"on_{node.type}", None)
            return found(node) if found else self.group(node)
        finally:
            self.depth -= 1

    def all(self, nodes: Iterable[Node]) -> list[tree.Node]:
        """Bring nodes to the common form."""
        return [self.read(node) for node in nodes if node.type != "comment"]

    def group(self, node: Node, *, certain: bool = True) -> tree.Node:
        """Bring all that is in a node to the common form."""
        return tree.Group(self.all(node.named_children), certain)

    def perhaps(self, node: Node | None) -> tree.Node:
        """Bring a part that may not run to the common form."""
        return tree.NOTHING if node is None else tree.Group([self.read(node)], certain=False)

    def pieces(self, node: Node) -> tree.Node:
        """Bring a text with parts in it to the common form; what stands between the parts is literal."""
        found: list[tree.Node] = []
        at = node.start_byte
        for child in node.children:
            found.append(tree.Text(self.src[at : child.start_byte].decode("utf-8", "replace")))
            at = child.end_byte
            if child.type == "escape_sequence":
                found.append(tree.Text(unescape(self.text(child))))
            elif child.type in _FRAGMENTS and not child.child_count:
                found.append(tree.Text(self.text(child)))
            elif child.is_named:
                found.append(self.read(child))
            else:
                found.append(tree.Text(self.text(child)))
        found.append(tree.Text(self.src[at : node.end_byte].decode("utf-8", "replace") if node.child_count else ""))
        return tree.Join(found) if node.child_count else tree.Text(self.text(node))

    def on_program(self, node: Node) -> tree.Node:
        """Read the whole text."""
        return self.group(node)


def read_with(reader: type[Reader], language: Language, text: str, name: str) -> list[tree.Node]:
    """Parse a text and bring it to the common form."""
    src = text.encode("utf-8", "replace")
    root = parse(language, src)
    if root is None:
        return [tree.Unread("too much code")]
    found = [reader(src).read(root)]
    return [*found, tree.Unread(f"not valid {name}")] if root.has_error else found


_FRAGMENTS = frozenset(["string_content", "string_fragment", "heredoc_content", "string_value", "nowdoc_string"])
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0", "b": "\b", "e": "\x1b", "\n": ""}
_CODE = re.compile(r"(?:x|u\{?|x\{)([0-9a-fA-F]{1,6})\}?\Z")


def unescape(text: str) -> str:
    r"""Return what an escape (`\n`, `\x41`, `\u{1f600}`) stands for."""
    rest = text[1:]
    code = _CODE.match(rest)
    if code and int(code[1], 16) <= _LAST:
        return chr(int(code[1], 16))
    if rest[:1] in "01234567" and rest[1:2]:
        return chr(int(rest, 8) & 0xFF) if rest.isdigit() and not set(rest) & {"8", "9"} else rest
    return _ESCAPES.get(rest, rest)


_LAST = 0xD7FF  # the last code point before the surrogates
