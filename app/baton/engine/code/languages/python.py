"""Bring Python to the common form, by its own parser."""

import ast
import re
from collections.abc import Callable, Sequence

from baton.engine.code.model import UNKNOWN
from baton.engine.code.tree import (
    NOTHING,
    Assign,
    Call,
    Effect,
    Either,
    Function,
    Group,
    Index,
    Items,
    Join,
    Loop,
    Mapping,
    Member,
    Name,
    Node,
    Return,
    Text,
    Unread,
    Use,
)  # fmt: skip

MAX_NESTING = 40
"""Brackets within each other, and levels of indentation. The parser tries deeper ones again and again."""
MAX_TOKENS = 6_000
"""Words and signs of a text: parsing them, and bringing the tree to the common form, takes about 4 µs for each."""
_TOKENS = re.compile(r"\w+|[^\w\s]")
_BRACKET = re.compile(r"[()\[\]{}]")
_INDENT = re.compile(r"(?m)^[ \t]+")
_MAX_CHAIN = 400
"""Operators in one line: the parser makes a tree of them that is as deep."""
_OPERATORS = re.compile(r"[-+*/%~!<>=.&|^@]|\b(?:not|and|or|if|else|lambda|await|in|is)\b")
_MAGIC = re.compile(r"(?m)^\s*[!%]{1,2}(?=\w)")
# Python 2: what a newer parser refuses, as far as literal calls show.
_OLD_PRINT = re.compile(r"(?m)((?:^|[;:])[ \t]*)print[ \t]+(?=[\"'\w])([^;\n]*)")
_OLD_EXEC = re.compile(r"(?m)((?:^|[;:])[ \t]*)exec[ \t]+(?=[\"'\w])([^;\n]*)")
_OLD_EXCEPT = re.compile(r"(except[ \t]+[\w.()]+),[ \t]*(\w+)[ \t]*:")


def read(text: str) -> Sequence[Node]:
    """Read a program; what is no Python, or too deep for the parser, is `Unread`."""
    if len(_TOKENS.findall(text)) > MAX_TOKENS:
        return [Unread("too much code")]
    if _too_deep(text):
        return [Unread("code that is nested too deep")]
    try:
        return [_statement(node) for node in _parse(text).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [Unread("not valid Python")]


def _parse(text: str) -> ast.Module:
    text = _dedent(text)
    try:
        return ast.parse(text)
    except SyntaxError:
        newer = _OLD_EXCEPT.sub(r"\1 as \2:", _OLD_PRINT.sub(r"\1print(\2)", _OLD_EXEC.sub(r"\1exec(\2)", text)))
        return ast.parse(newer)


def _dedent(text: str) -> str:
    first = re.match(r"(?:[ \t]*\n)*([ \t]+)\S", text)
    return re.sub(rf"(?m)^{first[1]}", "", text) if first else text


def _too_deep(text: str) -> bool:
    depth = deepest = 0
    for found in _BRACKET.finditer(text):
        depth += 1 if found[0] in "([{" else -1
        deepest = max(deepest, depth)
    if deepest > MAX_NESTING or any(len(found[0]) > MAX_NESTING * 4 for found in _INDENT.finditer(text)):
        return True
    joined = text.replace("\\\n", " ")
    return any(
        len(line) > _MAX_CHAIN and sum(1 for _ in _OPERATORS.finditer(line)) > _MAX_CHAIN for line in joined.split("\n")
    )


def _block(nodes: Sequence[ast.stmt], *, certain: bool = True) -> Group:
    return Group([_statement(node) for node in nodes], certain)


def _statement(node: ast.AST) -> Node:
    found = _STATEMENTS.get(type(node))
    return found(node) if found else _expression(node)


def _expression(node: ast.AST | None) -> Node:
    if node is None:
        return NOTHING
    found = _EXPRESSIONS.get(type(node))
    if found is not None:
        return found(node)
    return Group([_expression(child) for child in ast.iter_child_nodes(node) if isinstance(child, _WITH_VALUES)])


_WITH_VALUES = (ast.expr, ast.keyword, ast.comprehension, ast.match_case, ast.stmt)


def _names(target: ast.AST) -> tuple[str, ...]:
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.Tuple | ast.List):
        return tuple([item.id if isinstance(item, ast.Name) else "" for item in target.elts])
    return ("",)


def _assign(node: ast.Assign) -> Node:
    value = _expression(node.value)
    targets = [_expression(t) for t in node.targets if isinstance(t, ast.Subscript)]
    return Group([*targets, *[Assign(_names(target), value) for target in node.targets]])


def _loop(node: ast.For | ast.AsyncFor) -> Node:
    body = [_statement(child) for child in (*node.body, *node.orelse)]
    return Loop(_names(node.target), _expression(node.iter), body)


def _with(node: ast.With | ast.AsyncWith) -> Node:
    items = [_with_item(item) for item in node.items]
    return Group([*items, *[_statement(child) for child in node.body]])


def _with_item(item: ast.withitem) -> Node:
    value = _expression(item.context_expr)
    return Assign(_names(item.optional_vars), value) if item.optional_vars is not None else value


def _branches(node: ast.If | ast.While | ast.Try) -> Node:
    tried = isinstance(node, ast.Try)
    return Group(
        [
            _expression(getattr(node, "test", None)),
            _block(node.body, certain=tried),
            *[_block(handler.body, certain=False) for handler in getattr(node, "handlers", [])],
            _block(node.orelse, certain=False),
            _block(getattr(node, "finalbody", [])),
        ]
    )


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Node:
    found = Function(node.name, _params(node.args), [_statement(child) for child in node.body])
    before = [_expression(part) for part in (*node.decorator_list, *node.args.defaults)]
    return Group([*before, found]) if before else found


def _params(args: ast.arguments) -> tuple[str, ...]:
    return tuple([arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)])


def _class(node: ast.ClassDef) -> Node:
    made = Function(node.name, (), [])
    return Group([*[_expression(base) for base in node.bases], made, _block(node.body)])


def _import(node: ast.Import) -> Node:
    return Group(
        [Use(a.name, a.asname) if a.asname else Group([Use(a.name, ""), Use(a.name.partition(".")[0], a.name.partition(".")[0])])
         for a in node.names]
    )  # fmt: skip


def _import_from(node: ast.ImportFrom) -> Node:
    module = node.module or ""
    if node.level:
        return Unread("the project's own module is imported")
    parts = [
        Effect("import-*", [Text(module)])
        if alias.name == "*"
        else Assign((alias.asname or alias.name,), Member(Name(module), alias.name))
        for alias in node.names
    ]
    return Group([Use(module, ""), *parts])


def _call(node: ast.Call) -> Node:
    args = [_expression(arg.value if isinstance(arg, ast.Starred) else arg) for arg in node.args]
    named = {keyword.arg: _expression(keyword.value) for keyword in node.keywords if keyword.arg}
    extra = [_expression(keyword.value) for keyword in node.keywords if not keyword.arg]
    found = Call(_expression(node.func), args, named)
    return Group([*extra, found]) if extra else found


def _constant(node: ast.Constant) -> Node:
    value = node.value
    return Text(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _binary(node: ast.BinOp) -> Node:
    sides = [_expression(node.left), _expression(node.right)]
    if isinstance(node.op, ast.Add):
        return Join(sides)
    if isinstance(node.op, ast.Div):
        return Effect("/", sides)
    if isinstance(node.op, ast.Mod):
        return Effect("%", sides)
    return Group([*sides, Text(UNKNOWN)])


def _either(node: ast.IfExp | ast.BoolOp) -> Node:
    if isinstance(node, ast.IfExp):
        return Group([_expression(node.test), Either([_expression(node.body), _expression(node.orelse)])])
    return Either([_expression(value) for value in node.values])


def _subscript(node: ast.Subscript) -> Node:
    if isinstance(node.slice, ast.Slice):
        step = node.slice.step
        turned = (
            isinstance(step, ast.UnaryOp)
            and isinstance(step.op, ast.USub)
            and not (node.slice.lower or node.slice.upper)
        )
        return Index(_expression(node.value), Text("::-1" if turned else UNKNOWN))
    return Index(_expression(node.value), _expression(node.slice))


def _mapping(node: ast.Dict) -> Node:
    named = {
        key.value: _expression(value)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    if len(named) == len(node.keys):
        return Mapping(named)
    return Group([_expression(child) for child in (*node.keys, *node.values)])


def _comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Node:
    result = node.value if isinstance(node, ast.DictComp) else node.elt
    inner: Node = Assign(("",), _expression(result))
    for generator in reversed(node.generators):
        inner = Loop(_names(generator.target), _expression(generator.iter), [*map(_expression, generator.ifs), inner])
    if not isinstance(node, ast.DictComp):
        return Group([inner, Items([_expression(result)])])
    return inner


def _lambda(node: ast.Lambda) -> Node:
    return Function("", _params(node.args), [_expression(node.body)], returns_last=True)


def _negative(node: ast.UnaryOp) -> Node:
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return Text("-" + str(node.operand.value))
    return Group([_expression(node.operand), Text(UNKNOWN)])


_Reader = Callable[..., Node]
_STATEMENTS: dict[type[ast.AST], _Reader] = {
    ast.Expr: lambda node: _expression(node.value),
    ast.Assign: _assign,
    ast.AnnAssign: lambda node: Assign(_names(node.target), _expression(node.value)),
    ast.AugAssign: lambda node: Assign(_names(node.target), Join([_expression(node.target), _expression(node.value)])),
    ast.For: _loop,
    ast.AsyncFor: _loop,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.If: _branches,
    ast.While: _branches,
    ast.Try: _branches,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Return: lambda node: Return(_expression(node.value)),
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Pass: lambda _node: NOTHING,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _branches
_EXPRESSIONS: dict[type[ast.AST], _Reader] = {
    ast.Constant: _constant,
    ast.Name: lambda node: Name(node.id),
    ast.Attribute: lambda node: Member(_expression(node.value), node.attr),
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.BoolOp: _either,
    ast.IfExp: _either,
    ast.UnaryOp: _negative,
    ast.JoinedStr: lambda node: Join([_expression(value) for value in node.values]),
    ast.FormattedValue: lambda node: _expression(node.value),
    ast.List: lambda node: Items([_expression(item) for item in node.elts]),
    ast.Tuple: lambda node: Items([_expression(item) for item in node.elts]),
    ast.Set: lambda node: Items([_expression(item) for item in node.elts]),
    ast.Dict: _mapping,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.NamedExpr: lambda node: Assign(_names(node.target), _expression(node.value)),
    ast.Await: lambda node: _expression(node.value),
    ast.Starred: lambda node: _expression(node.value),
    ast.keyword: lambda node: _expression(node.value),
}
