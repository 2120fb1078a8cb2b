"""Convert Python to the common form, by Python's own parser."""

import ast
import re
from collections.abc import Callable, Sequence

from baton.lib.code import tree
from baton.lib.code.effects import read_table
from baton.lib.code.model import UNKNOWN

TABLE = read_table("python")

MAX_NESTING = 40  # maximum nesting of brackets, and of indentation. The parser retries deeper ones exponentially.
MAX_TOKENS = 6_000  # maximum words and signs of a string: parsing and converting take about 4 µs for each
_TOKENS = re.compile(r"\w+|[^\w\s]")
_BRACKET = re.compile(r"[()\[\]{}]")
_INDENT = re.compile(r"(?m)^[ \t]+")
_MAX_CHAIN = 400  # maximum operators in one line: the parser's tree of them is as deep
_OPERATORS = re.compile(r"[-+*/%~!<>=.&|^@]|\b(?:not|and|or|if|else|lambda|await|in|is)\b")
# Python 2: rejected by newer parsers; handled as far as literal calls show.
_OLD_PRINT = re.compile(r"(?m)((?:^|[;:])[ \t]*)print[ \t]+(?=[\"'\w])([^;\n]*)")
_OLD_EXEC = re.compile(r"(?m)((?:^|[;:])[ \t]*)exec[ \t]+(?=[\"'\w])([^;\n]*)")
_OLD_EXCEPT = re.compile(r"(except[ \t]+[\w.()]+),[ \t]*(\w+)[ \t]*:")


def read(text: str) -> Sequence[tree.Node]:
    """Read a program; invalid or deeply nested Python is `Unread`."""
    if len(_TOKENS.findall(text)) > MAX_TOKENS:
        return [tree.Unread("too much code")]
    if _too_deep(text):
        return [tree.Unread("code nested too deeply")]
    try:
        return [_statement(node) for node in _parse(text).body]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return [tree.Unread("not valid Python")]


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


def _block(nodes: Sequence[ast.stmt], *, certain: bool = True) -> tree.Group:
    return tree.Group([_statement(node) for node in nodes], certain)


def _statement(node: ast.AST) -> tree.Node:
    found = _STATEMENTS.get(type(node))
    return found(node) if found else _expression(node)


def _expression(node: ast.AST | None) -> tree.Node:
    if node is None:
        return tree.NOTHING
    found = _EXPRESSIONS.get(type(node))
    if found is not None:
        return found(node)
    return tree.Group([_expression(child) for child in ast.iter_child_nodes(node) if isinstance(child, _WITH_VALUES)])


_WITH_VALUES = (ast.expr, ast.keyword, ast.comprehension, ast.match_case, ast.stmt)


def _names(target: ast.AST) -> tuple[str, ...]:
    if isinstance(target, ast.Name):
        return (target.id,)
    if isinstance(target, ast.Tuple | ast.List):
        return tuple([item.id if isinstance(item, ast.Name) else "" for item in target.elts])
    return ("",)


def _assign(node: ast.Assign) -> tree.Node:
    value = _expression(node.value)
    targets = [_expression(t) for t in node.targets if isinstance(t, ast.Subscript)]
    return tree.Group([*targets, *[tree.Assign(_names(target), value) for target in node.targets]])


def _loop(node: ast.For | ast.AsyncFor) -> tree.Node:
    body = [_statement(child) for child in (*node.body, *node.orelse)]
    return tree.Loop(_names(node.target), _expression(node.iter), body)


def _with(node: ast.With | ast.AsyncWith) -> tree.Node:
    items = [_with_item(item) for item in node.items]
    return tree.Group([*items, *[_statement(child) for child in node.body]])


def _with_item(item: ast.withitem) -> tree.Node:
    value = _expression(item.context_expr)
    return tree.Assign(_names(item.optional_vars), value) if item.optional_vars is not None else value


def _branches(node: ast.If | ast.While | ast.Try) -> tree.Node:
    tried = isinstance(node, ast.Try)
    return tree.Group(
        [
            _expression(getattr(node, "test", None)),
            _block(node.body, certain=tried),
            *[_block(handler.body, certain=False) for handler in getattr(node, "handlers", [])],
            _block(node.orelse, certain=False),
            _block(getattr(node, "finalbody", [])),
        ]
    )


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tree.Node:
    found = tree.Function(node.name, _params(node.args), [_statement(child) for child in node.body])
    before = [_expression(part) for part in (*node.decorator_list, *node.args.defaults)]
    return tree.Group([*before, found]) if before else found


def _params(args: ast.arguments) -> tuple[str, ...]:
    return tuple([arg.arg for arg in (*args.posonlyargs, *args.args, *args.kwonlyargs)])


def _class(node: ast.ClassDef) -> tree.Node:
    made = tree.Function(node.name, (), [])
    return tree.Group([*[_expression(base) for base in node.bases], made, _block(node.body)])


def _import(node: ast.Import) -> tree.Node:
    return tree.Group(
        [tree.Use(a.name, a.asname) if a.asname else tree.Group([tree.Use(a.name, ""), tree.Use(a.name.partition(".")[0], a.name.partition(".")[0])])
         for a in node.names]
    )  # fmt: skip


def _import_from(node: ast.ImportFrom) -> tree.Node:
    module = node.module or ""
    if node.level:
        return tree.Unread("the project's own module is imported")
    parts = [
        tree.SyntaxEffect("import-*", [tree.Text(module)])
        if alias.name == "*"
        else tree.Assign((alias.asname or alias.name,), tree.Member(tree.Name(module), alias.name))
        for alias in node.names
    ]
    return tree.Group([tree.Use(module, ""), *parts])


def _call(node: ast.Call) -> tree.Node:
    args = [_expression(arg.value if isinstance(arg, ast.Starred) else arg) for arg in node.args]
    named = {keyword.arg: _expression(keyword.value) for keyword in node.keywords if keyword.arg}
    extra = [_expression(keyword.value) for keyword in node.keywords if not keyword.arg]
    found = tree.Call(_expression(node.func), args, named)
    return tree.Group([*extra, found]) if extra else found


def _constant(node: ast.Constant) -> tree.Node:
    value = node.value
    return tree.Text(value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value))


def _binary(node: ast.BinOp) -> tree.Node:
    sides = [_expression(node.left), _expression(node.right)]
    if isinstance(node.op, ast.Add):
        return tree.Join(sides)
    if isinstance(node.op, ast.Div):
        return tree.SyntaxEffect("/", sides)
    if isinstance(node.op, ast.Mod):
        return tree.SyntaxEffect("%", sides)
    return tree.Group([*sides, tree.Text(UNKNOWN)])


def _either(node: ast.IfExp | ast.BoolOp) -> tree.Node:
    if isinstance(node, ast.IfExp):
        return tree.Group([_expression(node.test), tree.Either([_expression(node.body), _expression(node.orelse)])])
    return tree.Either([_expression(value) for value in node.values])


def _subscript(node: ast.Subscript) -> tree.Node:
    if isinstance(node.slice, ast.Slice):
        step = node.slice.step
        turned = (
            isinstance(step, ast.UnaryOp)
            and isinstance(step.op, ast.USub)
            and not (node.slice.lower or node.slice.upper)
        )
        return tree.Subscript(_expression(node.value), tree.Text("::-1" if turned else UNKNOWN))
    return tree.Subscript(_expression(node.value), _expression(node.slice))


def _mapping(node: ast.Dict) -> tree.Node:
    named = {
        key.value: _expression(value)
        for key, value in zip(node.keys, node.values, strict=True)
        if isinstance(key, ast.Constant) and isinstance(key.value, str)
    }
    if len(named) == len(node.keys):
        return tree.Mapping(named)
    return tree.Group([_expression(child) for child in (*node.keys, *node.values)])


def _comprehension(node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> tree.Node:
    result = node.value if isinstance(node, ast.DictComp) else node.elt
    inner: tree.Node = tree.Assign(("",), _expression(result))
    for generator in reversed(node.generators):
        inner = tree.Loop(
            _names(generator.target), _expression(generator.iter), [*map(_expression, generator.ifs), inner]
        )
    if not isinstance(node, ast.DictComp):
        return tree.Group([inner, tree.Items([_expression(result)])])
    return inner


def _lambda(node: ast.Lambda) -> tree.Node:
    return tree.Function("", _params(node.args), [_expression(node.body)], returns_last=True)


def _negative(node: ast.UnaryOp) -> tree.Node:
    if isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return tree.Text("-" + str(node.operand.value))
    return tree.Group([_expression(node.operand), tree.Text(UNKNOWN)])


_Reader = Callable[..., tree.Node]
_STATEMENTS: dict[type[ast.AST], _Reader] = {
    ast.Expr: lambda node: _expression(node.value),
    ast.Assign: _assign,
    ast.AnnAssign: lambda node: tree.Assign(_names(node.target), _expression(node.value)),
    ast.AugAssign: lambda node: tree.Assign(
        _names(node.target), tree.Join([_expression(node.target), _expression(node.value)])
    ),
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
    ast.Return: lambda node: tree.Return(_expression(node.value)),
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Pass: lambda _node: tree.NOTHING,
}
if hasattr(ast, "TryStar"):
    _STATEMENTS[ast.TryStar] = _branches
_EXPRESSIONS: dict[type[ast.AST], _Reader] = {
    ast.Constant: _constant,
    ast.Name: lambda node: tree.Name(node.id),
    ast.Attribute: lambda node: tree.Member(_expression(node.value), node.attr),
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.BoolOp: _either,
    ast.IfExp: _either,
    ast.UnaryOp: _negative,
    ast.JoinedStr: lambda node: tree.Join([_expression(value) for value in node.values]),
    ast.FormattedValue: lambda node: _expression(node.value),
    ast.List: lambda node: tree.Items([_expression(item) for item in node.elts]),
    ast.Tuple: lambda node: tree.Items([_expression(item) for item in node.elts]),
    ast.Set: lambda node: tree.Items([_expression(item) for item in node.elts]),
    ast.Dict: _mapping,
    ast.Subscript: _subscript,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.NamedExpr: lambda node: tree.Assign(_names(node.target), _expression(node.value)),
    ast.Await: lambda node: _expression(node.value),
    ast.Starred: lambda node: _expression(node.value),
    ast.keyword: lambda node: _expression(node.value),
}
