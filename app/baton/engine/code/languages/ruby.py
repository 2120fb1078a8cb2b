"""Bring Ruby to the common form."""

import re
from collections.abc import Sequence

import tree_sitter_ruby
from tree_sitter import Node

from baton.engine.code import tree
from baton.engine.code.languages.syntax import Reader, grammar, read_with, unescape
from baton.engine.code.model import UNKNOWN

_LANGUAGE = grammar(tree_sitter_ruby.language())
_SINGLE_QUOTED = re.compile(r"\\(['\\])")


def read(text: str) -> Sequence[tree.Node]:
    """Read a program."""
    return read_with(_Ruby, _LANGUAGE, text, "Ruby")


class _Ruby(Reader):
    """Ruby's nodes."""

    def field(self, node: Node, name: str) -> tree.Node:
        return self.read(node.child_by_field_name(name))

    def on_identifier(self, node: Node) -> tree.Node:
        return tree.Name(self.text(node))

    on_constant = on_global_variable = on_instance_variable = on_identifier

    def on_integer(self, node: Node) -> tree.Node:
        return tree.Text(self.text(node))

    def on_simple_symbol(self, node: Node) -> tree.Node:
        return tree.Text(self.text(node).lstrip(":"))

    on_hash_key_symbol = on_simple_symbol

    def on_string(self, node: Node) -> tree.Node:
        # The grammar marks no escapes in single quotes, where only these two are any.
        if self.text(node)[:1] == "'":
            return tree.Text(_SINGLE_QUOTED.sub(r"\1", self.text(node)[1:-1]))
        return tree.Join([self.piece(child) for child in node.named_children])

    on_bare_string = on_heredoc_body = on_delimited_symbol = on_string

    def piece(self, node: Node) -> tree.Node:
        if node.type in {"string_content", "heredoc_content"}:
            return tree.Text(self.text(node))
        return self.read(node)

    def on_escape_sequence(self, node: Node) -> tree.Node:
        return tree.Text(unescape(self.text(node)))

    def on_interpolation(self, node: Node) -> tree.Node:
        return self.read(node.named_children[0]) if node.named_children else tree.Text("")

    on_parenthesized_statements = on_splat_argument = on_interpolation

    def on_chained_string(self, node: Node) -> tree.Node:
        return tree.Join(self.all(node.named_children))

    def on_subshell(self, node: Node) -> tree.Node:
        return tree.Effect("`", [self.on_string(node)])

    def on_array(self, node: Node) -> tree.Node:
        return tree.Items(self.all(node.named_children))

    on_string_array = on_symbol_array = on_array

    def on_hash(self, node: Node) -> tree.Node:
        found: dict[str, tree.Node] = {}
        for child in node.named_children:
            if child.type == "pair":
                key = self.text(child.child_by_field_name("key")).strip(":\"'")
                found[key] = self.field(child, "value")
        return tree.Mapping(found)

    def on_call(self, node: Node) -> tree.Node:
        receiver, method = node.child_by_field_name("receiver"), node.child_by_field_name("method")
        arguments = node.child_by_field_name("arguments")
        children = arguments.named_children if arguments is not None else []
        args = self.all([child for child in children if child.type != "pair"])
        named = {
            self.text(child.child_by_field_name("key")).strip(":\"'"): self.field(child, "value")
            for child in children
            if child.type == "pair"
        }
        block = node.child_by_field_name("block")
        if block is not None:
            args.append(self.read(block))
        name = self.text(method) or "call"
        of = tree.Name(name) if receiver is None else tree.Member(self.read(receiver), name)
        return tree.Call(of, args, named)

    def on_block(self, node: Node) -> tree.Node:
        parameters = node.child_by_field_name("parameters")
        names = [self.text(child) for child in parameters.named_children] if parameters is not None else ["it"]
        return tree.Function("", tuple(names), [self.field(node, "body")], returns_last=True)

    on_do_block = on_lambda = on_block

    def on_block_argument(self, node: Node) -> tree.Node:
        return tree.Group(self.all(node.named_children))

    def on_scope_resolution(self, node: Node) -> tree.Node:
        name = self.text(node.child_by_field_name("name"))
        scope = node.child_by_field_name("scope")
        return tree.Member(self.read(scope), name) if scope is not None else tree.Name(name)

    def on_element_reference(self, node: Node) -> tree.Node:
        parts = node.named_children
        key = self.read(parts[1]) if len(parts) > 1 else tree.NOTHING
        return tree.Index(self.read(parts[0]), key)

    def on_assignment(self, node: Node) -> tree.Node:
        left = node.child_by_field_name("left")
        names = [left] if left is None or left.type != "left_assignment_list" else left.named_children
        return tree.Assign(tuple([self.text(name) for name in names]), self.field(node, "right"))

    def on_operator_assignment(self, node: Node) -> tree.Node:
        left = node.child_by_field_name("left")
        return tree.Assign((self.text(left),), tree.Join([self.read(left), self.field(node, "right")]))

    def on_binary(self, node: Node) -> tree.Node:
        sides = [self.field(node, "left"), self.field(node, "right")]
        operator = self.text(node.child_by_field_name("operator"))
        if operator == "+":
            return tree.Join(sides)
        if operator == "<<":
            return tree.Assign((self.text(node.child_by_field_name("left")),), tree.Join(sides))
        if operator == "%":
            return tree.Effect("%", sides)
        if operator == "/":
            return tree.Effect("/", sides)
        return tree.Either(sides) if operator in {"||", "or", "&&", "and"} else tree.Group([*sides, tree.Text(UNKNOWN)])

    def on_conditional(self, node: Node) -> tree.Node:
        sides = [self.field(node, "consequence"), self.field(node, "alternative")]
        return tree.Group([self.field(node, "condition"), tree.Either(sides)])

    def on_if(self, node: Node) -> tree.Node:
        parts = [self.field(node, "condition")]
        parts += [self.perhaps(node.child_by_field_name(name)) for name in ("consequence", "alternative", "body")]
        return tree.Group(parts)

    on_unless = on_if_modifier = on_unless_modifier = on_elsif = on_if

    def on_for(self, node: Node) -> tree.Node:
        name = self.text(node.child_by_field_name("pattern"))
        return tree.Loop((name,), self.field(node, "value"), [self.field(node, "body")])

    def on_in(self, node: Node) -> tree.Node:
        return self.on_interpolation(node)

    def on_return(self, node: Node) -> tree.Node:
        return tree.Return(self.group(node))

    def on_method(self, node: Node) -> tree.Node:
        parameters = node.child_by_field_name("parameters")
        names = (
            [self.text(child).partition("=")[0].strip() for child in parameters.named_children] if parameters else []
        )
        name = self.text(node.child_by_field_name("name"))
        return tree.Function(name, tuple(names), [self.field(node, "body")], returns_last=True)

    on_singleton_method = on_method
