"""Read the redirections of one command: written files, and the source of its input."""

import posixpath
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Protocol

from tree_sitter import Node

from baton.lib.bash import blocks, misreadings
from baton.lib.bash.expansion import words
from baton.lib.bash.expansion.scripts import Position, ScriptText, StdinSource
from baton.lib.bash.expansion.values import Filler
from baton.lib.bash.expansion.words import ProgramSpan, Word
from baton.lib.bash.misreadings import UnreadableError
from baton.lib.bash.model import Program
from baton.lib.bash.tables import classify

# Remember the programs writing each file, so a file run later is attributed to them.

_KEEP = frozenset([
    "rm", "unlink", "rmdir", "chmod", "chown", "chgrp", "touch", "chattr", "setfacl", "xattr", "sed", "dos2unix",
    "truncate",
])  # fmt: skip
"""Programs that add nothing new to a file."""
_COPY = frozenset(["cp", "mv", "install", "ln", "rsync", "scp", "ditto"])
_PACKED = frozenset([".gz", ".xz", ".bz2", ".zst", ".lz4", ".lzma", ".br", ".Z"])
_DESCRIPTOR = re.compile(r"/proc/(?:self|\$\$|\d+)/fd/")
_HERE = re.compile(r"\$(?:PWD|\{PWD\})/")
_MOST_READ = 16  # maximum files read by one program, or copied into a folder, with remembered writers


class WrittenFiles:
    """The files written so far, with the programs whose output they contain."""

    def __init__(self) -> None:
        self.sources: dict[str, StdinSource] = {}

    def add_targets(
        self, targets: Iterable[str], base: str | None, index: int, program: Program, source: StdinSource | None
    ) -> None:
        """Note the writes of the program at an index; `source` is its input, which it may pass on (`tee x`)."""
        targets = [target for target in targets if program.name not in _KEEP or target not in program.operands]
        read = self.read_by(program.operands, base)
        written = StdinSource([ProgramSpan(index, index + 1)], source, origins=read)
        # A target may be a folder. The file name is then in the URL, in the path after a host, or in the copied file's
        # path.
        fetched = program.operands if "network" in program.categories else ()
        inside = {_name(word): written for word in fetched if ":" in word}
        if program.name in _COPY and program.operands:
            inside = {_name(word): self.source(word, base) or written for word in program.operands[:_MOST_READ]}
        for target in targets:
            key = _key(target, base)
            self.sources[key] = written
            bare, packed = posixpath.splitext(key)
            if packed in _PACKED:  # unpacking removes the extension
                self.sources[bare] = written
        for target in targets[-1:]:  # the target of a copy is the last operand
            for name, one in islice(inside.items(), _MOST_READ):
                self.sources[_key(f"{target}/{name}", base)] = one

    def read_by(self, words: Sequence[str], base: str | None) -> list[StdinSource]:
        """Return the sources of the files in a program's arguments: `x`, `if=x`."""
        if not self.sources:
            return []
        found = [self.source(one, base) for word in words[:_MOST_READ] for one in {word, word.rpartition("=")[2]}]
        return [one for one in found if one is not None]

    def source(self, path: str, base: str | None) -> StdinSource | None:
        """Return the programs that wrote a file, or None."""
        return self.sources.get(_key(path, base)) if self.sources else None


def _name(source: str) -> str:
    path = source.partition("?")[0].partition("#")[0] if "://" in source else source
    return path.rstrip("/").rpartition("/")[2].rpartition(":")[2]


def _key(path: str, base: str | None) -> str:
    return posixpath.normpath(posixpath.join(base or "", _DESCRIPTOR.sub("/dev/fd/", _HERE.sub("", path))))


_FD = re.compile(r"[0-9]+-?\Z|-\Z")
_WRITING = frozenset([">", ">>", ">|", "&>", "&>>", ">&"])


class Connections(Protocol):
    """The notes about connections, files and programs."""

    network: bool
    written: WrittenFiles
    programs: list[Program | None]


class Files(Protocol):
    """The files written by the line."""

    files: dict[str, list[Word]]
    filler: Filler

    def of_file(self, word: Word, place: Position) -> list[Word] | None:
        """Return the text of a file written by the line, as the words of a script."""


class Words(Protocol):
    """The walk's interface for reading a redirection; this module must not import the walk."""

    @property
    def listing(self) -> Connections:
        """The notes."""

    @property
    def texts(self) -> Files:
        """The files."""

    def word(self, node: Node, text: ScriptText) -> Word:
        """Read a word."""

    def substitutions(self, nodes: list[Node], place: Position) -> None:
        """Walk substitutions."""

    def ticked(self, text: str, place: Position) -> None:
        """Walk the text in backticks of a here-document."""


class Redirects:
    """The redirections of a command. `words` are arguments that the parser attached to them.

    `input` is the source of standard input; `subs` are the `>(…)` of targets. `output`: standard output does not
    reach the next command of the pipeline; `appends`: a file keeps its content. `feeds`: a redirection sets standard
    input, and not only another descriptor.
    """

    __slots__ = ("appends", "feeds", "input", "output", "sources", "subs", "targets", "words")

    def __init__(self, source: StdinSource | None = None) -> None:
        self.input = source
        self.subs: list[Node] = []
        self.sources: list[str] = []
        self.targets: list[str] = []
        self.words: list[Node] = []
        self.output = False
        self.appends = False
        self.feeds = False


NONE = Redirects()


def read(walk: Words, element: blocks.Element, place: Position) -> Redirects:
    """Read the redirections of a command. Raise UnreadableError."""
    found = Redirects(place.input)
    for node in element.redirects:
        if node.type == "herestring_redirect":
            word = _operands(node, walk, place, found)
            first = node.children[0]
            descriptor = place.text.src[first.start_byte : first.end_byte].decode()
            _text(word, descriptor if first.type == "file_descriptor" else "", found, walk, place)
        else:
            _file(node, walk, place, found)
    if element.heredoc:
        word = _heredoc(element.heredoc, place)
        _substitute(word, walk, place, found)
        for text in word.ticks:
            walk.ticked(text, place)
        _text(word, element.heredoc.descriptor, found, walk, place)
    return found


def _text(word: Word, descriptor: str, found: Redirects, walk: Words, place: Position) -> None:
    """Note a string given as standard input, or on another descriptor, such as `/dev/fd/3`."""
    if descriptor in ("", "0") or not found.feeds:
        found.input = StdinSource(word.spans, None, [word])
    found.feeds = found.feeds or descriptor in ("", "0")
    if descriptor:
        walk.texts.files[f"/dev/fd/{descriptor}"] = [word]
        _open(descriptor, StdinSource(word.spans, None, [word]), walk, place)


def _operands(node: Node, walk: Words, place: Position, found: Redirects) -> Word:
    """Return the word after the operator. Further words (`> f b c`) are the command's arguments."""
    src = place.text.src
    children = node.children
    at = 1 if children[0].type == "file_descriptor" else 0
    end = children[at].end_byte
    if at and children[0].end_byte != children[1].start_byte:
        raise UnreadableError("an ambiguous redirection")
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
    word = walk.word(rest[target], place.text)
    _substitute(word, walk, place, found)
    return word


def _substitute(word: Word, walk: Words, place: Position, found: Redirects) -> None:
    """Walk the substitutions in a word, as the shell does before the command; `>(…)` follows after it."""
    found.subs += [one for one in word.subs if one.children[0].type == ">("]
    walk.substitutions([one for one in word.subs if one.children[0].type != ">("], place)


def _file(node: Node, walk: Words, place: Position, found: Redirects) -> None:
    children = node.children
    has_fd = children[0].type == "file_descriptor"
    fd = place.text.src[children[0].start_byte : children[0].end_byte] if has_fd else b""
    operator = children[1 if has_fd else 0].type
    word = _operands(node, walk, place, found)
    made = [fields[0] for fields in walk.texts.filler.variants([word], place.values)] if word.dynamic else []
    word = made[0] if len(made) == 1 and not word.subs else word
    if word.text.startswith(("/dev/tcp/", "/dev/udp/")):  # bash opens a connection instead of a file
        walk.listing.network = True
        found.output = True
        if fd in (b"", b"0", b"1"):
            found.input, found.feeds = _connection(), True
        return
    if operator in {"<", "<&"}:
        _reading(operator, fd.decode(), word, walk, place, found)
    if operator not in _WRITING:
        return
    # `>&2` copies a descriptor; `>& file` writes a file.
    if operator == ">&" and (fd or _FD.match(word.text)):
        return
    if fd in (b"", b"1"):
        found.output = True
        found.appends = operator == ">>"
    if not classify.harmless(word.text) and not (word.subs and word.text.startswith((">(", "<("))):
        found.targets += [one.text for one in made] or [word.text]


def _reading(operator: str, fd: str, word: Word, walk: Words, place: Position, found: Redirects) -> None:
    source: StdinSource | None
    if operator == "<":
        writers = walk.listing.written.source(word.text, place.folder.base)
        source = StdinSource(word.spans, None, walk.texts.of_file(word, place), [writers])
        if not word.subs:
            found.sources.append(word.text)
    else:
        source = _copied(word, walk)
    if fd not in ("", "0"):
        if source is not None:
            _open(fd, source, walk, place)
    elif source is not None:
        found.input, found.feeds = source, True
    elif walk.listing.network:  # a descriptor that `exec 3<>/dev/tcp/…` may have opened
        found.input, found.feeds = _connection(), True


def _open(descriptor: str, source: StdinSource, walk: Words, place: Position) -> None:
    """Note the source of a descriptor, for later use: `<&3`, `/dev/fd/3`, `read -u 3`."""
    walk.listing.written.sources[f"/dev/fd/{descriptor}"] = source
    place.text.variables[f"/dev/fd/{descriptor}"] = source.all_spans()


def _copied(word: Word, walk: Words) -> StdinSource | None:
    """Return the source of `<&3`; for a descriptor in a variable, any program of the line may be the source."""
    if word.dynamic and walk.listing.programs:
        return StdinSource([ProgramSpan(0, len(walk.listing.programs))])
    return walk.listing.written.sources.get(f"/dev/fd/{word.text.rstrip('-')}")


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
