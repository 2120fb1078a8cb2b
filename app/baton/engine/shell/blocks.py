"""Split a block into its pipelines, in the order of the text.

tree-sitter nests `a | b && c`, and what follows a heredoc, wrongly but in the right order. So the tree is flattened and
put together again by its operators.
"""

import re

from tree_sitter import Node

from baton.engine.shell import misreadings
from baton.engine.shell.expansion.words import Word
from baton.engine.shell.misreadings import UnreadableError

_TRANSPARENT = frozenset(
    ["list", "pipeline", "redirected_statement", "negated_command", "do_group", "elif_clause", "else_clause"]
)
_ELEMENTS = frozenset(
    [
        "command", "variable_assignment", "variable_assignments", "declaration_command", "unset_command", "test_command",
        "subshell", "compound_statement", "if_statement", "while_statement", "for_statement", "c_style_for_statement",
        "case_statement", "function_definition",
    ]
)  # fmt: skip
_SEPARATORS = frozenset(
    [
        ";",
        "\n",
        ";;",
        ";&",
        ";;&",
        "{",
        "}",
        "(",
        ")",
        "do",
        "done",
        "then",
        "fi",
        "if",
        "elif",
        "else",
        "while",
        "until",
    ]
)
_WORDS = frozenset(
    [
        "word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation", "simple_expansion",
        "expansion", "command_substitution", "process_substitution", "arithmetic_expansion", "brace_expression", "number",
        "$",
    ]
)  # fmt: skip
_DELIMITER = re.compile(rb"(?:'([\w.!@%+-]+)'|\"([\w.!@%+-]+)\"|\\([\w.!@%+-]+)|([\w.!@%+-]+))\Z")


class Heredoc:
    """A heredoc. Its body is `src[start:end]`, `nodes` are the expansions in it; `literal` if the delimiter is quoted.

    `descriptor` is the number in front of it, "" for standard input.
    """

    __slots__ = ("delimiter", "descriptor", "end", "literal", "nodes", "start", "strips")

    def __init__(self, redirect: Node, src: bytes) -> None:
        operator = next((child for child in redirect.children if child.type in {"<<", "<<-"}), None)
        start = next((child for child in redirect.children if child.type == "heredoc_start"), None)
        found = _DELIMITER.match(src[start.start_byte : start.end_byte]) if start else None
        if found is None or operator is None:
            misreadings.rewrite(src)
            raise UnreadableError("a heredoc with an odd delimiter")
        first = redirect.children[0]
        self.descriptor = src[first.start_byte : first.end_byte].decode() if first.type == "file_descriptor" else ""
        self.strips = operator.type == "<<-"
        self.literal = found[4] is None
        self.delimiter: bytes = found[1] or found[2] or found[3] or found[4]
        self.nodes: list[Node] = []
        self.start = -1
        self.end = -1

    def begin(self, src: bytes, at: int) -> None:
        """Set where the body begins; `at` is the end of what stands on the redirection's line."""
        line_end = src.find(b"\n", at)
        if line_end < 0 or src[at:line_end].strip(b" \t"):
            misreadings.rewrite(src)
            raise UnreadableError("a heredoc whose body the parser may have cut wrongly")
        self.start = line_end + 1

    def finish(self, src: bytes, node: Node) -> None:
        """Check that the body ends at the first line that is the delimiter."""
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
            raise UnreadableError("a heredoc whose body the parser may have cut wrongly")


class Element:
    """One command of a pipeline with the redirections and words that follow it; `node` is None for redirections alone.

    `words` are those of a command that was read without the parser (`plain_lines`); it has nothing else.
    """

    __slots__ = ("extra", "heredoc", "node", "redirects", "words")

    def __init__(self, node: Node | None) -> None:
        self.node = node
        self.words: list[Word] | None = None
        self.redirects: list[Node] = []
        self.extra: list[Node] = []
        self.heredoc: Heredoc | None = None


class Pipeline:
    """Commands joined by `|`. `after` is the operator in front of it: `&&`, `||` or ""."""

    __slots__ = ("after", "background", "elements")

    def __init__(self, after: str) -> None:
        self.after = after
        self.background = False
        self.elements: list[Element] = []


def _escaped(src: bytes, node: Node) -> bool:
    before = src[max(0, node.start_byte - 100) : node.start_byte]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


class _Flattener:
    """Takes the leaves of a block in order and puts pipelines together.

    `at` is the end of the last leaf: each next one is checked against the text in between, since the parser drops what
    it does not understand. `separated` is True after an operator, `piped` after `|`; `after` is the last `&&` or `||`.
    `pending` is a heredoc whose body is still to come: it follows at the end of the line, after other commands.
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
            # Words after a heredoc's `<<E` are nodes of their own here; to bash they are arguments of the command.
            dollar = self.element.extra and self.element.extra[-1].type == "$"
            (misreadings.within if dollar else misreadings.apart)(self.src, self.at, start)
            self.element.extra.append(node)
        else:
            raise UnreadableError(f"`{kind}` in the place of a command")
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
                raise UnreadableError("a pipe from nothing")
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
        UnreadableError: If the parser may have read the block wrongly.
        MendError: If it did, and the text can be mended.
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
