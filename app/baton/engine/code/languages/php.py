"""Bring PHP to the common form."""

from collections.abc import Sequence

import tree_sitter_php
from tree_sitter import Language, Node

from baton.engine.code import tree
from baton.engine.code.languages.syntax import Reader, read_with, unescape
from baton.engine.code.model import UNKNOWN

_ONLY_CODE = Language(tree_sitter_php.language_php_only())
_IN_TEXT = Language(tree_sitter_php.language_php())


def read(text: str) -> Sequence[tree.Node]:
    """Read a program, with or without `<?php`."""
    return read_with(_Php, _IN_TEXT if "<?" in text else _ONLY_CODE, text, "PHP")


class _Php(Reader):
    """PHP's nodes. A variable keeps its `$`, so that it is no function of the same name."""

    def field(self, node: Node, name: str) -> tree.Node:
        return self.read(node.child_by_field_name(name))

    def on_name(self, node: Node) -> tree.Node:
        return tree.Name(self.text(node).lower() if self.text(node) not in _CONSTANTS else self.text(node))

    def on_qualified_name(self, node: Node) -> tree.Node:
        return tree.Name(self.text(node).rpartition("\\")[2].lower())

    def on_variable_name(self, node: Node) -> tree.Node:
        return tree.Name(self.text(node))

    def on_integer(self, node: Node) -> tree.Node:
        return tree.Text(self.text(node))

    def on_string(self, node: Node) -> tree.Node:
        return tree.Join([self.piece(child) for child in node.named_children])

    on_encapsed_string = on_heredoc_body = on_nowdoc_body = on_string

    def on_heredoc(self, node: Node) -> tree.Node:
        return self.field(node, "value") if node.child_by_field_name("value") else self.group(node)

    def piece(self, node: Node) -> tree.Node:
        if node.type in {"string_content", "string_value", "nowdoc_string"}:
            return tree.Text(self.text(node))
        return self.read(node)

    def on_escape_sequence(self, node: Node) -> tree.Node:
        return tree.Text(unescape(self.text(node)))

    def on_shell_command_expression(self, node: Node) -> tree.Node:
        return tree.Effect("shell_exec", [self.on_string(node)])

    def on_one(self, node: Node) -> tree.Node:
        """Read a node for what is in it."""
        return self.read(node.named_children[-1]) if node.named_children else tree.NOTHING

    on_argument = on_parenthesized_expression = on_expression_statement = on_error_suppression_expression = on_one
    on_variadic_unpacking = on_cast_expression = on_clone_expression = on_one

    def on_array_creation_expression(self, node: Node) -> tree.Node:
        items = [child for child in node.named_children if child.type == "array_element_initializer"]
        if items and all(len(item.named_children) == 2 for item in items):  # noqa: PLR2004 (a key and a value)
            keys = [self.text(item.named_children[0]).strip("\"'") for item in items]
            return tree.Mapping({key: self.read(item.named_children[1]) for key, item in zip(keys, items, strict=True)})
        return tree.Items([self.on_one(item) for item in items])

    def arguments(self, node: Node) -> list[tree.Node]:
        found = node.child_by_field_name("arguments")
        return self.all(found.named_children) if found is not None else []

    def on_function_call_expression(self, node: Node) -> tree.Node:
        function = node.child_by_field_name("function")
        args = self.arguments(node)
        if function is not None and function.type not in {"name", "qualified_name"}:
            return tree.Effect("call_user_func", [self.read(function), *args])
        return tree.Call(self.read(function), args)

    def on_member_call_expression(self, node: Node) -> tree.Node:
        name = self.text(node.child_by_field_name("name")).lower()
        return tree.Call(tree.Member(self.field(node, "object"), name), self.arguments(node))

    on_nullsafe_member_call_expression = on_member_call_expression

    def on_member_access_expression(self, node: Node) -> tree.Node:
        return tree.Member(self.field(node, "object"), self.text(node.child_by_field_name("name")))

    def on_scoped_call_expression(self, node: Node) -> tree.Node:
        name = self.text(node.child_by_field_name("name")).lower()
        return tree.Call(tree.Member(self.field(node, "scope"), name), self.arguments(node))

    def on_object_creation_expression(self, node: Node) -> tree.Node:
        parts = node.named_children
        args = [self.all(child.named_children) for child in parts if child.type == "arguments"]
        return tree.Call(tree.Member(self.read(parts[0] if parts else None), "new"), args[0] if args else [])

    def on_subscript_expression(self, node: Node) -> tree.Node:
        parts = node.named_children
        return tree.Index(self.read(parts[0]), self.read(parts[1]) if len(parts) > 1 else tree.NOTHING)

    def on_assignment_expression(self, node: Node) -> tree.Node:
        left = node.child_by_field_name("left")
        return tree.Group([tree.Assign((self.text(left),), self.field(node, "right")), tree.Name(self.text(left))])

    def on_augmented_assignment_expression(self, node: Node) -> tree.Node:
        left = node.child_by_field_name("left")
        return tree.Assign((self.text(left),), tree.Join([self.read(left), self.field(node, "right")]))

    def on_binary_expression(self, node: Node) -> tree.Node:
        sides = [self.field(node, "left"), self.field(node, "right")]
        operator = self.text(node.child_by_field_name("operator"))
        if operator == ".":
            return tree.Join(sides)
        return (
            tree.Either(sides)
            if operator in {"??", "||", "&&", "or", "and"}
            else tree.Group([*sides, tree.Text(UNKNOWN)])
        )

    def on_conditional_expression(self, node: Node) -> tree.Node:
        sides = [self.field(node, "body"), self.field(node, "alternative")]
        return tree.Group([self.field(node, "condition"), tree.Either(sides)])

    def on_if_statement(self, node: Node) -> tree.Node:
        parts = [self.field(node, "condition"), self.perhaps(node.child_by_field_name("body"))]
        return tree.Group([*parts, self.perhaps(node.child_by_field_name("alternative"))])

    def on_foreach_statement(self, node: Node) -> tree.Node:
        parts = [child for child in node.named_children if child.type != "comment"]
        name = parts[1] if len(parts) > 1 else None
        if name is not None and name.type == "pair":
            name = name.named_children[-1]
        return tree.Loop((self.text(name),), self.read(parts[0]), [self.field(node, "body")])

    def on_function_definition(self, node: Node) -> tree.Node:
        parameters = node.child_by_field_name("parameters")
        names = parameters.named_children if parameters is not None else []
        called = self.text(node.child_by_field_name("name")).lower() if node.type == "function_definition" else ""
        params = tuple([self.text(name.child_by_field_name("name")) for name in names])
        return tree.Function(called, params, [self.field(node, "body")], returns_last=node.type == "arrow_function")

    on_arrow_function = on_anonymous_function = on_method_declaration = on_function_definition
    on_anonymous_function_creation_expression = on_function_definition

    def on_return_statement(self, node: Node) -> tree.Node:
        return tree.Return(self.on_one(node))

    def on_include_expression(self, node: Node) -> tree.Node:
        return tree.Effect("include", [self.on_one(node)])

    on_include_once_expression = on_require_expression = on_require_once_expression = on_include_expression

    def on_php_tag(self, node: Node) -> tree.Node:
        del node
        return tree.NOTHING

    on_text = on_php_tag


_CONSTANTS = frozenset(
    ["PHP_EOL", "PHP_OS", "PHP_VERSION", "STDIN", "STDOUT", "STDERR", "PHP_BINARY", "DIRECTORY_SEPARATOR", "__DIR__"]
)
