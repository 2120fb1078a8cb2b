"""The walk over a parsed line: lists programs, writes, feeds and exports. It decides no category; the tables do."""

import re
from collections.abc import Callable

from tree_sitter import Node

from app.engine.shell import blocks, bombs, classify, guards, redirects, unwrap, words
from app.engine.shell.guards import UnreadableError
from app.engine.shell.model import Program, Write
from app.engine.shell.scripts import Folder, Input, Span, Text, told
from app.engine.shell.tables import ShellTables
from app.engine.shell.words import SUBSTITUTION, Word

_ARGS_FROM_STDIN = frozenset(["xargs", "gxargs", "parallel"])
_PASSES_ON = frozenset(["cat", "tee"])
_SAME_SHELL = frozenset(["eval", "command", "builtin", "time"])
_MOVES = frozenset(["cd", "pushd", "popd"])
_ASSIGNING = frozenset(["", "variable_assignment", "variable_assignments"])
_LOOPS = frozenset(["for_statement", "c_style_for_statement"])
_UNESCAPE_TICKS_QUOTED = re.compile(r'\\([$`\\"])')
_DECLARES = frozenset(["declare", "typeset"])


class Place:
    """Where in the line the walk stands; passed down, copied where a part of the line has its own."""

    __slots__ = ("certain", "depth", "folder", "forks", "function", "input", "level", "text")

    def __init__(self, text: Text, folder: Folder) -> None:
        self.text = text
        self.folder = folder
        self.input: Input | None = None
        self.depth = 0
        self.level = 0
        self.function = ""
        self.forks = False
        self.certain = True

    def below(self, *, deeper: int = 0, subshell: bool = False) -> "Place":
        """Copy for a part of this place; raises UnreadableError when that is too deep."""
        if self.level >= guards.MAX_DEPTH:
            raise UnreadableError(f"nested deeper than {guards.MAX_DEPTH} levels")
        place = Place(self.text, Folder(self.folder.base) if subshell else self.folder)
        place.input = self.input
        place.depth = self.depth + deeper
        place.level = self.level + 1
        place.function = self.function
        place.forks = self.forks or subshell
        place.certain = self.certain
        return place


class Walk:
    """Collects what one line holds. `parse` gives the root node of a nested script's bytes, within the caps."""

    def __init__(self, tables: ShellTables, parse: Callable[[bytes], tuple[Node, bytes]]) -> None:
        self.tables = tables
        self.parse = parse
        self.programs: list[Program | None] = []
        self.writes: list[Write] = []
        self.exports: list[str] = []
        self.sinks: list[tuple[int, Input]] = []
        self.redirects_to_file = False
        self.network = False
        self.calls = bombs.Calls()
        self.spans: dict[tuple[int, int], Span] = {}
        self.in_functions: set[int] = set()
        self.moved = False
        self.moving: set[str] = set()
        self.count = 0
        self.stand_ins = 0

    # blocks

    def block(self, nodes: list[Node], start: int, end: int, place: Place) -> None:
        """Walk the pipelines of a block."""
        base: str | None = place.folder.base
        for pipeline in blocks.pipelines(nodes, place.text.src, start, end):
            if pipeline.after != "||":
                base = place.folder.base
            self.pipeline(pipeline, place)
            if pipeline.after == "||" and place.folder.base != base:
                place.folder.base = None

    def pipeline(self, pipeline: blocks.Pipeline, place: Place) -> None:
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
                source = Input([span], source, printed)
        place.certain = certain

    def element(self, element: blocks.Element, place: Place) -> list[Word] | None:
        """Walk one command with its redirections; returns what it prints, where that is known."""
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
        elif kind == "declaration_command" or kind == "unset_command":
            self.declaration(node, extra, place, found)
        elif kind in _ASSIGNING:
            self.assignments(node, extra, place, found)
        elif extra:
            raise UnreadableError("words after a command that takes none")
        elif kind == "test_command":
            self.test(node, place, found)
        else:
            self.note_writes(found, outer, -1)
            if node is not None:
                self.compound(node, kind, place)
        for text in found.ticks:
            self.nested(text, outer.text.outer, outer.text.owner, outer.below(deeper=1, subshell=True))
        self.substitutions(found.subs, outer, Input([self.span_from(first)], outer.input))
        return None if found.output else printed

    def span_from(self, first: int) -> Span:
        span = Span()
        span.first, span.last = first, len(self.programs)
        return span

    def compound(self, node: Node, kind: str, place: Place) -> None:
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

    def uncertain(self, nodes: list[Node], start: int, end: int, place: Place) -> None:
        """Walk a block that may not run: after it, the folder may be either."""
        base = place.folder.base
        here = place.below()
        here.certain = False
        self.block(nodes, start, end, here)
        if place.folder.base != base:
            place.folder.base = None

    def parts(self, children: list[Node], place: Place) -> None:
        """Walk the parts of `for`, `select` and `case`."""
        src = place.text.src
        at = children[0].start_byte
        for child in children:
            kind = child.type
            guards.between(src, at, child.start_byte, separated=True)
            at = child.end_byte
            if kind == "comment":
                guards.comment(src, child.start_byte, at)
            elif kind in {"do_group", "compound_statement"}:
                self.uncertain(child.children, child.start_byte, at, place)
            elif kind == "case_item":
                inner = child.children
                cut = next((index for index, part in enumerate(inner) if part.type == ")"), -1)
                if cut < 0:
                    raise UnreadableError("a case without a pattern")
                for pattern in inner[:cut]:
                    self.substitutions(words.find(pattern, src, quotes=True), place)
                self.uncertain(inner[cut + 1 :], inner[cut].end_byte, at, place)
            elif child.is_named:
                self.substitutions(words.find(child, src, quotes=True), place)

    def function(self, node: Node, place: Place) -> None:
        """Walk a function's body."""
        name_node, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name_node is None or body is None:
            raise UnreadableError("a function without a name or body")
        name = place.text.src[name_node.start_byte : name_node.end_byte].decode()
        place.text.functions.add(name)
        here = place.below()
        here.folder = Folder(place.folder.base)
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

    # commands

    def command(self, node: Node, extra: list[Node], place: Place, found: "redirects.Redirects") -> list[Word] | None:
        """Walk a simple command."""
        src, text = place.text.src, place.text
        name: Node | None = None
        args: list[Node] = []
        assigns: list[Node] = []
        at = node.start_byte
        inner = redirects.NONE
        blocks_below: list[Node] = []
        own: list[Node] = []
        ahead, touches = at, False
        for child in node.children:
            kind = child.type
            if kind == "comment":
                guards.no_comment(src, child)
            redirection = kind in {"file_redirect", "herestring_redirect"}
            if redirection:
                guards.redirection(src, at, child.start_byte)
            elif at > node.start_byte and not touches:
                guards.apart(src, at, child.start_byte)
            else:
                guards.within(src, at, child.start_byte)
            touches = kind == "$"
            if kind == "command_name":
                name, ahead = child, at
            elif kind == "variable_assignment":
                assigns.append(child)
            elif redirection:
                own.append(child)
            elif kind == "subshell":
                blocks_below.append(child)
            else:
                args.append(child)
            at = child.end_byte
        if own:
            holder = blocks.Element(None)
            holder.redirects = own
            before = place
            place = place.below()
            inner = redirects.read(self, holder, before)
            place.input = inner.input
        if extra or inner.words:
            args = sorted(args + extra + inner.words, key=lambda arg: arg.start_byte)
        if name is None:
            raise UnreadableError("a command without a name")
        raw = src[name.start_byte : name.end_byte]
        if raw in (b"time", b"coproc"):
            guards.prefix(src, name, args)
        elif blocks_below:
            raise UnreadableError("a subshell in the place of a word")
        guards.name(src, ahead, name.start_byte, name.end_byte)
        argv = [self.word(name.children[0] if name.child_count == 1 else name, text), *self.args(args, text)]
        prefix = [self.assignment(child, text) for child in assigns]
        direct = not argv[0].dynamic and argv[0].text in text.functions
        first = len(self.programs)
        use = self.emit(argv, tuple(word.text for word in prefix), place, function=direct)
        self.note_writes(found, place, first)
        self.note_writes(inner, place, first)
        if place.function and place.certain and not argv[0].dynamic:
            self.calls.add(place.function, argv[0].text, forks=place.forks)
        for below in blocks_below:
            self.compound(below, "subshell", place)
        self.word_substitutions(prefix + argv, place)
        self.substitutions(inner.subs, place, Input([self.span_from(first)], place.input))
        return None if inner.output else self.printed(use, place)

    def args(self, nodes: list[Node], text: Text) -> list[Word]:
        """Read arguments; `$"…"` stands as two nodes side by side."""
        found: list[Word] = []
        for index, node in enumerate(nodes):
            following = nodes[index + 1] if index + 1 < len(nodes) else None
            if following is not None and node.end_byte == following.start_byte:
                if node.type == "$" and following.type == "string":
                    continue
                raise UnreadableError("a word that the parser may have cut wrongly")
            found.append(self.word(node, text))
        return found

    def word(self, node: Node, text: Text) -> Word:
        word = words.read(node, text.src)
        return text.restore(word) if text.pattern is not None else word

    def assignment(self, node: Node, text: Text) -> Word:
        """Read `NAME=value` as one word."""
        src = text.src
        value = node.child_by_field_name("value")
        if value is None:
            word = Word(src[node.start_byte : node.end_byte].decode())
            return word
        name = src[node.start_byte : value.start_byte]
        if name[-1:] != b"=":
            end = src.rindex(b"=", node.start_byte, value.start_byte) + 1
            gap = src[end : value.start_byte]
            raise guards.MendError(src, end, value.start_byte, b"'' " if gap.strip(b"\\\n") else b"")
        if value.type == "array":
            word = Word(src[value.start_byte : value.end_byte].decode())
            word.subs = words.find(value, src, quotes=True)
        else:
            word = self.word(value, text)
        target = node.child_by_field_name("name")
        if target is not None and target.type == "subscript":
            word.subs = words.find(target, src, quotes=True) + word.subs
        word.text = name.decode() + word.text
        return word

    def assignments(self, node: Node | None, extra: list[Node], place: Place, found: "redirects.Redirects") -> None:
        """Walk assignments that stand alone, or ahead of a command that the parser took for words."""
        nodes = [] if node is None else [node] if node.type == "variable_assignment" else node.children
        prefix: list[Word] = []
        at = node.start_byte if node is not None else 0
        for child in nodes:
            guards.no_comment(place.text.src, child)
            (guards.apart if prefix else guards.within)(place.text.src, at, child.start_byte)
            at = child.end_byte
            prefix.append(self.assignment(child, place.text))
        first = len(self.programs)
        texts = [word.text for word in prefix]
        argv = self.args(extra, place.text)
        if argv:
            guards.name(place.text.src, at, extra[0].start_byte, extra[0].end_byte)
            self.emit(argv, tuple(texts), place, function=argv[0].text in place.text.functions)
        else:
            self.exports += texts
        self.note_writes(found, place, first if argv else -1)
        self.word_substitutions(prefix + argv, place)

    def declaration(self, node: Node, extra: list[Node], place: Place, found: "redirects.Redirects") -> None:
        """Walk `export`, `declare`, `local`, `readonly`, `typeset`, `unset`."""
        text = place.text
        argv: list[Word] = []
        at = node.start_byte
        for child in node.children:
            guards.no_comment(text.src, child)
            (guards.apart if argv else guards.within)(text.src, at, child.start_byte)
            at = child.end_byte
            if child.type == "variable_assignment":
                argv.append(self.assignment(child, text))
            elif child.type in {
                "export",
                "declare",
                "typeset",
                "local",
                "readonly",
                "unset",
                "unsetenv",
                "variable_name",
            }:
                argv.append(Word(text.src[child.start_byte : child.end_byte].decode()))
            else:
                argv.append(self.word(child, text))
        argv += self.args(extra, text)
        name = argv[0].text
        if name == "export" or (name in _DECLARES and any(w.text[:1] == "-" and "x" in w.text for w in argv[1:])):
            self.exports += [word.text for word in argv[1:] if "=" in word.text and word.text[:1] != "-"]
        first = len(self.programs)
        self.emit(argv, (), place)
        self.note_writes(found, place, first)
        self.word_substitutions(argv, place)

    def test(self, node: Node, place: Place, found: "redirects.Redirects") -> None:
        """Walk `[ … ]`, which is a program, or `[[ … ]]`, which is none."""
        src = place.text.src
        if node.children[0].type != "[":
            self.note_writes(found, place, -1)
            self.substitutions(words.find(node, src, quotes=True), place)
            return
        argv: list[Word] = []
        at = node.start_byte
        todo = [node]
        while todo:
            here = todo.pop()
            if here.type == "test_command" or here.type.endswith("_expression") and here.type != "brace_expression":
                todo += reversed(here.children)
                continue
            touches = here.start_byte == at and argv
            guards.within(src, at, here.start_byte)
            at = here.end_byte
            if here.is_named and here.type != "test_operator":
                word = self.word(here, place.text)
            else:
                raw = src[here.start_byte : at]
                if raw in (b"<", b">", b"&&", b"||", b"(", b")"):
                    raise UnreadableError("an operator within `[`")
                word = Word(raw.decode().replace("\\", ""))
            if touches:
                argv[-1].text += word.text
                argv[-1].subs += word.subs
                argv[-1].dynamic = argv[-1].dynamic or word.dynamic
            else:
                argv.append(word)
        first = len(self.programs)
        self.emit(argv, (), place)
        self.note_writes(found, place, first)
        self.word_substitutions(argv, place)

    def emit(
        self, argv: list[Word], assigns: tuple[str, ...], place: Place, *, function: bool = False, piped: bool = False
    ) -> classify.Use:
        """List a program, then what it runs. `piped` tells that standard input gives it further arguments."""
        self.count += len(argv)
        if self.count > guards.MAX_WORDS:
            raise UnreadableError(f"over {guards.MAX_WORDS} words")
        use = classify.use(self.tables, argv, assigns)
        index = len(self.programs)
        self.programs.append(None)
        runs = unwrap.NOTHING
        categories = use.categories
        if function:
            categories, use.writes = (), ()
        elif use.runs:
            runs = unwrap.find(use)
        scripts = [script for script in runs.scripts if told(script)]
        hidden = len(scripts) < len(runs.scripts) or runs.file is not None
        if runs.stdin and place.input is not None:
            if place.input.script is not None and runs.stdin == "script":
                (scripts.append if told(place.input.script) else lambda _: None)(place.input.script)
                hidden = hidden or not scripts
                self.feed_words(index, place.input.script, place.text)
            else:
                hidden = hidden or runs.stdin == "script"
            self.sinks.append((index, place.input))
        wraps = bool(runs.commands or scripts)
        if wraps and not use.keeps:
            categories = ()
        if hidden and "unknown" not in categories:
            categories = (*categories, "unknown") if wraps or use.keeps else ("unknown",)
        if piped and any(way.script == "-c" for way in use.runs) and place.input is not None:
            if not runs.scripts or any("{}" in word.text for script in runs.scripts for word in script):
                self.sinks.append((index, place.input))
        for script in runs.scripts:
            if not told(script):
                self.feed_words(index, script, place.text)
        if runs.file is not None:
            self.feed_words(index, [runs.file], place.text)
        self.feed_name(index, argv[0], place.text)
        self.programs[index] = Program(
            argv=tuple([word.text for word in argv]),
            name=use.name,
            subcommand=use.subcommand,
            flags=frozenset(use.flags),
            operands=tuple([argv[at].text for at in use.operands]),
            assigns=assigns,
            categories=categories,
            wraps=wraps or function,
            depth=place.depth,
        )
        if use.writes:
            base = place.folder.base
            self.writes += [Write(target=path, base=base, by=index) for path in classify.targets(use)]
        self.inside(use, runs, scripts, index, place)
        if use.name in _MOVES and not function:
            self.moved = True
            place.folder.go(use.name, argv)
        elif function and use.name in self.moving:
            place.folder.base = None
        return use

    def inside(self, use: classify.Use, runs: unwrap.Runs, scripts: list[list[Word]], index: int, place: Place) -> None:
        """Walk what a program runs."""
        if not runs.commands and not scripts:
            return
        here = place.below(deeper=1, subshell=use.name not in _SAME_SHELL)
        piped = use.name in _ARGS_FROM_STDIN
        for argv, assigns in runs.commands:
            self.emit(argv, assigns, here, piped=piped)
        for script in scripts:
            self.script(script, index, here)

    def printed(self, use: classify.Use, place: Place) -> list[Word] | None:
        """What a command prints, where that stands in the line."""
        if use.name in {"echo", "printf"}:
            return [_newlines(use.words[index]) for index in use.operands]
        if use.name in _PASSES_ON and place.input is not None:
            if use.name == "tee" or all(use.words[index].text == "-" for index in use.operands):
                return place.input.script
        return None

    # nested texts

    def script(self, script: list[Word], owner: int, place: Place) -> None:
        """Read words as shell text; substitutions that the outer shell makes are stood in for."""
        outer: dict[str, tuple[str, list[Span]]] = {}
        pieces: list[str] = []
        for word in script:
            if all(kind != SUBSTITUTION for _, kind in word.parts):
                pieces.append(word.text)
                continue
            spans = self.word_spans(word, place.text)
            piece = ""
            for text, kind in word.parts:
                if kind == SUBSTITUTION:
                    self.stand_ins += 1
                    name = f"__stand_in_{self.stand_ins}_"
                    outer[name] = (text, spans)
                    piece += "$" + name
                else:
                    piece += text
            pieces.append(piece)
        joined = " ".join(pieces)
        if outer and any("__stand_in_" in word.text for word in script):
            raise UnreadableError("a name that is reserved here")
        self.nested(joined, outer, owner, place)

    def nested(self, text: str, outer: dict[str, tuple[str, list[Span]]], owner: int, place: Place) -> None:
        root, src = self.parse(guards.prepare(text).encode())
        here = place.below()
        here.text = Text(src, owner)
        here.text.stand_in(outer)
        self.block(root.children, 0, len(src), here)

    def substitutions(self, nodes: list[Node], place: Place, source: Input | None = None) -> None:
        """Walk substitutions; `source` is what a `>(…)` reads."""
        for node in nodes:
            span = self.span(node, place.text)
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

    def backticks(self, node: Node, start: int, place: Place) -> None:
        """Walk what stands in backticks, whose escapes the shell undoes first."""
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

    def word_substitutions(self, argv: list[Word], place: Place) -> None:
        for word in argv:
            if word.subs:
                self.substitutions(word.subs, place, Input([self.span_from(len(self.programs) - 1)], place.input))

    # who feeds whom

    def span(self, node: Node, text: Text) -> Span:
        return self.spans.setdefault((id(text.src), node.start_byte), Span())

    def word_spans(self, word: Word, text: Text) -> list[Span]:
        """The programs whose output goes into a word."""
        spans = [self.span(node, text) for node in word.subs]
        for name in word.outer:
            if name in text.outer:
                spans += text.outer[name][1]
        return spans

    def feed_words(self, index: int, script: list[Word], text: Text) -> None:
        spans = [span for word in script for span in self.word_spans(word, text)]
        if spans:
            self.sinks.append((index, Input(spans)))

    def feed_name(self, index: int, name: Word, text: Text) -> None:
        """A program's name that a substitution makes: its output is run."""
        if name.subs or name.outer:
            owner = text.owner if name.outer and text.owner >= 0 else index
            self.sinks.append((owner, Input(self.word_spans(name, text))))

    def note_writes(self, found: "redirects.Redirects", place: Place, by: int) -> None:
        for target in found.targets:
            self.redirects_to_file = True
            self.writes.append(Write(target=target, base=place.folder.base, by=by))


def _newlines(word: Word) -> Word:
    """Read `\\n` in a printed word as the line end that it becomes."""
    if "\\n" not in word.text:
        return word
    printed = Word(word.text.replace("\\n", "\n"))
    printed.subs, printed.outer, printed.dynamic = word.subs, word.outer, word.dynamic
    printed.parts = [(text.replace("\\n", "\n"), kind) for text, kind in word.parts]
    return printed
