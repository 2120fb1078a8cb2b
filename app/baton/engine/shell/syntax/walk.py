"""Walk a parsed line: its blocks, compound commands and substitutions."""

import re

from tree_sitter import Node

from baton.engine.shell import blocks, misreadings
from baton.engine.shell.expansion import words
from baton.engine.shell.expansion.scripts import Position, ScriptText, StdinSource
from baton.engine.shell.expansion.values import Unknown, Values, as_value
from baton.engine.shell.expansion.words import SUBSTITUTION, Span, Word
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.programs import redirects
from baton.engine.shell.syntax.commands import Commands

_DEEPEST_CALLS = 6
_DEEPEST_RECURSION = 3
_SETS = re.compile(rb"(?<![\w$.{-])([A-Za-z_]\w*)(?:\[[^\]]*\])?\+?=(?!=)")
_DEPENDS = re.compile(rb"[$=`]|\b(?:read|set|shift|alias|mapfile)\b")
"""What makes a function do something else when it is called than its words say."""
_LOOPS = frozenset(["for_statement", "c_style_for_statement"])
_DECLARING = frozenset(["declaration_command", "unset_command"])
_ASSIGNING = frozenset(["", "variable_assignment", "variable_assignments"])
_LEAVES = re.compile(rb"\b(?:exit|return|break|continue|die|fail|abort|exec)\b")
_UNESCAPE_TICKS_QUOTED = re.compile(r'\\([$`\\"])')


class Walk(Commands):
    """Walks one line."""

    def block(self, nodes: list[Node], start: int, end: int, place: Position) -> list[Word] | None:
        """Follow a block of commands; return what it prints, if a part of that is known and something reads it."""
        return self.pipelines(blocks.pipelines(nodes, place.text.src, start, end), place)

    def pipelines(self, pipelines: list[blocks.Pipeline], place: Position) -> list[Word] | None:
        """Walk pipelines one after the other; return what they print, as `block` does."""
        printed: list[Word] = []
        known = False
        folder = place.folder
        # Where a `cd` was, it may have failed: what `&&` joins to it then does not run, but what follows does.
        doubts: list[str | None] = []
        for pipeline in pipelines:
            after = pipeline.after
            first = len(self.listing.programs)
            if doubts and after == "||":
                self.otherwise(pipeline, place, doubts)
                doubts = []
                continue
            if doubts and after != "&&":
                folder.may_be(doubts)
                doubts = []
            before, others = folder.base, folder.others
            words = self.pipeline(pipeline, place)
            if place.captured:
                known = known or words is not None
                printed += [self.unseen(first)] if words is None else words
                if words != []:
                    printed.append(Word("\n"))
            if folder.base == before:
                continue
            if after == "||":
                folder.lose(before)
            elif not folder.sure and not self.exits_on_error:
                doubts += (before, *others)
        if doubts:
            folder.may_be(doubts)
        return printed if known else None

    def unseen(self, first: int) -> Word:
        """Return a word for what the programs from an index on print, which is not known."""
        word = Word("$(…)")
        word.parts, word.dynamic = [(word.text, SUBSTITUTION)], True
        word.spans = [self.span_from(first)]
        return word

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

    def pipeline(self, pipeline: blocks.Pipeline, place: Position) -> list[Word] | None:
        """Walk one pipeline; each of several commands runs in a shell of its own. Return what it prints, if known."""
        printed: list[Word] | None = None
        elements = pipeline.elements
        certain = place.certain
        place.certain = certain and not pipeline.after
        if len(elements) == 1 and not pipeline.background:
            printed = self.element(elements[0], place)
        else:
            source = place.input
            for element in elements:
                here = place.below(subshell=True)
                here.input = source
                here.captured = place.captured or element is not elements[-1]
                if element is elements[-1]:
                    # zsh runs the last command in the shell itself, bash in one of its own.
                    here.values = Values(place.values, through=True, doubtful=True)
                span = Span()
                span.first = len(self.listing.programs)
                printed = self.element(element, here)
                span.last = len(self.listing.programs)
                source = StdinSource([span], source, printed)
                source.decoded = source.decoded or self.listing.decodes(span.first)
        place.certain = certain
        return printed

    def element(self, element: blocks.Element, place: Position) -> list[Word] | None:
        """Walk one command with its redirections; return what it prints, if that is known."""
        found = redirects.NONE
        outer = place
        if element.redirects or element.heredoc:
            found, place = self.redirected(element, place)
        first = len(self.listing.programs)
        printed = self.simple(element, found, outer, place)
        if found.output and found.targets:
            self.keep_text(found, outer, printed, by=self.listing.last_name())
        # Substitutions in redirects run in the shell around the command, before it: they see neither its folder nor input.
        for text in found.ticks:
            self.nested(text, outer.text.outer, outer.text.owner, outer.below(deeper=1, subshell=True))
        if found.subs:
            self.substitutions(found.subs, outer, StdinSource([self.span_from(first)], outer.input))
        return None if found.output else printed

    def simple(
        self, element: blocks.Element, found: redirects.Redirects, outer: Position, place: Position
    ) -> list[Word] | None:
        """Walk one command, whose redirections have been read; return what it prints, if that is known."""
        if element.words is not None:
            return self.run(element.words, [], place, found, redirects.NONE, [])
        node = element.node
        kind = node.type if node is not None else ""
        printed: list[Word] | None = None
        extra = element.extra + found.words
        if kind == "command" and node is not None:
            printed = self.command(node, extra, place, found)
            if self.ran_exec:
                outer.input = found.input or outer.input  # `exec < file`: the shell itself reads it from now on
        elif node is not None and kind in _DECLARING:
            self.declaration(node, extra, place, found)
            printed = None if b"-p" in place.text.src[node.start_byte : node.end_byte] else []
        elif kind in _ASSIGNING:
            self.assignments(node, extra, place, found)
            printed = None if extra else _read_whole(found) if node is None else []
        elif extra:
            raise UnreadableError("words after a command that takes none")
        elif node is not None and kind == "test_command":
            self.test(node, place, found)
        else:
            self.listing.note_writes(found, outer, -1)
            printed = self.compound(node, kind, place) if node is not None else _read_whole(found)
        return printed

    def redirected(self, element: blocks.Element, place: Position) -> tuple[redirects.Redirects, Position]:
        """Return the redirections of a command, and the position that it has with them."""
        found = redirects.read(self, element, place)
        if found.substituted is not None:
            # What `read x < <(…)` sets follows from what the substitution prints, so that is walked first.
            self.substitutions(found.subs, place)
            found.subs = []
            if found.input is not None:
                found.input.script = self.texts.of_file(found.substituted, place)
        below = place.below()
        below.input = found.input
        below.captured = place.captured or bool(found.targets)
        return found, below

    def compound(self, node: Node, kind: str, place: Position) -> list[Word] | None:
        """Walk a compound command; return what it prints, if that is known."""
        src = place.text.src
        printed: list[Word] | None = None
        children = node.children
        if kind == "function_definition":
            self.function(node, place)
        elif kind == "subshell":
            below = place.below(subshell=True)
            printed = self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, below)
        elif kind == "compound_statement":
            if children[0].type == "((":
                self.substitutions(words.find(node, src, quotes=False), place)
            else:
                printed = self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, place.below())
        elif kind == "case_statement" or kind in _LOOPS:
            if kind == "for_statement":
                self.loop(node, place)
            printed = self.parts(children, place, loop=kind == "for_statement")
        else:
            if kind == "while_statement":
                self.changed_in_loop(node, place)
            printed = self.uncertain(children, node.start_byte, node.end_byte, place)
        return printed

    def changed_in_loop(self, node: Node, place: Position) -> None:
        """Note that what a loop sets may have been set by the round before."""
        body = place.text.src[node.start_byte : node.end_byte]
        for found in _SETS.finditer(body):
            place.values.forget(found[1].decode())

    def loop(self, node: Node, place: Position) -> None:
        """Set the variable of a `for` or `select` to each of its words."""
        self.changed_in_loop(node, place)
        variable = node.child_by_field_name("variable")
        if variable is None:
            return
        src = place.text.src
        name = src[variable.start_byte : variable.end_byte].decode()
        nodes = node.children_by_field_name("value")
        if not nodes:
            args = place.values.args
            place.values.set(name, (Unknown(f"${name}"),) if args is None else args)
            return
        for one in nodes:
            subs = words.find(one, src, quotes=True)
            if subs:
                self.substitutions(subs, place)
        try:
            items = [self.word(one, place.text) for one in nodes]
        except UnreadableError:
            return
        made = self.texts.filler.variants(items, place.values) or [items]
        values = [as_value(word) for one in made for word in one]
        place.values.set(name, tuple(dict.fromkeys(values)))

    def uncertain(self, nodes: list[Node], start: int, end: int, place: Position) -> list[Word] | None:
        """Walk a block that may not run. If it changes the folder, that is unknown afterwards."""
        base = place.folder.base
        here = place.below()
        here.certain = False
        printed = self.block(nodes, start, end, here)
        if place.folder.base != base:
            place.folder.lose(base)
        return printed

    def parts(self, children: list[Node], place: Position, *, loop: bool) -> list[Word] | None:
        """Walk the parts of `for`, `select` and `case`; return what they print, if that is known."""
        printed: list[Word] = []
        known = False
        src = place.text.src
        at = children[0].start_byte
        for child in children:
            kind = child.type
            misreadings.between(src, at, child.start_byte, separated=True)
            at = child.end_byte
            if kind == "comment":
                misreadings.comment(src, child.start_byte, at)
            elif kind in {"do_group", "compound_statement"}:
                body = self.uncertain(child.children, child.start_byte, at, place)
                known = known or body is not None
                printed += body or []
            elif kind == "case_item":
                inner = child.children
                # The patterns stand before the `)` and are expanded; the commands after it may run.
                cut = next((index for index, part in enumerate(inner) if part.type == ")"), -1)
                if cut < 0:
                    raise UnreadableError("a case without a pattern")
                for pattern in inner[:cut]:
                    self.substitutions(words.find(pattern, src, quotes=True), place)
                body = self.uncertain(inner[cut + 1 :], inner[cut].end_byte, at, place)
                known = known or body is not None
                printed += body or []
            # The words of a `for` have been read already: its variable has their values.
            elif child.is_named and not loop:
                self.substitutions(words.find(child, src, quotes=True), place)
        return printed if known else None

    def function(self, node: Node, place: Position) -> None:
        """Walk a function's body where it is defined: its programs count whether or not it is called."""
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            raise UnreadableError("a function without a name or body")
        name = place.text.src[name_node.start_byte : name_node.end_byte].decode()
        self.functions[name] = (body, place.text)
        here = place.below(subshell=True)
        here.folder = place.folder.copy()
        here.function, here.certain, here.forks = name, True, False
        here.defines = True
        element = blocks.Element(body)
        element.redirects = [child for child in node.children if child.type == "file_redirect"]
        if any(child.type in {"heredoc_redirect", "herestring_redirect"} for child in node.children):
            raise UnreadableError("a heredoc on a function")
        first = len(self.listing.writes)
        self.element(element, here)
        self.in_functions.update(range(first, len(self.listing.writes)))
        if here.folder.base != place.folder.base:
            self.moving.add(name)

    def call(self, name: str, args: tuple[str, ...], place: Position) -> list[Word] | None:
        """Walk the body of a function that is called, with what it is given; return what it prints, if that is known."""
        body, text = self.functions[name]
        raw = text.src[body.start_byte : body.end_byte]
        active = self.active.count(name) >= _DEEPEST_RECURSION or len(self.active) >= _DEEPEST_CALLS
        if active and not place.defines:
            self.changed_in_loop(body, place)
        if active or self.calls_left <= 0 or not (place.captured or _DEPENDS.search(raw)):
            return None
        self.calls_left -= 1
        here = place.below(deeper=1)
        if here.level > misreadings.MAX_DEPTH // 2:
            return None
        here.text, here.function, here.defines = text, "", False
        here.values = Values(place.values, args=args, through=True)
        self.active.append(name)
        self.meaning += 1
        base = here.folder.base
        printed = self.element(blocks.Element(body), here)
        if here.folder.base != base:
            here.folder.lose(base)
        self.meaning -= 1
        self.active.pop()
        return printed

    def nested(
        self, text: str, outer: dict[str, tuple[str, list[Span]]], owner: int, place: Position
    ) -> list[Word] | None:
        """Walk a nested script; `outer` are the stand-ins for what the shell around it substitutes."""
        root, src = self.parse(misreadings.prepare(text).encode())
        here = place.below()
        here.text = ScriptText(src, owner)
        here.text.variables = place.text.variables
        here.text.stand_in(outer)
        return self.block(root.children, 0, len(src), here)

    def substitutions(self, nodes: list[Node], place: Position, source: StdinSource | None = None) -> None:
        """Walk substitutions; `source` is the input of a `>(…)`."""
        for node in nodes:
            span = place.text.span(node.start_byte)
            span.first = len(self.listing.programs)
            src = place.text.src
            here = place.below(deeper=1, subshell=True)
            here.captured = True
            children = node.children
            opener = src[children[0].start_byte : children[0].end_byte].strip()[:1]
            if opener == b"`":
                printed = self.backticks(node, children[0].end_byte, here)
            else:
                if children[0].type not in {"$(", "<(", ">("} or children[-1].type != ")":
                    raise UnreadableError("a substitution that the parser may have cut wrongly")
                if opener == b">" and source is not None:
                    here.input = source
                printed = self.block(children[1:-1], children[0].end_byte, children[-1].start_byte, here)
            span.last = len(self.listing.programs)
            self.texts.keep_output(src[node.start_byte : node.end_byte].decode(), printed, here)

    def backticks(self, node: Node, start: int, place: Position) -> list[Word] | None:
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
        return self.nested(text, place.text.outer, place.text.owner, place)


def _leaves(pipeline: blocks.Pipeline, src: bytes) -> bool:
    """Return whether a pipeline ends the script, as in `cd x || exit 1`, so that what follows knows that `cd` worked."""
    node = pipeline.elements[-1].node
    return node is not None and _LEAVES.search(src, node.start_byte, node.end_byte) is not None


def _read_whole(found: redirects.Redirects) -> list[Word] | None:
    """Return what a redirection alone prints: `$(< file)`."""
    return found.input.script if found.input is not None else None
