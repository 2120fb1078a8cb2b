"""Split a block into its pipelines, in source order.

tree-sitter nests `a | b && c`, and the code after a heredoc, wrongly but in the right order. So the tree is flattened
and reassembled by its operators.
"""

import re

from tree_sitter import Node

from baton.lib.bash import misreadings
from baton.lib.bash.expansion.words import BARE, LITERAL, QUOTED, Word
from baton.lib.bash.misreadings import UnreadableError

_TRANSPARENT = frozenset(
    ["list", "pipeline", "redirected_statement", "negated_command", "do_group", "elif_clause", "else_clause"]
)
_ELEMENTS = frozenset([
    "command", "variable_assignment", "variable_assignments", "declaration_command", "unset_command", "test_command",
    "subshell", "compound_statement", "if_statement", "while_statement", "for_statement", "c_style_for_statement",
    "case_statement", "function_definition",
])  # fmt: skip
_SEPARATORS = frozenset([
    ";", "\n", ";;", ";&", ";;&", "{", "}", "(", ")", "do", "done", "then", "fi", "if", "elif", "else", "while",
    "until",
])  # fmt: skip
_WORDS = frozenset([
    "word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "simple_expansion",
    "expansion", "command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression", "number",
    "$",
])  # fmt: skip
_DELIMITER = re.compile(rb"(?:'([\w.!@%+-]+)'|\"([\w.!@%+-]+)\"|\\([\w.!@%+-]+)|([\w.!@%+-]+))\Z")


class Heredoc:
    """A heredoc. `src[start:end]` is its body, `nodes` its expansions; `literal`: the delimiter is quoted.

    `descriptor` is the number before the operator, "" for standard input.
    """

    __slots__ = ("delimiter", "descriptor", "end", "literal", "nodes", "start", "strips")

    def __init__(self, redirect: Node, src: bytes) -> None:
        operator = next((child for child in redirect.children if child.type in {"<<", "<<-"}), None)
        start = next((child for child in redirect.children if child.type == "heredoc_start"), None)
        found = _DELIMITER.match(src[start.start_byte : start.end_byte]) if start else None
        if found is None or operator is None:
            misreadings.rewrite(src)
            raise UnreadableError("a heredoc with an unsupported delimiter")
        first = redirect.children[0]
        self.descriptor = src[first.start_byte : first.end_byte].decode() if first.type == "file_descriptor" else ""
        self.strips = operator.type == "<<-"
        self.literal = found[4] is None
        self.delimiter: bytes = found[1] or found[2] or found[3] or found[4]
        self.nodes: list[Node] = []
        self.start = -1
        self.end = -1

    def begin(self, src: bytes, at: int) -> None:
        """Set the start of the body; `at` is the end of the redirection's line."""
        line_end = src.find(b"\n", at)
        if line_end < 0 or src[at:line_end].strip(b" \t"):
            misreadings.rewrite(src)
            raise UnreadableError("a heredoc with an ambiguous end")
        self.start = line_end + 1

    def finish(self, src: bytes, node: Node) -> None:
        """Check the body's end: the first line equal to the delimiter."""
        self.end = src.rfind(b"\n", 0, node.start_byte) + 1
        tabs = src[self.end : node.start_byte]
        lines = src[self.start : self.end].split(b"\n")
        if self.strips:
            lines = [line.lstrip(b"\t") for line in lines]
        rest = src[node.end_byte : node.end_byte + 1]
        if (
            (tabs.strip(b"\t") if self.strips else tabs)
            or self.end < self.start
            or self.delimiter in lines
            or src[node.start_byte : node.end_byte] != self.delimiter
            or rest not in {b"", b"\n"}
        ):
            misreadings.rewrite(src)
            raise UnreadableError("a heredoc with an ambiguous end")


class Element:
    """One command of a pipeline with its later redirections and words; `node` is None for redirections alone.

    A command read without the parser (`plain_lines`) has only `words`.
    """

    __slots__ = ("extra", "heredoc", "node", "redirects", "words")

    def __init__(self, node: Node | None) -> None:
        self.node = node
        self.words: list[Word] | None = None
        self.redirects: list[Node] = []
        self.extra: list[Node] = []
        self.heredoc: Heredoc | None = None


class Pipeline:
    """Commands joined by `|`. `after` is the operator before it: `&&`, `||` or ""."""

    __slots__ = ("after", "background", "elements")

    def __init__(self, after: str) -> None:
        self.after = after
        self.background = False
        self.elements: list[Element] = []


def _escaped(src: bytes, node: Node) -> bool:
    before = src[max(0, node.start_byte - 100) : node.start_byte]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


class _Flattener:
    """Visits the leaves of a block in order and assembles pipelines.

    `at` is the end of the last leaf: the text up to the next one is checked, since the parser drops unknown text.
    `separated` is True after an operator, `piped` after `|`; `after` is the last `&&` or `||`. `pending` is a heredoc
    before its body: the body follows at the end of the line, after other commands.
    """

    def __init__(self, src: bytes, start: int) -> None:
        self.src = src
        self.at = start
        self.found: list[Pipeline] = []
        self.element: Element | None = None
        self.pending: Heredoc | None = None
        self.separated = True
        self.piped = False
        self.after = ""

    def feed(self, node: Node, kind: str, todo: list[Node]) -> None:
        start, end = node.start_byte, node.end_byte
        if kind in _ELEMENTS:
            misreadings.between(self.src, self.at, start, separated=self.separated)
            self.add(node)
        elif kind in {"|", "|&", "&&", "||", "&", "!"} or kind in _SEPARATORS:
            misreadings.between(self.src, self.at, start, separated=True)
            self.operator(kind)
        elif kind in {"file_redirect", "herestring_redirect", "heredoc_redirect"}:
            self.redirect(node, kind, todo)
            if kind == "heredoc_redirect":
                return
        elif kind == "comment":
            misreadings.between(self.src, self.at, start, separated=True)
            misreadings.comment(self.src, start, end)
            if not self.separated:
                self.operator(";")
        elif kind in {"heredoc_body", "heredoc_end"} and self.pending:
            self.heredoc(self.pending, node, kind)
        elif kind in _WORDS and self.element is not None and not self.separated:
            # Words after a heredoc's `<<E` are separate nodes; in bash they are arguments of the command.
            dollar = self.element.extra and self.element.extra[-1].type == "$"
            (misreadings.within if dollar else misreadings.apart)(self.src, self.at, start)
            self.element.extra.append(node)
        else:
            raise UnreadableError(f"`{kind}` instead of a command")
        self.at = end

    def heredoc(self, pending: Heredoc, node: Node, kind: str) -> None:
        if pending.start < 0:
            pending.begin(self.src, self.at)
        if kind == "heredoc_body":
            children = node.children
            pending.nodes = [c for c in children if c.type != "heredoc_content" and not _escaped(self.src, c)]
        else:
            pending.finish(self.src, node)
            self.pending = None
            self.operator(";")

    def add(self, node: Node | None) -> Element:
        self.element = Element(node)
        if not self.piped:
            self.found.append(Pipeline(self.after))
        self.found[-1].elements.append(self.element)
        self.separated = self.piped = False
        self.after = ""
        return self.element

    def operator(self, kind: str) -> None:
        if kind in {"|", "|&"}:
            if self.element is None:
                raise UnreadableError("a pipe without a command before it")
            self.piped = True
        elif kind == "&":  # the whole list `a && b &` goes into the background
            for pipeline in reversed(self.found):
                pipeline.background = True
                if not pipeline.after:
                    break
        elif kind != "!":
            self.after = kind if kind in {"&&", "||"} else ""
        if kind != "!":
            self.element = None
        self.separated = True

    def redirect(self, node: Node, kind: str, todo: list[Node]) -> None:
        element = self.element
        if element is None or self.separated:
            misreadings.between(self.src, self.at, node.start_byte, separated=self.separated)
            element = self.add(None)
        else:
            misreadings.redirection(self.src, self.at, node.start_byte)
        if kind != "heredoc_redirect":
            element.redirects.append(node)
            return
        if self.pending or element.heredoc:
            misreadings.rewrite(self.src)
            raise UnreadableError("two heredocs on a line")
        self.pending = element.heredoc = Heredoc(node, self.src)
        children = node.children
        cut = next(index for index, child in enumerate(children) if child.type == "heredoc_start")
        todo += reversed(children[cut + 1 :])
        self.at = children[cut].end_byte


def pipelines(nodes: list[Node], src: bytes, start: int, end: int) -> list[Pipeline]:
    """Return the pipelines of the block `src[start:end]`.

    Raises:
        UnreadableError: If the parser may have misread the block.
        CorrectableError: If it did, and the text is correctable.
    """
    if len(nodes) == 1 and nodes[0].type in _ELEMENTS:  # most blocks are one command
        node = nodes[0]
        misreadings.between(src, start, node.start_byte, separated=True)
        misreadings.between(src, node.end_byte, end, separated=True)
        only = Pipeline("")
        only.elements.append(Element(node))
        return [only]
    flat = _Flattener(src, start)
    todo = nodes[::-1]
    while todo:
        node = todo.pop()
        kind = node.type
        if kind in _TRANSPARENT:
            todo += reversed(node.children)
        else:
            flat.feed(node, kind, todo)
    if flat.pending:
        raise UnreadableError("a heredoc without an end")
    misreadings.between(src, flat.at, end, separated=True)
    return flat.found


# Read lines of plain and quoted words, joined by `|`, `&&` and `;`, without the parser: most lines are this simple.
# Such a line has one reading in every shell. Lines with anything else (expansion, glob, redirection, escape,
# assignment, reserved word) go to the parser.

_LONGEST = 400
"""Maximum length of a line with quotes or operators. Longer ones are seldom plain and would be scanned twice."""
_BARE_LINE = re.compile(rf"{BARE}(?: {BARE})*\Z")
_QUOTED = r"'[^']*+'|\"[^\"\\$`]*+\""
_SYNTAX = re.compile(r"[<\n`]")
"""Syntax found in most other lines but in no plain one; checked before the line is split."""
_TOKEN = re.compile(
    rf"[ \t]*(?:(?:({BARE})({_QUOTED})?+|({_QUOTED}))(?=[ \t|;&]|\Z)"
    r"|(&&|\|(?![|&])|;)|2>(?:&1| ?/dev/null)(?=[ \t|;&]|\Z)|([^ \t].*))",
    re.DOTALL,
)
"""A word (bare, quoted, or both: `--include='*.py'`), an operator, or the rest of a line that is not plain.

`2>&1` and `2>/dev/null` are skipped: they do not change the line's effect.
"""
_OTHERWISE_READ = misreadings.KEYWORDS | {
    "time", "coproc", "export", "declare", "typeset", "local", "readonly", "unset", "unsetenv",
}  # fmt: skip
"""Programs that are part of the syntax, or have syntax as arguments."""


def plain_pipelines(text: str) -> list[Pipeline] | None:
    """Return the pipelines of a plain line, with its words in their elements; None for any other line."""
    if _BARE_LINE.match(text):
        words = [Word(word) for word in text.split()]
        return _joined([("", words)]) if _is_program(words[0]) else None
    return None if len(text) > _LONGEST or _SYNTAX.search(text) else _chain(text)


def _chain(text: str) -> list[Pipeline] | None:
    commands: list[tuple[str, list[Word]]] = []
    joined_by, words = "", list[Word]()
    for bare, behind, quoted, operator, other in _TOKEN.findall(text.rstrip(" \t")):
        if other:
            return None
        if behind or quoted:
            words.append(_quoted(bare, behind or quoted))
        elif bare:
            words.append(Word(bare))
        if not operator:
            continue
        if not words or not _is_program(words[0]):
            return None
        commands.append((joined_by, words))
        joined_by, words = operator, []
    if not words or not _is_program(words[0]):
        return None
    commands.append((joined_by, words))
    return _joined(commands)


def _quoted(bare: str, quoted: str) -> Word:
    inner = quoted[1:-1]
    word = Word(bare + inner)
    if bare:
        word.parts.append((bare, LITERAL))
    if inner or quoted[0] == "'":
        word.parts.append((inner, LITERAL | QUOTED))
    return word


def _is_program(word: Word) -> bool:
    return not word.parts and word.text != "" and "=" not in word.text and word.text not in _OTHERWISE_READ


def _joined(commands: list[tuple[str, list[Word]]]) -> list[Pipeline]:
    found: list[Pipeline] = []
    for operator, words in commands:
        element = Element(None)
        element.words = words
        if operator != "|":
            found.append(Pipeline("&&" if operator == "&&" else ""))
        found[-1].elements.append(element)
    return found
