"""Read the words of a shell line: quotes removed, expansions as written, substitutions listed for the walk."""

import re

from tree_sitter import Node

from baton.lib.bash import misreadings
from baton.lib.bash.misreadings import UnreadableError

SUBSTITUTIONS = frozenset(["command_substitution", "process_substitution"])
_EXPANSIONS = frozenset(["expansion", "arithmetic_expansion", "simple_expansion"])
_LEAVES = frozenset(
    ["word", "number", "extglob_pattern", "variable_name", "test_operator", "brace_expression", "regex"]
)
_UNESCAPE = re.compile(r"\\(.)", re.DOTALL)
_UNESCAPE_QUOTED = re.compile(r'\\([$`"\\\n])')
_UNESCAPE_HEREDOC = re.compile(r"\\([$`\\\n])")
_TICKS = re.compile(r"(?<!\\)(?:\\\\)*`")
UNESCAPE_TICKS = re.compile(r"\\([$`\\])")
BARE = r"(?:~/)?[A-Za-z0-9_./:=@%+,^\-][A-Za-z0-9_./:=@%+,^#\-]*+"
"""A word that the shell changes at most by its leading `~`."""
_IS_BARE = re.compile(BARE.encode() + rb"\Z").match
_RAW = re.compile(rb"'[^']*'\Z")
_DOUBLE = re.compile(rb'".*"\Z', re.DOTALL)
_ANSI = re.compile(rb"\$'(?:[^'\\]|\\.)*'\Z", re.DOTALL)
_SINGLE_QUOTED = {"raw_string": _RAW, "ansi_c_string": _ANSI}
_SIMPLE = re.compile(rb"\s*\$(?:\w+|[@*#?$!_-])\Z")
_GLOB = re.compile(r"[*?\[{]")
_ANSI_ESCAPE = re.compile(
    rb"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)
_ANSI_LETTERS = {b"a": b"\a", b"b": b"\b", b"e": b"\x1b", b"E": b"\x1b", b"f": b"\f", b"n": b"\n", b"r": b"\r"}
_ANSI_LETTERS |= {b"t": b"\t", b"v": b"\v"}

LITERAL, EXPANSION, SUBSTITUTION = 0, 1, 2
KIND, QUOTED = 3, 4  # the mask of a part's kind, and the bit for quoted, unsplit parts


class ProgramSpan:
    """A run of programs in the walk's list: from `first` to `last` (exclusive)."""

    __slots__ = ("first", "last")

    def __init__(self, first: int = 0, last: int = 0) -> None:
        self.first = first
        self.last = last


class Word:
    """A word. `dynamic`: it contains an expansion; `globs`: it contains an unquoted glob or brace.

    `subs` are the outermost substitutions, `parts` the pieces of the text with their kind (none for a plain word).
    `ticks` are the texts in backticks of a heredoc: the parser makes no nodes for them. `outer`: the shell around a
    nested script produces a part of it. `spans` are the programs with output in it.
    """

    __slots__ = ("dynamic", "globs", "outer", "parts", "spans", "subs", "text", "ticks")

    def __init__(self, text: str) -> None:
        self.text = text
        self.dynamic = False
        self.globs = False
        self.subs: list[Node] = []
        self.parts: list[tuple[str, int]] = []
        self.outer = False
        self.spans: list[ProgramSpan] = []
        self.ticks: list[str] = []

    @property
    def keeps_globs(self) -> bool:
        """Whether all its wildcards are quoted."""
        return not self.globs and {kind for text, kind in self.parts if _GLOB.search(text)} == {LITERAL | QUOTED}


def read(node: Node, src: bytes) -> Word:
    """Read a word. Raise UnreadableError."""
    raw = src[node.start_byte : node.end_byte]
    if _IS_BARE(raw):
        return Word(raw.decode())
    word = Word("")
    _piece(node, node.type, src, word)
    if len(word.parts) == 1:
        word.text = word.parts[0][0]
    else:
        word.text = "".join([text for text, _ in word.parts])
    return word


def heredoc(nodes: list[Node], src: bytes, start: int, end: int) -> Word:
    """Read the body of a heredoc with an unquoted delimiter, so expansions in it count."""
    word = Word("")
    _quoted(nodes, src, start, end, word, _UNESCAPE_HEREDOC)
    word.text = "".join([text for text, _ in word.parts])
    return word


def _piece(node: Node, kind: str, src: bytes, word: Word) -> None:
    raw = src[node.start_byte : node.end_byte]
    if kind in _LEAVES and not node.child_count:
        misreadings.word(raw, first=not word.parts)
        text = raw.decode()
        if _GLOB.search(text):
            word.globs = True
        word.parts.append((_UNESCAPE.sub(r"\1", text) if "\\" in text else text, LITERAL))
    elif kind == "string":
        # A parser recovering from an error may end a string too early; the rest would be read as a command.
        if not _DOUBLE.match(raw):
            raise UnreadableError("an ambiguous string")
        inner = [child for child in node.children if child.type not in ('"', "string_content")]
        _quoted(inner, src, node.start_byte + 1, node.end_byte - 1, word, _UNESCAPE_QUOTED)
    elif kind in _SINGLE_QUOTED:
        if not _SINGLE_QUOTED[kind].match(raw):
            raise UnreadableError("an ambiguous string")
        word.parts.append((raw[1:-1].decode() if kind == "raw_string" else _ansi(raw[2:-1]), LITERAL | QUOTED))
    elif kind in SUBSTITUTIONS or kind in _EXPANSIONS:
        _expansion(node, kind, raw, src, word)
    elif kind == "$":
        _dollar(raw, word)
    elif kind in {"concatenation", "translated_string", "number", "brace_expression", "command_name"}:
        _joined(node, src, word)
    else:
        raise UnreadableError(f"`{kind}` instead of a word")


def _joined(node: Node, src: bytes, word: Word) -> None:
    end = node.start_byte
    children = node.children
    for index, child in enumerate(children):
        if child.start_byte != end:
            raise UnreadableError("an ambiguous word")
        end = child.end_byte
        kind = child.type
        if kind == "$" and index + 1 < len(children) and children[index + 1].type == "string":
            continue
        # tree-sitter leaves some bare characters unnamed; they are part of the word all the same.
        if not child.is_named and kind != "$":
            misreadings.word(src[child.start_byte : end])
            word.parts.append((src[child.start_byte : end].decode(), LITERAL))
        else:
            _piece(child, kind, src, word)
    if end != node.end_byte:
        raise UnreadableError("an ambiguous word")


def _quoted(nodes: list[Node], src: bytes, start: int, end: int, word: Word, unescape: re.Pattern[str]) -> None:
    at = start
    heredoc_body = unescape is _UNESCAPE_HEREDOC
    for node in [*nodes, None]:
        upto = node.start_byte if node else end
        if upto > at:
            raw = src[at:upto]
            if heredoc_body:
                _heredoc_text(raw, word)
            else:
                misreadings.quoted(raw)
                _literal(raw.decode(), unescape, word)
        if node:
            kind = node.type
            at = node.end_byte
            if kind == "$":
                _dollar(src[node.start_byte : node.end_byte], word, QUOTED)
                continue
            if kind not in SUBSTITUTIONS and kind not in _EXPANSIONS:
                raise UnreadableError(f"`{kind}` within quotes")
            _expansion(node, kind, src[node.start_byte : node.end_byte], src, word, QUOTED)


def _dollar(raw: bytes, word: Word, quoted: int = 0) -> None:
    """Add a dollar without a name: literal (`"5$"`), or the shell's number at the end of a word (`x.$$`)."""
    if raw == b"$$":
        word.dynamic = True
        word.parts.append(("$$", EXPANSION | quoted))
    else:
        word.parts.append(("$", LITERAL | quoted))


def _literal(text: str, unescape: re.Pattern[str], word: Word) -> None:
    if "\\" in text:
        text = unescape.sub(lambda found: "" if found[1] == "\n" else found[1], text)
    word.parts.append((text, LITERAL | QUOTED))


def _heredoc_text(raw: bytes, word: Word) -> None:
    pieces = _TICKS.split(raw.decode())
    if len(pieces) % 2 == 0:
        raise UnreadableError("an unmatched backtick in a heredoc")
    for index, piece in enumerate(pieces):
        if index % 2:
            word.ticks.append(UNESCAPE_TICKS.sub(r"\1", piece))
            word.parts.append((f"`{piece}`", SUBSTITUTION | QUOTED))
            word.dynamic = True
        else:
            misreadings.quoted(piece.replace('"', "").encode())
            _literal(piece, _UNESCAPE_HEREDOC, word)


def _expansion(node: Node, kind: str, raw: bytes, src: bytes, word: Word, quoted: int = 0) -> None:
    word.dynamic = True
    text = raw.decode()
    if kind in SUBSTITUTIONS:
        word.subs.append(node)
        word.parts.append((text, SUBSTITUTION | quoted))
    elif kind == "simple_expansion":
        if not _SIMPLE.match(raw):
            misreadings.dollar(src, node.start_byte, node.end_byte)
        word.parts.append((text, EXPANSION | quoted))
    else:
        misreadings.expansion(raw)
        found = find_substitutions(node, src, quotes=False) if b"(" in raw or b"`" in raw else []
        word.subs += found
        word.parts.append((text, (SUBSTITUTION if found else EXPANSION) | quoted))


def find_substitutions(node: Node, src: bytes, *, quotes: bool) -> list[Node]:
    """Return the outermost substitutions below a node; with `quotes`, single quotes hide their content.

    Not in `"${x:-'$(cmd)'}"`: within double quotes a single quote is literal, and bash runs the command.
    """
    found: list[Node] = []
    todo = [node]
    while todo:
        here = todo.pop()
        kind = here.type
        # The outermost is enough: its reader finds the inner ones.
        if kind in SUBSTITUTIONS:
            found.append(here)
            continue
        children = here.children
        if kind == "expansion":
            misreadings.expansion(src[here.start_byte : here.end_byte])
        if not children:
            raw = src[here.start_byte : here.end_byte]
            if quotes and kind in {"raw_string", "ansi_c_string"}:
                if not _RAW.match(raw) and not _ANSI.match(raw):
                    raise UnreadableError("an ambiguous string")
            else:
                misreadings.uncovered(src, here.start_byte, here.end_byte)
            continue
        # Bash also runs code between two children. If the parser left text there, it may have misread the line.
        at = here.start_byte
        for child in children:
            misreadings.uncovered(src, at, child.start_byte)
            at = child.end_byte
        misreadings.uncovered(src, at, here.end_byte)
        todo += reversed(children)
    return found


def _ansi(raw: bytes) -> str:
    def decode(found: re.Match[bytes]) -> bytes:
        hexa, short, long, octal, control, letter = found.groups()
        if hexa:
            return bytes([int(hexa, 16)])
        if short or long:
            code = int(short or long, 16)
            return chr(code).encode("utf-8", "replace") if code < 0x110000 else b"?"  # noqa: PLR2004 (Unicode's end)
        if octal:
            return bytes([int(octal, 8) & 0xFF])
        if control:
            return bytes([control[0] & 0x1F])
        return _ANSI_LETTERS.get(letter, letter if letter in b"\\'\"?" else b"\\" + letter)

    return _ANSI_ESCAPE.sub(decode, raw).split(b"\0", maxsplit=1)[0].decode("utf-8", "replace")
