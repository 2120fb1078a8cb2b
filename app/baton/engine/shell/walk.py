"""Walk a parsed line: its blocks, compound commands and substitutions."""

import re

from tree_sitter import Node

from baton.engine.shell import blocks, misreadings, redirects, words
from baton.engine.shell.commands import Commands
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.scripts import Position, ScriptText, StdinSource
from baton.engine.shell.words import Span, Word

_LOOPS = frozenset(["for_statement", "c_style_for_statement"])
_DECLARING = frozenset(["declaration_command", "unset_command"])
_ASSIGNING = frozenset(["", "variable_assignment", "variable_assignments"])
_LEAVES = re.compile(rb"\b(?:exit|return|break|continue|die|fail|abort|exec)\b")
_UNESCAPE_TICKS_QUOTED = re.compile(r'\\([$`\\"])')


class Walk(Commands):
    """Walks one line."""

    def block(self, nodes: list[Node], start: int, end: int, place: Position) -> None:
        """Walk the pipelines of a block."""
        folder = place.folder
        # Where a `cd` was, it may have failed: what `&&` joins to it then does not run, but what follows does.
        doubts: list[str | None] = []
        for pipeline in blocks.pipelines(nodes, place.text.src, start, end):
            after = pipeline.after
            if doubts and after == "||":
                self.otherwise(pipeline, place, doubts)
                doubts = []
                continue
            if doubts and after != "&&":
                folder.may_be(doubts)
                doubts = []
            before, others = folder.base, folder.others
            self.pipeline(pipeline, place)
            if folder.base == before:
                continue
            if after == "||":
                folder.lose(before)
            elif not folder.sure and not self.exits_on_error:
                doubts += (before, *others)
        if doubts:
            folder.may_be(doubts)

    def otherwise(self, pipeline: blocks.Pipeline, place: Position, doubts: list[str | None]) -> None:
        """Walk what runs only if the `cd` ahead of it failed: `cd x || cd y`, `cd x || exit 1`."""
        folder = place.folder
        worked, folder.base = folder.base, doubts[0]
        self.pipeline(pipeline, place)
        failed, folder.base = folder.base, worked
        if failed != doubts[0]:
            folder.lose(failed)
        elif not _leaves(pipeline, place.text.src):
            folder.may_be(doubts)

    def pipeline(self, pipeline: blocks.Pipeline, place: Position) -> None:
        """Walk one pipeline; each of several commands runs in a shell of its own."""
        elements = pipeline.elements
        certain = place.certain
        place.certain = certain and not pipeline.after
        if len(elements) == 1 and not pipeline.background:
            self.element(elements[0], place)
        else:
            source = place.input
            for element in elements:
                here = place.below(subshell=True)
                here.input = source
                span = Span()
                span.first = len(self.programs)
                printed = self.element(element, here)
                span.last = len(self.programs)
                source = StdinSource([span], source, printed)
        place.certain = certain

    def element(self, element: blocks.Element, place: Position) -> list[Word] | None:
        """Walk one command with its redirections; return what it prints, if that is known."""
        node = element.node
        found = redirects.NONE
        outer = place
        if element.redirects or element.heredoc:
            found = redirects.read(self, element, place)
            place = place.below()
            place.input = found.input
        kind = node.type if node is not None else ""
        first = len(self.programs)
        printed: list[Word] | None = None
        extra = element.extra + found.words
        if kind == "command" and node is not None:
            printed = self.command(node, extra, place, found)
        elif node is not None and kind in _DECLARING:
            self.declaration(node, extra, place, found)
        elif kind in _ASSIGNING:
            self.assignments(node, extra, place, found)
        elif extra:
            raise UnreadableError("words after a command that takes none")
        elif node is not None and kind == "test_command":
            self.test(node, place, found)
        else:
            self.note_writes(found, outer, -1)
            if node is not None:
                self.compound(node, kind, place)
        # Substitutions in redirects run in the shell around the command, before it: they see neither its folder nor input.
        for text in found.ticks:
            self.nested(text, outer.text.outer, outer.text.owner, outer.below(deeper=1, subshell=True))
        if found.subs:
            self.substitutions(found.subs, outer, StdinSource([self.span_from(first)], outer.input))
        return None if found.output else printed

    def compound(self, node: Node, kind: str, place: Position) -> None:
        """Walk a compound command."""
        src = place.text.src
        children = node.children
        if kind == "function_definition":
            self.function(node, place)
        elif kind == "subshell":
            self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, place.below(subshell=True))
        elif kind == "compound_statement":
            if children[0].type == "((":
                self.substitutions(words.find(node, src, quotes=False), place)
            else:
                self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, place.below())
        elif kind == "case_statement" or kind in _LOOPS:
            self.parts(children, place)
        else:
            self.uncertain(children, node.start_byte, node.end_byte, place)

    def uncertain(self, nodes: list[Node], start: int, end: int, place: Position) -> None:
        """Walk a block that may not run. If it changes the folder, that is unknown afterwards."""
        base = place.folder.base
        here = place.below()
        here.certain = False
        self.block(nodes, start, end, here)
        if place.folder.base != base:
            place.folder.lose(base)

    def parts(self, children: list[Node], place: Position) -> None:
        """Walk the parts of `for`, `select` and `case`."""
        src = place.text.src
        at = children[0].start_byte
        for child in children:
            kind = child.type
            misreadings.between(src, at, child.start_byte, separated=True)
            at = child.end_byte
            if kind == "comment":
                misreadings.comment(src, child.start_byte, at)
            elif kind in {"do_group", "compound_statement"}:
                self.uncertain(child.children, child.start_byte, at, place)
            elif kind == "case_item":
                inner = child.children
                # The patterns stand before the `)` and are expanded; the commands after it may run.
                cut = next((index for index, part in enumerate(inner) if part.type == ")"), -1)
                if cut < 0:
                    raise UnreadableError("a case without a pattern")
                for pattern in inner[:cut]:
                    self.substitutions(words.find(pattern, src, quotes=True), place)
                self.uncertain(inner[cut + 1 :], inner[cut].end_byte, at, place)
            elif child.is_named:
                self.substitutions(words.find(child, src, quotes=True), place)

    def function(self, node: Node, place: Position) -> None:
        """Walk a function's body where it is defined: its programs count whether or not it is called."""
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            raise UnreadableError("a function without a name or body")
        name = place.text.src[name_node.start_byte : name_node.end_byte].decode()
        place.text.functions.add(name)
        here = place.below()
        here.folder = place.folder.copy()
        here.function, here.certain, here.forks = name, True, False
        element = blocks.Element(body)
        element.redirects = [child for child in node.children if child.type == "file_redirect"]
        if any(child.type in {"heredoc_redirect", "herestring_redirect"} for child in node.children):
            raise UnreadableError("a heredoc on a function")
        first = len(self.writes)
        self.element(element, here)
        self.in_functions.update(range(first, len(self.writes)))
        if here.folder.base != place.folder.base:
            self.moving.add(name)

    def nested(self, text: str, outer: dict[str, tuple[str, list[Span]]], owner: int, place: Position) -> None:
        """Walk a nested script; `outer` are the stand-ins for what the shell around it substitutes."""
        root, src = self.parse(misreadings.prepare(text).encode())
        here = place.below()
        here.text = ScriptText(src, owner)
        here.text.stand_in(outer)
        self.block(root.children, 0, len(src), here)

    def substitutions(self, nodes: list[Node], place: Position, source: StdinSource | None = None) -> None:
        """Walk substitutions; `source` is the input of a `>(…)`."""
        for node in nodes:
            span = place.text.span(node.start_byte)
            span.first = len(self.programs)
            src = place.text.src
            here = place.below(deeper=1, subshell=True)
            children = node.children
            opener = src[children[0].start_byte : children[0].end_byte].strip()[:1]
            if opener == b"`":
                self.backticks(node, children[0].end_byte, here)
            else:
                if children[0].type not in {"$(", "<(", ">("} or children[-1].type != ")":
                    raise UnreadableError("a substitution that the parser may have cut wrongly")
                if opener == b">" and source is not None:
                    here.input = source
                self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, here)
            span.last = len(self.programs)

    def backticks(self, node: Node, start: int, place: Position) -> None:
        """Walk the text in backticks. The shell removes one level of escapes from it before reading it."""
        src = place.text.src
        text = src[start : node.end_byte - 1].decode()
        if src[node.end_byte - 1 : node.end_byte] != b"`" or "`" in re.sub(r"\\.", "", text, flags=re.DOTALL):
            raise UnreadableError("backticks that the parser may have cut wrongly")
        parent = node.parent
        while parent is not None and parent.type in {"expansion", "concatenation"}:
            parent = parent.parent
        quoted = parent is not None and parent.type == "string"
        text = (_UNESCAPE_TICKS_QUOTED if quoted else words.UNESCAPE_TICKS).sub(r"\1", text)
        self.nested(text, place.text.outer, place.text.owner, place)


def _leaves(pipeline: blocks.Pipeline, src: bytes) -> bool:
    """Return whether a pipeline ends the script, as in `cd x || exit 1`, so that what follows knows that `cd` worked."""
    node = pipeline.elements[-1].node
    return node is not None and _LEAVES.search(src, node.start_byte, node.end_byte) is not None
