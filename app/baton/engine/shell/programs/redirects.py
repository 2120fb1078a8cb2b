"""Read the redirections of one command: what they write, and where its input comes from."""

import re
from typing import Protocol

from tree_sitter import Node

from baton.engine.shell import blocks, misreadings
from baton.engine.shell.expansion import words
from baton.engine.shell.expansion.scripts import Position, ScriptText, StdinSource
from baton.engine.shell.expansion.words import Word
from baton.engine.shell.misreadings import UnreadableError
from baton.engine.shell.tables import classify

_FD = re.compile(r"[0-9]+-?\Z|-\Z")
_WRITING = frozenset([">", ">>", ">|", "&>", "&>>", ">&"])


class Connections(Protocol):
    """Where it is noted that the line opens a connection to another machine."""

    network: bool


class Files(Protocol):
    """The files that the line has written."""

    files: dict[str, list[Word]]

    def of_file(self, word: Word, place: Position) -> list[Word] | None:
        """Return the text of a file that the line has written, as the words of a script."""
        ...


class Words(Protocol):
    """What reading a redirection needs of the walk, which this module must not import."""

    @property
    def listing(self) -> Connections:
        """Return the notes."""
        ...

    @property
    def texts(self) -> Files:
        """Return the files."""
        ...

    def word(self, node: Node, text: ScriptText) -> Word:
        """Read a word."""
        ...


class Redirects:
    """The redirections of a command. `words` are arguments that the parser took for a part of them.

    `input` is where standard input comes from, `subs` and `ticks` are the substitutions in the targets. `output` is
    True if standard output does not go on to the next command of the pipeline; `appends` if a file keeps what it holds.
    `substituted` is the word of `< <(…)`. `feeds` is True if one of them sets standard input, and not only another descriptor.
    """

    __slots__ = ("appends", "feeds", "input", "output", "sources", "subs", "substituted", "targets", "ticks", "words")

    def __init__(self, source: StdinSource | None = None) -> None:
        self.input = source
        self.subs: list[Node] = []
        self.ticks: list[str] = []
        self.sources: list[str] = []
        self.targets: list[str] = []
        self.words: list[Node] = []
        self.output = False
        self.appends = False
        self.feeds = False
        self.substituted: Word | None = None


NONE = Redirects()


def read(walk: Words, element: blocks.Element, place: Position) -> Redirects:
    """Read the redirections of a command.

    Raises:
        UnreadableError: If the parser may have cut one wrongly.
    """
    found = Redirects(place.input)
    for node in element.redirects:
        if node.type == "herestring_redirect":
            word = _operands(node, walk, place, found)
            found.subs += word.subs
            first = node.children[0]
            descriptor = (
                place.text.src[first.start_byte : first.end_byte].decode() if first.type == "file_descriptor" else ""
            )
            _text(word, descriptor, found, walk)
        else:
            _file(node, walk, place, found)
    if element.heredoc:
        word = _heredoc(element.heredoc, place)
        found.subs += word.subs
        found.ticks += word.ticks
        _text(word, element.heredoc.descriptor, found, walk)
    return found


def _text(word: Word, descriptor: str, found: Redirects, walk: Words) -> None:
    """Note a text that is given as standard input, or on another descriptor, as `/dev/fd/3` has it."""
    if descriptor in ("", "0") or not found.feeds:
        found.input = StdinSource(word.spans, None, [word])
    found.feeds = found.feeds or descriptor in ("", "0")
    if descriptor:
        walk.texts.files[f"/dev/fd/{descriptor}"] = [word]


def _operands(node: Node, walk: Words, place: Position, found: Redirects) -> Word:
    """Return the word after the operator. Further words (`> f b c`) are the command's arguments."""
    src = place.text.src
    children = node.children
    at = 1 if children[0].type == "file_descriptor" else 0
    end = children[at].end_byte
    if at and children[0].end_byte != children[1].start_byte:
        raise UnreadableError("a redirection that the parser may have cut wrongly")
    rest = children[at + 1 :]
    for index, child in enumerate(rest):
        misreadings.no_comment(src, child)
        free = index == 0 or rest[index - 1].type == "$"
        (misreadings.within if free else misreadings.apart)(src, end, child.start_byte)
        end = child.end_byte
    if children[at].type.endswith("&-"):  # `2>&-` closes a descriptor and takes no target
        found.words += rest
        return Word("")
    if not rest:
        raise UnreadableError("a redirection without a target")
    target = 0
    # `> $"text"`: the parser makes two nodes of a translated string.
    if rest[0].type == "$" and len(rest) > 1 and rest[1].start_byte == rest[0].end_byte:
        target = 1
    found.words += rest[target + 1 :]
    return walk.word(rest[target], place.text)


def _file(node: Node, walk: Words, place: Position, found: Redirects) -> None:
    children = node.children
    has_fd = children[0].type == "file_descriptor"
    fd = place.text.src[children[0].start_byte : children[0].end_byte] if has_fd else b""
    operator = children[1 if has_fd else 0].type
    word = _operands(node, walk, place, found)
    found.subs += word.subs
    spans = word.spans
    if word.text.startswith(("/dev/tcp/", "/dev/udp/")):  # bash opens a connection, no file
        walk.listing.network = True
        found.output = True
        if fd in (b"", b"0", b"1"):
            found.input, found.feeds = _connection(), True
        return
    if (
        operator == "<&" and walk.listing.network and fd in (b"", b"0")
    ):  # a descriptor that `exec 3<>/dev/tcp/…` may have opened
        found.input, found.feeds = _connection(), True
    if operator == "<" and fd in (b"", b"0"):
        found.feeds = True
        found.input = StdinSource(spans, None, walk.texts.of_file(word, place))
        found.substituted = word if word.subs and word.text.startswith("<(") else None
    if operator == "<" and not word.subs:
        found.sources.append(word.text)
    if operator not in _WRITING:
        return
    # `>&2` copies a descriptor; `>& file` writes a file.
    if operator == ">&" and (fd or _FD.match(word.text)):
        return
    if fd in (b"", b"1"):
        found.output = True
        found.appends = operator == ">>"
    if not classify.harmless(word.text) and not (word.subs and word.text.startswith((">(", "<("))):
        found.targets.append(word.text)


def _connection() -> StdinSource:
    source = StdinSource([])
    source.connection = True
    return source


def _heredoc(heredoc: blocks.Heredoc, place: Position) -> Word:
    src = place.text.src
    if heredoc.literal:
        word = Word(src[heredoc.start : heredoc.end].decode())
    else:
        word = words.heredoc(heredoc.nodes, src, heredoc.start, heredoc.end)
    if heredoc.strips:
        word.text = re.sub(r"(?m)^\t+", "", word.text)
        word.parts = [(re.sub(r"(?m)^\t+", "", text), kind) for text, kind in word.parts]
    return place.text.bind(word)
