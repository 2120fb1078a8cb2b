"""Reads the outline of a source file: its definitions, their places, and other used names. Its text goes nowhere.

Python is read by its own parser, JavaScript and shell by their grammars, and other languages line by line by the usual
start of their definitions.
"""

import ast
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

import tree_sitter_bash
import tree_sitter_javascript
from tree_sitter import Language, Node, Parser

from baton.lib.text.quoting import first_odd, is_plain
from baton.shared.code_map import LONGEST_NAME, MOST_MENTIONS, MOST_SYMBOLS, Kind, Outline, Symbol

LARGEST = 512 * 1024
"""Bytes of a file that is read; larger ones are generated or data."""
LONGEST_LINE = 1_000
"""Characters of a line above which a file is taken to be minified."""
DEEPEST = 6
"""Levels of definitions within definitions that are looked at."""

LANGUAGES = {
    ".py": "python", ".pyi": "python", ".js": "javascript", ".jsx": "javascript", ".mjs": "javascript", ".cjs": "javascript",
    ".php": "php", ".rb": "ruby", ".rake": "ruby", ".pl": "perl", ".pm": "perl", ".sh": "shell", ".bash": "shell",
    ".ts": "typescript", ".tsx": "typescript", ".mts": "typescript", ".go": "go", ".rs": "rust", ".java": "java",
    ".kt": "kotlin", ".kts": "kotlin", ".scala": "scala", ".cs": "csharp", ".swift": "swift", ".c": "c", ".h": "c",
    ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp", ".lua": "lua", ".ex": "elixir", ".exs": "elixir", ".proto": "protobuf",
    ".sql": "sql", ".graphql": "graphql",
}  # fmt: skip
"""Languages by the ending of a file's name; other files are left out."""

_GRAMMARS = {"javascript": Language(tree_sitter_javascript.language()), "shell": Language(tree_sitter_bash.language())}
_NODES: dict[str, Kind] = {
    "class_declaration": "class", "class": "class", "function_declaration": "function", "function_definition": "function",
    "generator_function_declaration": "function", "method_definition": "method",
}  # fmt: skip
"""Nodes of the grammars that define something with a name."""

_MODIFIERS = (
    r"(?:(?:export|default|declare|abstract|async|public|private|protected|internal|static|final|sealed|open|override|virtual"
    r"|partial|data|inline|unsafe|extern|const|pub(?:\([\w:]+\))?)\s+)*"
)
_LINES: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (re.compile(rf"\s*{_MODIFIERS}(?:class|object|actor|impl|trait|mixin)\s+(?:<[^>]*>\s*)?([A-Za-z_]\w*)"), "class"),
    (
        re.compile(
            rf"\s*{_MODIFIERS}(?:interface|struct|enum|protocol|record|union|type|typealias|message|service|input|scalar)"
            r"\s+([A-Za-z_]\w*)"
        ),
        "type",
    ),
    (
        re.compile(rf"\s*{_MODIFIERS}(?:namespace|module|defmodule|mod|package)\s+([A-Za-z_][\w.]*)\s*(?:\{{|do\b)"),
        "module",
    ),
    (
        re.compile(
            rf"\s*{_MODIFIERS}(?:function\*?|func|fn|fun|def|defp|sub)\s+(?:\([^)]*\)\s*)?(?:\w+[.:])?([A-Za-z_$][\w$]*[?!]?)"
        ),
        "function",
    ),
    (
        re.compile(
            r"\s*(?:export\s+)?(?:const|let|var)\s+([A-Za-z_$][\w$]*)(?:\s*:[^=]+)?\s*="
            r"\s*(?:async\s*)?(?:\([^)]*\)|[A-Za-z_$][\w$]*)(?:\s*:[^=]+)?\s*=>"
        ),
        "function",
    ),
    (
        re.compile(
            rf"\s+{_MODIFIERS}(?:[\w<>\[\],.?&*:]+\s+)?"
            r"(?!(?:if|for|while|switch|catch|return|else|new|throw|await|do|when|match|using|lock|sizeof|function)\b)"
            r"([A-Za-z_]\w*)\s*\([^;]*\)\s*(?:(?:throws|where|const|override|:)[^;{]*)?\{"
        ),
        "method",
    ),
    (
        re.compile(
            r"(?!(?:if|for|while|switch|return|else|typedef)\b)(?:[A-Za-z_][\w:<>*&]*\s+)+[*&]*([A-Za-z_][\w:~]*)"
            r"\s*\([^;]*\)\s*(?:const\s*)?\{?\s*$"
        ),
        "function",
    ),
    (
        re.compile(
            r"(?i:\s*create\s+(?:or\s+replace\s+)?(?:table|view|function|procedure|type)\s+(?:if\s+not\s+exists\s+)?)"
            r"[\"\[]?([A-Za-z_][\w.]*)"
        ),
        "type",
    ),
)
"""How definitions begin in the languages that have no grammar here; the first that fits counts."""
_NAME = re.compile(r"[A-Za-z_$][\w$]{3,}")
_TELLING = re.compile(r"_|[a-z][A-Z]|^[A-Z]+[a-z]")


def outline(path: str, content: bytes) -> Outline | None:
    """Return the outline of a file; None if it is no source, too large, minified, or its name cannot be sent."""
    language = LANGUAGES.get(PurePosixPath(path).suffix.lower())
    if language is None or len(content) > LARGEST or b"\0" in content[:4_096] or not is_plain(path):
        return None
    text = content.decode("utf-8", "replace")
    if any(len(line) > LONGEST_LINE for line in text.split("\n", 50)[:50]):
        return None
    found = _symbols(language, text, content)
    sendable = set(
        _plain(list({name for one in found for name in (one.name, one.within) if len(name) <= LONGEST_NAME}))
    )
    found = [one for one in found if one.name in sendable and (not one.within or one.within in sendable)]
    # The outermost definitions are the most useful if a file has too many.
    kept = sorted(sorted(found, key=lambda one: one.within != "")[:MOST_SYMBOLS], key=lambda one: one.line)
    own = {one.name for one in found}
    used = Counter(
        name for name in _NAME.findall(text) if name not in own and _TELLING.search(name) and len(name) <= LONGEST_NAME
    )
    mentions = _plain([name for name, _ in used.most_common(MOST_MENTIONS)])
    return Outline(path=path, language=language, symbols=tuple(kept), mentions=tuple(mentions))


def _plain(names: list[str]) -> list[str]:
    """Return the names safe to send."""
    names = [name for name in names if name]
    return names if first_odd(names) is None else [name for name in names if is_plain(name)]


def _symbols(language: str, text: str, content: bytes) -> list[Symbol]:
    if language == "python":
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return list(_of_python(ast.parse(text).body, ""))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return list(_of_lines(text))
    grammar = _GRAMMARS.get(language)
    if grammar is not None:
        return list(_of_tree(Parser(grammar).parse(content).root_node, "", 0))
    return list(_of_lines(text))


def _of_python(body: list[ast.stmt], within: str, depth: int = 0) -> Iterator[Symbol]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield Symbol(node.name, "class", node.lineno, within)
            if depth < DEEPEST:
                yield from _of_python(node.body, node.name, depth + 1)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield Symbol(node.name, "method" if within else "function", node.lineno, within)
        elif isinstance(node, ast.Assign | ast.AnnAssign) and not within:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and target.id.isupper():
                    yield Symbol(target.id, "constant", node.lineno)
        elif isinstance(node, ast.If | ast.Try) and depth < DEEPEST:
            # Names under `if TYPE_CHECKING:` or in a `try:` are the module's own; an `else` mostly says the same ones again.
            yield from _of_python(node.body, within, depth + 1)


def _of_tree(node: Node, within: str, depth: int) -> Iterator[Symbol]:
    for child in node.named_children:
        kind = _NODES.get(child.type)
        name = _text(child.child_by_field_name("name")) if kind else ""
        if kind and name:
            yield Symbol(name, "method" if kind == "function" and within else kind, child.start_point[0] + 1, within)
        elif child.type == "variable_declarator" and _is_function(child.child_by_field_name("value")):
            yield Symbol(_text(child.child_by_field_name("name")), "function", child.start_point[0] + 1, within)
            # Names inside `const name = () => …` are local, as in a declared function.
            continue
        # Each level takes two steps of the tree: the class, and its body.
        if depth < 2 * DEEPEST and (not kind or kind == "class"):
            yield from _of_tree(child, name if kind == "class" and name else within, depth + 1)


def _is_function(node: Node | None) -> bool:
    return node is not None and node.type in {"arrow_function", "function_expression", "function", "class"}


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _of_lines(text: str) -> Iterator[Symbol]:
    holder, indent = "", 0
    for number, line in enumerate(text.splitlines(), 1):
        if len(line) > LONGEST_LINE or not line.strip():
            continue
        depth = len(line) - len(line.lstrip())
        for pattern, kind in _LINES:
            found = pattern.match(line)
            if found:
                # Without a grammar only the indent shows a class's members. A definition nested in a later function
                # counts as a method; a search finds it all the same.
                within = holder if holder and depth > indent else ""
                yield Symbol(found[1], "method" if kind == "function" and within else kind, number, within)
                if kind == "class" and not within:
                    holder, indent = found[1], depth
                break
