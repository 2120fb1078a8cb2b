"""Bring Perl to the common form."""

import re
from collections.abc import Sequence

from tree_sitter import Language, Node

from baton.engine.code import tree
from baton.engine.code.languages.syntax import Reader, grammar, read_with, unescape
from baton.engine.code.model import UNKNOWN

_WORD = re.compile(r"-?\w+")
_HERE = re.compile(r"""<<(~?)(?:"([^"\n]*)"|'([^'\n]*)'|([A-Za-z_]\w*))""")
_NUMBER = re.compile(rb"\\(?:x\{[0-9a-fA-F]{1,6}\}|x[0-9a-fA-F]{1,2}|[0-7]{1,3})")
_LANGUAGE: Language | None = None
try:  # there is no wheel for macOS on Intel
    import tree_sitter_perl

    _LANGUAGE = grammar(tree_sitter_perl.language())
except ImportError:
    pass


def without_here_documents(text: str) -> str | None:
    """Return a program with its here-documents as quoted texts; None if it has other `<<` than these.

    The grammar's scanner may loop for ever on a here-document, and no limit of the parser reaches into a scanner.
    """
    lines = text.split("\n")
    out: list[str] = []
    at = 0
    while at < len(lines):
        line, at = lines[at], at + 1
        opened = list(_HERE.finditer(line))
        bodies: list[str] = []
        for one in opened:
            end = next((name for name in one.group(2, 3, 4) if name is not None), "")
            close = next((here for here in range(at, len(lines)) if _closes(lines[here], end, one[1])), -1)
            if close < 0:
                return None
            body = "\n".join([text.strip() if one[1] else text for text in lines[at:close]]) + "\n"
            at = close + 1
            bodies.append(_single_quoted(body) if one[3] is not None else _double_quoted(body))
        # From the last to the first: what is put in moves all that stands behind it.
        for one, body in zip(reversed(opened), reversed(bodies), strict=True):
            line = line[: one.start()] + body + line[one.end() :]
        out.append(line)
    made = "\n".join(out)
    return None if "<<" in made else made


def _closes(line: str, end: str, indented: str) -> bool:
    return (line.strip() if indented else line) == end


def _single_quoted(body: str) -> str:
    return "'" + body.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _double_quoted(body: str) -> str:
    return '"' + body.replace('"', '\\"').replace("<<", "<\\x3c") + '"'


def read(text: str) -> Sequence[tree.Node]:
    """Read a program that has no here-document; see `without_here_documents`."""
    if _LANGUAGE is None:
        return [tree.Unread("the grammar of Perl is not installed")]
    return read_with(_Perl, _LANGUAGE, text, "Perl")


class _Perl(Reader):
    """Perl's nodes. Variables keep their sigil away: `@a` and `$a[0]` are the same list."""

    def field(self, node: Node, name: str) -> tree.Node:
        return self.read(node.child_by_field_name(name))

    def on_source_file(self, node: Node) -> tree.Node:
        return self.group(node)

    def on_scalar(self, node: Node) -> tree.Node:
        if self.text(node) == "@_":
            return tree.Name("@_")
        return tree.Name("$" + self.text(node).lstrip("$@%{ ").rstrip("} "))

    on_array = on_hash = on_container_variable = on_scalar

    def on_number(self, node: Node) -> tree.Node:
        return tree.Text(self.text(node))

    on_autoquoted_bareword = on_number

    def on_bareword(self, node: Node) -> tree.Node:
        return tree.Name(self.text(node).replace("::", "."))

    def on_string_literal(self, node: Node) -> tree.Node:
        content = node.child_by_field_name("content")
        return self.pieces(content) if content is not None else tree.Text("")

    on_interpolated_string_literal = on_heredoc_content = on_string_literal

    def on_string_content(self, node: Node) -> tree.Node:
        return self.pieces(node)

    def pieces(self, node: Node) -> tree.Node:
        # The grammar marks the `\x` of `\x41` alone, and leaves the digits to the text behind it.
        found: list[tree.Node] = []
        at = node.start_byte
        for child in node.children:
            found.append(tree.Text(self.src[at : child.start_byte].decode("utf-8", "replace")))
            at = child.end_byte
            if child.type == "escape_sequence" and (number := _NUMBER.match(self.src, child.start_byte)):
                at = number.end()
                found.append(tree.Text(unescape(number[0].decode())))
            elif child.type == "escape_sequence":
                found.append(tree.Text(unescape(self.text(child))))
            else:
                found.append(self.read(child) if child.is_named else tree.Text(self.text(child)))
        found.append(tree.Text(self.src[at : node.end_byte].decode("utf-8", "replace")))
        return tree.Join(found)

    def on_escaped_delimiter(self, node: Node) -> tree.Node:
        return tree.Text(self.text(node)[1:])

    def on_quoted_word_list(self, node: Node) -> tree.Node:
        return tree.Items([tree.Text(word) for word in self.text(node.child_by_field_name("content")).split()])

    def on_list_expression(self, node: Node) -> tree.Node:
        return tree.Items(self.all(node.named_children))

    def on_parenthesized_expression(self, node: Node) -> tree.Node:
        parts = self.all(node.named_children)
        return parts[0] if len(parts) == 1 else tree.Items(parts)

    on_anonymous_array_expression = on_parenthesized_expression

    def on_command_string(self, node: Node) -> tree.Node:
        return tree.Effect("`", [self.on_string_literal(node)])

    def arguments(self, node: Node) -> list[tree.Node]:
        found = node.child_by_field_name("arguments")
        if found is None:
            return []
        return self.all(found.named_children) if found.type == "list_expression" else [self.read(found)]

    def on_function_call_expression(self, node: Node) -> tree.Node:
        name = self.text(node.child_by_field_name("function")).replace("::", ".").removeprefix("CORE.")
        args = self.arguments(node)
        if name == "open":
            return self.opened(args)
        return tree.Call(tree.Name(name), args)

    on_ambiguous_function_call_expression = on_function_call_expression

    def on_func1op_call_expression(self, node: Node) -> tree.Node:
        name = _WORD.match(self.text(node))
        return tree.Call(tree.Name(name[0] if name else ""), self.all(node.named_children))

    def on_func0op_call_expression(self, node: Node) -> tree.Node:
        return tree.Call(tree.Name(self.text(node).partition("(")[0]), [])

    def on_function(self, node: Node) -> tree.Node:
        return tree.Call(tree.Name(self.text(node).replace("::", ".")), [])

    def opened(self, args: list[tree.Node]) -> tree.Node:
        """Read `open`: with two arguments, the second has the mode in front of the path or the command."""
        if len(args) > 2:  # noqa: PLR2004 (a handle, a mode, a path or a command)
            return tree.Effect("open-three", args[1:])
        return tree.Group([tree.Effect("open-two", args[1:]), *args[:1]]) if args[1:] else tree.NOTHING

    def on_method_call_expression(self, node: Node) -> tree.Node:
        return tree.Call(
            tree.Member(self.field(node, "invocant"), self.text(node.child_by_field_name("method"))),
            self.arguments(node),
        )

    def on_coderef_call_expression(self, node: Node) -> tree.Node:
        parts = self.all(node.named_children)
        return tree.Call(parts[0], parts[1:]) if parts else tree.NOTHING

    def on_variable_declaration(self, node: Node) -> tree.Node:
        return self.group(node)

    def on_assignment_expression(self, node: Node) -> tree.Node:
        left = node.child_by_field_name("left")
        right = self.field(node, "right")
        if left is not None and left.type == "variable_declaration":
            names = left.children_by_field_name("variable") or left.children_by_field_name("variables")
            # `my ($a, $b) = @_`: the function's arguments, in their order.
            if self.text(node.child_by_field_name("right")) == "@_":
                parts = [tree.Index(right, tree.Text(str(at))) for at in range(len(names))]
                return tree.Group(
                    [tree.Assign((self.name(name),), part) for name, part in zip(names, parts, strict=True)]
                )
        else:
            names = [left] if left is not None else []
        operator = self.text(node.child_by_field_name("operator"))
        if operator in {".=", "+="} and len(names) == 1:
            return tree.Assign((self.name(names[0]),), tree.Join([self.read(names[0]), right]))
        # An array or a hash takes every value, also from a right side that is one call.
        if (len(names) == 1 and names[0].type in {"array", "hash"}) or (
            left is not None and self.text(left).startswith(("my @", "our @"))
        ):
            right = right if isinstance(right, tree.Items) else tree.Effect("list-of", [right])
        assigned = tree.Assign(tuple([self.name(name) for name in names]) or ("",), right)
        return (
            assigned
            if left is None or left.type in {"scalar", "array", "variable_declaration", "hash"}
            else tree.Group([self.read(left), assigned])
        )

    def name(self, node: Node) -> str:
        """Return the name of a variable."""
        found = self.on_scalar(node)
        return found.name if isinstance(found, tree.Name) and node.type in {"scalar", "array", "hash"} else ""

    def on_array_element_expression(self, node: Node) -> tree.Node:
        array = node.child_by_field_name("array") or (node.named_children[0] if node.named_children else None)
        return tree.Index(self.read(array), self.field(node, "index"))

    def on_hash_element_expression(self, node: Node) -> tree.Node:
        container = node.child_by_field_name("hash") or (node.named_children[0] if node.named_children else None)
        return tree.Index(self.read(container), self.field(node, "key"))

    def on_binary_expression(self, node: Node) -> tree.Node:
        sides = [self.field(node, "left"), self.field(node, "right")]
        operator = self.text(node.child_by_field_name("operator"))
        if operator == ".":
            return tree.Join(sides)
        return tree.Either(sides) if operator in {"//", "||"} else tree.Group([*sides, tree.Text(UNKNOWN)])

    def on_conditional_expression(self, node: Node) -> tree.Node:
        sides = [self.field(node, "consequent"), self.field(node, "alternative")]
        return tree.Group([self.field(node, "condition"), tree.Either(sides)])

    def on_conditional_statement(self, node: Node) -> tree.Node:
        return tree.Group([self.perhaps(child) for child in node.named_children])

    on_postfix_conditional_expression = on_conditional_statement

    def on_for_statement(self, node: Node) -> tree.Node:
        variable = node.child_by_field_name("variable")
        name = self.name(variable) if variable is not None else "$_"
        return tree.Loop((name,), self.field(node, "list"), [self.field(node, "block")])

    def on_postfix_for_expression(self, node: Node) -> tree.Node:
        parts = node.named_children
        return tree.Loop(("$_",), self.read(parts[-1]), self.all(parts[:-1]))

    def on_subroutine_declaration_statement(self, node: Node) -> tree.Node:
        name = self.text(node.child_by_field_name("name")).rpartition("::")[2]
        return tree.Function(name, ("@_",), [self.field(node, "body")], returns_last=True)

    def on_anonymous_subroutine_expression(self, node: Node) -> tree.Node:
        return tree.Function("", ("@_",), [self.field(node, "body")], returns_last=True)

    def on_eval_expression(self, node: Node) -> tree.Node:
        parts = node.named_children
        if parts and parts[0].type == "block":
            return self.group(node)
        return tree.Effect("eval", self.all(parts) or [tree.Name("$_")])

    def on_substitution_regexp(self, node: Node) -> tree.Node:
        modifiers = self.text(node.child_by_field_name("modifiers"))
        found = [child for child in node.children if child.type == "replacement"]
        if "e" in modifiers and found:
            return tree.Effect("eval", [tree.Text(self.text(found[0]))])
        return self.group(node)

    def on_regexp_content(self, node: Node) -> tree.Node:
        code = re.search(r"\(\?\??\{(.*?)\}\s*\)", self.text(node), re.DOTALL)
        return tree.Effect("eval", [tree.Text(code[1])]) if code else self.group(node)

    def on_use_statement(self, node: Node) -> tree.Node:
        module = self.text(node.child_by_field_name("module"))
        return tree.Use(module.replace("::", "."), "") if module else tree.NOTHING

    def on_require_expression(self, node: Node) -> tree.Node:
        parts = self.all(node.named_children)
        if len(parts) == 1 and isinstance(parts[0], tree.Name):
            return tree.Use(parts[0].name, "")
        return tree.Effect("do", parts)

    def on_filename(self, node: Node) -> tree.Node:  # of `do 'file'`; `do` with a block only groups
        return tree.Effect("do", self.all(node.named_children))

    def on_return_expression(self, node: Node) -> tree.Node:
        return tree.Return(self.group(node))

    def on_readline_expression(self, node: Node) -> tree.Node:
        return tree.Effect("readline", []) if b"STDIN" in self.src[node.start_byte : node.end_byte] else tree.NOTHING

    def on_glob_expression(self, node: Node) -> tree.Node:
        return tree.Effect("glob", [self.on_string_literal(node)])

    on_fileglob_expression = on_glob_expression
