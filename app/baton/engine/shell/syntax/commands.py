"""Read simple commands: their words, assignments and redirections. `programs` lists what they run."""

from abc import abstractmethod

from tree_sitter import Node

from baton.engine.shell import blocks, misreadings
from baton.engine.shell.expansion import words
from baton.engine.shell.expansion.scripts import Position, ScriptText, StdinSource
from baton.engine.shell.expansion.values import Unknown, as_value
from baton.engine.shell.expansion.words import Span, Word
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.programs import redirects
from baton.engine.shell.programs.programs import COPIES
from baton.engine.shell.programs.redirects import Redirects
from baton.engine.shell.syntax.assignments import Assigned, Assignments
from baton.engine.shell.tables import classify

_REDIRECTS = frozenset(["file_redirect", "herestring_redirect"])
_PREFIXES = frozenset([b"time", b"coproc"])
_DECLARES = frozenset(["declare", "typeset"])
_LOCAL = frozenset(["local", "declare", "typeset"])
"""Commands that make a variable local to its function."""
_DECLARATION_WORDS = frozenset(
    ["export", "declare", "typeset", "local", "readonly", "unset", "unsetenv", "variable_name"]
)


class _Parts:
    """The children of a command, sorted by kind; the text between them is checked on the way."""

    def __init__(self, node: Node, src: bytes) -> None:
        self.name: Node | None = None
        self.before_name = at = node.start_byte
        self.args: list[Node] = []
        self.assigns: list[Node] = []
        self.redirects: list[Node] = []
        self.subshells: list[Node] = []
        touches = True
        for child in node.children:
            kind = child.type
            start = child.start_byte
            if kind == "comment":
                misreadings.no_comment(src, child)
            if kind in _REDIRECTS:
                misreadings.redirection(src, at, start)
            elif touches:
                misreadings.within(src, at, start)
            else:
                misreadings.apart(src, at, start)
            touches = kind == "$"
            if kind == "command_name":
                self.name, self.before_name = child, at
            elif kind == "variable_assignment":
                self.assigns.append(child)
            elif kind in _REDIRECTS:
                self.redirects.append(child)
            elif kind == "subshell":
                self.subshells.append(child)
            else:
                self.args.append(child)
            at = child.end_byte

    def check(self, args: list[Node], src: bytes) -> Node:
        """Return the node of the program's name.

        Raises:
            UnreadableError: If it cannot be a program's name.
            MendError: If it is a prefix (`time`, `coproc`) of a compound command.
        """
        name = self.name
        if name is None:
            raise UnreadableError("a command without a name")
        raw = src[name.start_byte : name.end_byte]
        if raw in _PREFIXES:
            misreadings.prefix(src, name, args)
        elif self.subshells:
            raise UnreadableError("a subshell in the place of a word")
        misreadings.name(src, self.before_name, name.start_byte, name.end_byte)
        return name


class Commands(Assignments):
    """Reads simple commands."""

    @abstractmethod
    def compound(self, node: Node, kind: str, place: Position) -> list[Word] | None:
        """Walk a compound command; return what it prints, if that is known."""

    @abstractmethod
    def substitutions(self, nodes: list[Node], place: Position, source: StdinSource | None = None) -> None:
        """Walk substitutions; `source` is the input of a `>(…)`."""

    def command(self, node: Node, extra: list[Node], place: Position, found: Redirects) -> list[Word] | None:
        """Walk a simple command; return what it prints, if that is known."""
        text = place.text
        parts = _Parts(node, text.src)
        inner = redirects.NONE
        if parts.redirects:
            holder = blocks.Element(None)
            holder.redirects = parts.redirects
            inner = redirects.read(self, holder, place)
            place = _below(place, inner, found, parts, text.src)
        args = parts.args
        if extra or inner.words:
            args = sorted(args + extra + inner.words, key=lambda arg: arg.start_byte)
        name = parts.check(args, text.src)
        argv = [self.word(name.children[0] if name.child_count == 1 else name, text), *self.args(args, text)]
        assigns = [self.assignment(child, text) for child in parts.assigns]
        return self.run(argv, assigns, place, found, inner, parts.subshells)

    def run(
        self,
        argv: list[Word],
        assigns: list[Word],
        place: Position,
        found: Redirects,
        inner: Redirects,
        subshells: list[Node],
    ) -> list[Word] | None:
        """Add a command to the list, and follow what it does; return what it prints, if that is known.

        `found` are the redirections around it, `inner` those in it.
        """
        first = len(self.listing.programs)
        called = "" if argv[0].dynamic else argv[0].text
        # `emit` moves the folder of a `cd`; a command that is followed once more starts here again.
        base = place.folder.base
        changes = _may_change(argv)
        given = tuple([self.given(word, place) for word in assigns]) if assigns else ()
        use = self.emit(argv, given, place, function=called in self.functions)
        last = len(self.listing.programs)
        self.ran_exec = use.name == "exec" and not use.operands
        if found.targets or inner.targets or found.sources or inner.sources:
            self.listing.note_writes(found, place, first)
            self.listing.note_writes(inner, place, first)
        if place.function and place.certain and called:
            self.calls.add(place.function, called, forks=place.forks)
        for below in subshells:
            self.compound(below, "subshell", place)
        if assigns or changes:
            self.word_substitutions(assigns + argv, place)
        if use.name in COPIES:
            self.texts.keep_copies(use, place)
        if inner.subs:
            self.substitutions(inner.subs, place, StdinSource([self.span_from(first)], place.input))
        printed = self.effects(use, called, range(first, last), base, place)
        if place.captured or found.targets or inner.targets:
            printed = self.texts.printed(use, place) if called not in self.functions else printed
            if inner.output and inner.targets:
                self.keep_text(inner, place, printed, by=use.name)
        return None if inner.output else printed

    def effects(
        self, use: classify.Invocation, called: str, listed: range, base: str | None, place: Position
    ) -> list[Word] | None:
        """Follow a command that calls a function, is an alias or has variables in it; return what a function prints."""
        argv = use.words
        printed: list[Word] | None = None
        if called in self.functions:
            printed = self.call(called, tuple([as_value(word) for word in self.texts.filled(argv[1:], place)]), place)
        elif called in self.aliases:
            self.expand_alias(called, argv[1:], place)
        elif use.name == "set":
            self.set_arguments(argv, place)
        elif _may_change(argv):
            place.folder.base, after = base, place.folder.base
            if not self.follow(use, listed, place):
                place.folder.base = after
        return printed

    def given(self, word: Word, place: Position) -> str:
        """Return an assignment in front of a command, with its value filled in where that is known."""
        if not word.dynamic:
            return word.text
        found = self.texts.filler.text(word, place.values)
        if len(found) != 1 or not isinstance(found[0], str) or isinstance(found[0], Unknown):
            return word.text
        return word.text[: word.text.index("=") + 1] + found[0]

    def args(self, nodes: list[Node], text: ScriptText) -> list[Word]:
        """Read arguments. The parser makes two touching nodes of `$"…"`; other touching nodes are one word cut in two."""
        found: list[Word] = []
        for index, node in enumerate(nodes):
            following = nodes[index + 1] if index + 1 < len(nodes) else None
            if following is not None and node.end_byte == following.start_byte:
                if node.type == "$" and following.type == "string":
                    continue
                raise UnreadableError("a word that the parser may have cut wrongly")
            found.append(self.word(node, text))
        return found

    def assignments(self, node: Node | None, extra: list[Node], place: Position, found: Redirects) -> None:
        """Walk assignments that stand alone, or in front of a command that the parser took for words."""
        nodes = [] if node is None else [node] if node.type == "variable_assignment" else node.children
        prefix: list[Word] = []
        kept: list[Assigned] = []
        at = node.start_byte if node is not None else 0
        for child in nodes:
            misreadings.no_comment(place.text.src, child)
            (misreadings.apart if prefix else misreadings.within)(place.text.src, at, child.start_byte)
            at = child.end_byte
            prefix.append(self.assignment(child, place.text, kept))
        first = len(self.listing.programs)
        texts = [word.text for word in prefix]
        argv = self.args(extra, place.text)
        if argv:
            misreadings.name(place.text.src, at, extra[0].start_byte, extra[0].end_byte)
            self.emit(argv, tuple(texts), place, function=argv[0].text in self.functions)
        else:
            self.exports += texts
        self.listing.note_writes(found, place, first if argv else -1)
        self.word_substitutions(prefix + argv, place)
        self.set_variables(kept, place)

    def declaration(self, node: Node, extra: list[Node], place: Position, found: Redirects) -> None:
        """Walk `export`, `declare`, `local`, `readonly`, `typeset`, `unset`."""
        text = place.text
        argv: list[Word] = []
        kept: list[Assigned] = []
        at = node.start_byte
        for child in node.children:
            misreadings.no_comment(text.src, child)
            # The grammar may skip what it does not understand: between words there must be blanks, and nothing but blanks.
            (misreadings.apart if argv else misreadings.within)(text.src, at, child.start_byte)
            at = child.end_byte
            if child.type == "variable_assignment":
                argv.append(self.assignment(child, text, kept))
            elif child.type in _DECLARATION_WORDS:
                argv.append(Word(text.src[child.start_byte : child.end_byte].decode()))
            else:
                argv.append(self.word(child, text))
        argv += self.args(extra, text)
        name = argv[0].text
        if name == "export" or (name in _DECLARES and any(w.text[:1] == "-" and "x" in w.text for w in argv[1:])):
            self.exports += [word.text for word in argv[1:] if "=" in word.text and word.text[:1] != "-"]
        first = len(self.listing.programs)
        self.emit(argv, (), place)
        self.listing.note_writes(found, place, first)
        self.word_substitutions(argv, place)
        self.set_variables(kept, place, local=name in _LOCAL)
        if name != "export" and any(w.text[:1] == "-" and "n" in w.text for w in argv[1:]):
            self.refer(name, argv, kept, place)

    def test(self, node: Node, place: Position, found: Redirects) -> None:
        """Walk `[ … ]`, which is a program, or `[[ … ]]`, which is syntax and may only hold substitutions."""
        src = place.text.src
        if node.children[0].type != "[":
            self.listing.note_writes(found, place, -1)
            self.substitutions(words.find(node, src, quotes=True), place)
            return
        # The parser makes an expression tree of `[ … ]`; to bash it is a list of words, so the leaves are put in order.
        argv: list[Word] = []
        at = node.start_byte
        todo = [node]
        while todo:
            here = todo.pop()
            if here.type == "test_command" or (here.type.endswith("_expression") and here.type != "brace_expression"):
                todo += reversed(here.children)
                continue
            touches = here.start_byte == at and argv
            misreadings.within(src, at, here.start_byte)
            at = here.end_byte
            if here.is_named and here.type != "test_operator":
                word = self.word(here, place.text)
            else:
                raw = src[here.start_byte : at]
                if raw in (b"<", b">", b"&&", b"||", b"(", b")"):
                    raise UnreadableError("an operator within `[`")
                word = Word(raw.decode().replace("\\", ""))
            if touches:  # `[ $x = ~/a ]`: one word, two leaves
                argv[-1].text += word.text
                argv[-1].subs += word.subs
                argv[-1].dynamic = argv[-1].dynamic or word.dynamic
            else:
                argv.append(word)
        first = len(self.listing.programs)
        self.emit(argv, (), place)
        self.listing.note_writes(found, place, first)
        self.word_substitutions(argv, place)

    def span_from(self, first: int) -> Span:
        """Return the span of the programs that were listed since there were `first` of them."""
        span = Span()
        span.first, span.last = first, len(self.listing.programs)
        return span

    def word_substitutions(self, argv: list[Word], place: Position) -> None:
        """Walk the substitutions in words; what a program reads it may pass on to them: `echo x | tee >(sh)`."""
        for word in argv:
            if word.subs:
                source = StdinSource([self.span_from(len(self.listing.programs) - 1)], place.input)
                if place.input is not None and any(one.text == "tee" for one in argv):
                    source.script = place.input.script
                self.substitutions(word.subs, place, source)


def _below(place: Position, inner: Redirects, outer: Redirects, parts: _Parts, src: bytes) -> Position:
    """Return the place of a command with its redirections; those of a lone `exec` change the shell itself.

    The `outer` ones, which the parser puts around the command, stand behind the others, and the last one counts.
    """
    below = place.below()
    below.input = place.input if outer.feeds else inner.input
    name = parts.name
    if name is not None and not parts.args and src[name.start_byte : name.end_byte] == b"exec":
        place.input = inner.input
    return below


def _may_change(argv: list[Word]) -> bool:
    """Return whether a word may be another one when the shell has expanded it; globs are none, they are files' names."""
    for word in argv:  # noqa: SIM110 - a generator takes as long as all else here, and this runs for every command
        if word.dynamic or (word.globs and "{" in word.text):
            return True
    return False
