"""Convert JavaScript to the common form. TypeScript is read where it is equal."""

import re
from collections.abc import Iterable, Sequence

import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from baton.lib.code import tree
from baton.lib.code.effects import read_table
from baton.lib.code.model import UNKNOWN
from baton.lib.code.values import unescape

TABLE = read_table("javascript")

_LANGUAGE = Language(tree_sitter_javascript.language())
MAX_NODES = 12_000
MAX_DEPTH = 120
_SHORT = 400
"""Maximum bytes of a string parsed in one piece: error recovery is quadratic, which is harmless up to this size."""
_CHUNK = 128  # bytes given to the parser at a time. It rarely requests one twice, unless it recovers from errors.

_STACKED = re.compile(rb"\b((?:\w{1,16}\s{1,4}){1,3})\1{30}")
"""Endlessly repeated words: for `new new new`, the parsers keep all readings at once."""


def read(text: str) -> Sequence[tree.Node]:
    """Parse a program and convert it to the common form."""
    src = text.encode("utf-8", "replace")
    root = _parse(src)
    if root is None:
        return [tree.Unread("too much code")]
    found = [_JavaScript(src).read(root)]
    return [*found, tree.Unread("not valid JavaScript")] if root.has_error else found


def _parse(src: bytes) -> Node | None:
    """Parse a string; None if that would take too much work.

    The parser belongs to this call alone: Python code feeds a long text to it in pieces, another thread may run in
    between, and a parser entered twice crashes the process.
    """
    parser = Parser(_LANGUAGE)
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


class _JavaScript:
    """Converts a parsed text to the common form: a method `on_<kind>` for each relevant kind of node."""

    def __init__(self, src: bytes) -> None:
        self.src = src
        self.depth = 0

    def text(self, node: Node | None) -> str:
        return self.src[node.start_byte : node.end_byte].decode("utf-8", "replace") if node is not None else ""

    def read(self, node: Node | None) -> tree.Node:
        """Convert one node to the common form; for an irrelevant kind, its content."""
        if node is None:
            return tree.NOTHING
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                return tree.Unread("code nested too deeply")
            found = getattr(self, f"on_{node.type}", None)
            return found(node) if found else self.group(node)
        finally:
            self.depth -= 1

    def all(self, nodes: Iterable[Node]) -> list[tree.Node]:
        return [self.read(node) for node in nodes if node.type != "comment"]

    def group(self, node: Node, *, certain: bool = True) -> tree.Node:
        return tree.Group(self.all(node.named_children), certain)

    def perhaps(self, node: Node | None) -> tree.Node:
        """Convert a part that may not run."""
        return tree.NOTHING if node is None else tree.Group([self.read(node)], certain=False)

    def field(self, node: Node, name: str) -> tree.Node:
        return self.read(node.child_by_field_name(name))

    def on_identifier(self, node: Node) -> tree.Node:
        return tree.Name(self.text(node))

    on_shorthand_property_identifier = on_identifier
    on_import = on_identifier

    def on_string(self, node: Node) -> tree.Node:
        return tree.Join([self.piece(child) for child in node.named_children])

    def piece(self, node: Node) -> tree.Node:
        if node.type == "escape_sequence":
            return self.on_escape_sequence(node)
        return tree.Text(self.text(node)) if node.type == "string_fragment" else self.group(node)

    def on_escape_sequence(self, node: Node) -> tree.Node:
        return tree.Text(unescape(self.text(node)))

    def on_template_string(self, node: Node) -> tree.Node:
        return tree.Join(
            [
                self.read(child.named_children[0])
                if child.type == "template_substitution" and child.named_children
                else self.piece(child)
                for child in node.named_children
            ]
        )

    def on_number(self, node: Node) -> tree.Node:
        return tree.Text(self.text(node))

    on_true = on_false = on_number

    def on_regex(self, node: Node) -> tree.Node:
        del node
        return tree.Call(tree.Name("RegExp"))

    def on_array(self, node: Node) -> tree.Node:
        return tree.Items(self.all(node.named_children))

    def on_object(self, node: Node) -> tree.Node:
        found: dict[str, tree.Node] = {}
        rest: list[tree.Node] = []
        for child in node.named_children:
            if child.type == "pair":
                key = child.child_by_field_name("key")
                found[self.text(key).strip("\"'")] = self.field(child, "value")
            elif child.type == "shorthand_property_identifier":
                found[self.text(child)] = self.read(child)
            else:
                rest.append(self.read(child))
        return tree.Group([*rest, tree.Mapping(found)])

    def on_member_expression(self, node: Node) -> tree.Node:
        return tree.Member(self.field(node, "object"), self.text(node.child_by_field_name("property")))

    def on_subscript_expression(self, node: Node) -> tree.Node:
        return tree.Subscript(self.field(node, "object"), self.field(node, "index"))

    def on_call_expression(self, node: Node) -> tree.Node:
        arguments = node.child_by_field_name("arguments")
        if arguments is not None and arguments.type == "template_string":
            return tree.Call(self.field(node, "function"), [self.read(arguments)])
        return tree.Call(self.field(node, "function"), self.all(arguments.named_children) if arguments else [])

    def on_new_expression(self, node: Node) -> tree.Node:
        arguments = node.child_by_field_name("arguments")
        return tree.Call(self.field(node, "constructor"), self.all(arguments.named_children) if arguments else [])

    def on_spread_element(self, node: Node) -> tree.Node:
        return self.read(node.named_children[0]) if node.named_children else tree.NOTHING

    on_await_expression = on_parenthesized_expression = on_expression_statement = on_spread_element

    def on_binary_expression(self, node: Node) -> tree.Node:
        sides = [self.field(node, "left"), self.field(node, "right")]
        operator = self.text(node.child_by_field_name("operator"))
        if operator == "+":
            return tree.Join(sides)
        return tree.Either(sides) if operator in {"||", "??", "&&"} else tree.Group([*sides, tree.Text(UNKNOWN)])

    def on_ternary_expression(self, node: Node) -> tree.Node:
        sides = [self.field(node, "consequence"), self.field(node, "alternative")]
        return tree.Group([self.field(node, "condition"), tree.Either(sides)])

    def on_variable_declarator(self, node: Node) -> tree.Node:
        return self.assign(node.child_by_field_name("name"), self.field(node, "value"))

    def on_assignment_expression(self, node: Node) -> tree.Node:
        return self.assign(node.child_by_field_name("left"), self.field(node, "right"))

    def on_augmented_assignment_expression(self, node: Node) -> tree.Node:
        left = node.child_by_field_name("left")
        return self.assign(left, tree.Join([self.read(left), self.field(node, "right")]))

    def assign(self, target: Node | None, value: tree.Node) -> tree.Node:
        """Assign to a name, or to the names of a pattern."""
        if target is None or target.type not in {"object_pattern", "array_pattern"}:
            return tree.Assign((self.text(target) if target and target.type == "identifier" else "",), value)
        if target.type == "array_pattern":
            return tree.Assign(tuple([self.text(child) for child in target.named_children]) or ("",), value)
        parts: list[tree.Node] = [tree.Assign(("<pattern>",), value)]
        for child in target.named_children:
            key = child.child_by_field_name("key") or child
            name = child.child_by_field_name("value") or child
            member = tree.Member(tree.Name("<pattern>"), self.text(key))
            parts.append(
                self.assign(name, member) if name.type == "object_pattern" else tree.Assign((self.text(name),), member)
            )
        return tree.Group(parts)

    def on_import_statement(self, node: Node) -> tree.Node:
        source = self.text(node.child_by_field_name("source")).strip("\"'`").removeprefix("node:").replace("/", ".")
        parts: list[tree.Node] = [tree.Use(source, "<module>")]
        for child in node.named_children:
            if child.type == "import_clause":
                parts += self.imported(child)
        return tree.Group(parts)

    def imported(self, clause: Node) -> list[tree.Node]:
        module = tree.Name("<module>")
        found: list[tree.Node] = []
        for child in clause.named_children:
            if child.type == "identifier":
                found.append(tree.Assign((self.text(child),), module))
            elif child.type == "namespace_import":
                found.append(tree.Assign((self.text(child.named_children[0]),), module))
            for item in child.named_children if child.type == "named_imports" else ():
                name = self.text(item.child_by_field_name("name"))
                alias = self.text(item.child_by_field_name("alias")) or name
                found.append(tree.Assign((alias,), tree.Member(module, name)))
        return found

    def on_for_in_statement(self, node: Node) -> tree.Node:
        left = node.child_by_field_name("left")
        names = tuple(self.text(left).strip("[]{} ").replace(" ", "").split(",")) if left is not None else ("",)
        return tree.Loop(names, self.field(node, "right"), [self.field(node, "body")])

    def on_if_statement(self, node: Node) -> tree.Node:
        return tree.Group(
            [
                self.field(node, "condition"),
                self.perhaps(node.child_by_field_name("consequence")),
                self.perhaps(node.child_by_field_name("alternative")),
            ]
        )

    def on_return_statement(self, node: Node) -> tree.Node:
        return tree.Return(self.group(node) if not node.named_children else self.read(node.named_children[0]))

    def on_function_declaration(self, node: Node) -> tree.Node:
        parameters = node.child_by_field_name("parameters")
        one = node.child_by_field_name("parameter")
        names = [one] if one is not None else parameters.named_children if parameters is not None else []
        body = node.child_by_field_name("body")
        block = body is not None and body.type == "statement_block"
        parts = self.all(body.named_children) if block and body is not None else [self.read(body)]
        name = node.child_by_field_name("name")
        called = self.text(name) if node.type != "method_definition" else ""
        first = [tree.Assign(("",), self.field(item, "right")) for item in names if item.type == "assignment_pattern"]
        made = tree.Function(
            called, tuple([self.text(item).partition("=")[0].strip() for item in names]), parts, not block
        )
        return tree.Group([*first, made]) if first else made

    on_function_expression = on_arrow_function = on_generator_function_declaration = on_function_declaration
    on_generator_function = on_method_definition = on_function_declaration
