"""Guards against what tree-sitter-bash reads wrongly without an error, and the limits on what is read at all.

`blocks`, `words` and `walk` call these checks on each part of the tree before they believe it. A check passes, refuses
the line (UnreadableError), or rewrites the text into one that means the same to bash and that the parser reads rightly
(MendError). Most compare the tree with the text: whatever lies between two nodes must be white space, since the parser
drops text that it does not understand.
"""

import re

from tree_sitter import Node

from baton.engine.shell.heredocs import as_here_strings

# Limits, so that no line takes longer than 50 ms or fills the memory. They are counts of work, never times: a line must
# mean the same on a busy machine. `MAX_STEPS` are those of the parser, of some 100 operations each; shell scripts of
# 5,000 parts take some 200. The largest of 3,430 real lines has 250 parts.
MAX_BYTES = 64 * 1024
MAX_TOTAL_BYTES = 128 * 1024
MAX_STEPS = 250
MAX_NODES = 5_000
MAX_DEPTH = 60
MAX_WORDS = 3_500
MAX_FEEDS = 1_000
MAX_WRITES = 800
MAX_HEREDOCS = 50
MAX_WRAPPERS = 32
MAX_CALLS = 64
MAX_GUESSED_WORDS = 2_000
MAX_GUESSED_SCRIPTS = 16
MAX_CUT_HEREDOCS = 8
MAX_REWRITTEN = 16 * 1024

KEYWORDS = frozenset(
    [
        "if",
        "then",
        "elif",
        "else",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "select",
        "function",
        "{",
        "}",
        "!",
        "[[",
        "]]",
        "((",
    ]
)
_OPENERS = frozenset([b"{", b"if", b"for", b"while", b"until", b"case", b"select", b"[[", b"!"])
_TIME_OPTIONS = frozenset([b"-p", b"--"])

_BLANK = re.compile(rb"(?:[ \t]|\\\n)*\Z")
_CONTINUED = re.compile(rb"[^\\][ \t]\\\n\Z")
_SPACE = re.compile(rb"(?:[ \t\n]|\\\n)*\Z")
_PLAIN_GAPS = frozenset([b"", b" ", b"\n"])
_WORD = re.compile(rb"(?:[^\s\\'\"`$|&;<>()\0]|\\[^\n])+\Z")
_LATE_HERESTRING = re.compile(
    rb"((?:[0-9]*|&)>>?&?[ \t]*[\w./\-]+)[ \t]+(<<<[ \t]*(?:\"[^\"`\\]*\"|'[^']*'|[$\w./\-]+))(?=[ \t\n;&|)]|\Z)"
)
# What valid bash is written so that the parser reads it, if it found errors; `rewritten` says why each is safe.
_DELIMITER = rb"<<-?[ \t]*(?:'\w+'|\"\w+\"|\\?\w+)"
_FILE = rb"[ \t]*[\w./$][\w./${}\-]*"
_LATE_REDIRECTS = re.compile(
    rb"("
    + _DELIMITER
    + rb")((?:[ \t]+(?:[12]?>>?\|?"
    + _FILE
    + rb"|[12]?>&[12]|&>>?"
    + _FILE
    + rb"))+)(?=[ \t]*[\n;&|)])"
)
_CUT_HEREDOC = re.compile(
    rb"<<(-?)[ \t]*(?:'(\w+)'|\"(\w+)\"|\\?(\w+))[ \t]*;((?:[^'\"\\`#\n]|'[^'\n]*'|\"[^\"\\`\n]*\")*)\n"
)
_BACKSLASH_FIRST = re.compile(rb"(" + _DELIMITER + rb"(?:[^\\\n]|\\[^\n])*\n)(?=[ \t\n]*\\)")
_TEMPLATE = re.compile(rb"(?<![\\$])\$\{\{((?:[^{}$`\"'\\<>\n]|'[\w ./:=*@%+,\-]*')*)\}\}")
_TEST = re.compile(rb"(?<![^\s;&|(])(?=\[[ \t](?:[^\n\]]{0,120}[ \t])?\\[()<>])")
_MAKE_NAME = re.compile(rb"(?<=[ \t])(?=\$[\^<](?:[\s;)]|\Z))")
_BANG = re.compile(rb"(?:\A|[\s;&|(){}])(!)[ \t]+\Z")
_DESCRIPTOR = re.compile(rb"(?<![^\s;&|()<>])[0-9]+\Z")
_LOOSE_DIGITS = re.compile(rb"((?:[ \t]|\\\n)+)[0-9]+\Z")
_COPIED = re.compile(rb"([<>])&[0-9]+-?(?=[ \t\n;&|)<>]|\Z)")
_BACKTICKS = re.compile(rb"`([^`\\#]*)`")
_BARE_ASSIGNMENT = re.compile(rb"[A-Za-z_]\w*(?:\[[^]]*\])?\+?=")
_VARIABLE = re.compile(rb"[0-9]|[A-Za-z_]\w*")
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_COMMANDS = re.compile(rb"`|\$\((?!\()|\$\{[ \t\n|]|[<>]\(")
_COMMANDS_QUOTED = re.compile(rb"`|\$\(|\$\{")
_ODD_EXPANSION = re.compile(rb"\$\{[ \t\n|]|@P\}\Z")
_FOR_DO = re.compile(rb"for[ \t]+[A-Za-z_]\w*(?=[ \t]+do[ \t\n])")
_LONE = frozenset(["/", "~", "*", "%"])
_TESTS = re.compile(rb"[ \t]-[a-zA-Z][ \t]+\Z")
_ODD_BYTES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class UnreadableError(Exception):
    """The text cannot be read safely; the message says why, without quoting the text."""


class UnguessableError(UnreadableError):
    """An unknown program has a program behind it, with more words than are tried: what it does cannot be told."""


class MendError(Exception):
    """The text `src` means the same to bash as `mended`, which the parser reads rightly."""

    def __init__(self, src: bytes, start: int, end: int, instead: bytes) -> None:
        super().__init__()
        self.src = src
        self.mended = src[:start] + instead + src[end:]


def prepare(text: str) -> str:
    """Return the text in the form that is parsed: without a byte-order mark, with line feeds only.

    Raises:
        UnreadableError: If it is too long, or has carriage returns or control characters that bash would see.
    """
    text = text.removeprefix("\ufeff")
    if len(text) > MAX_BYTES:
        raise UnreadableError("over 64 KiB")
    # Bash takes a lone carriage return for a letter, a terminal shows it as a new line: such a text hides commands.
    if "\r" in text:
        if "\\\r" in text or text.count("\r\n") != text.count("\r") or re.search(r"(?<!\r)\n", text):
            raise UnreadableError("carriage returns")
        text = text.replace("\r\n", "\n")
    # The parser keeps the state of each heredoc that is open. Of two on a line the second is refused anyway; a line of
    # `cout << a << b` within a heredoc has a few.
    if text.count("<<") > MAX_HEREDOCS and any(line.count("<<") > MAX_HEREDOCS for line in text.split("\n")):
        raise UnreadableError(f"over {MAX_HEREDOCS} heredocs on a line")
    found = _ODD_BYTES.search(text)
    if found:
        raise UnreadableError(f"control character U+{ord(found[0]):04X}")
    return text


def tree(root: Node, src: bytes) -> None:
    """Check a tree that the parser itself marked as wrong: mend what is valid bash, refuse the rest.

    Valid bash that the grammar lacks: `==` as a word, `<>`, a here-string after a redirection, a lone `/` or `~` after
    the operator of a test, `for x do`, and what `rewritten` knows.
    """
    if not root.has_error:
        return
    rewrite(src)
    todo = [root]
    while todo:
        node = todo.pop()
        at = node.start_byte
        # `test a == b` outside of `[[`: an escaped `\==` is the same word.
        if node.type == "==" and node.parent is not None and node.parent.is_error:
            raise MendError(src, at, at, b"\\")
        # `cat > f <<< x`: the grammar knows the here-string only ahead of other redirections.
        if node.type == "<<":
            found = _LATE_HERESTRING.search(src, max(0, at - 200))
            if found and found.start(2) == at:
                raise MendError(src, found.start(), found.end(), found[2] + b" " + found[1])
        if node.type == ">" and node.parent is not None and node.parent.is_error and src[at - 1 : at] == b"<":
            # Without a number `<>` is standard input, not output: descriptor 3 stands for any that is neither.
            raise MendError(src, at - 1, at + 1, b">>" if _DESCRIPTOR.search(src, 0, at - 1) else b" 3>>")
        # `for x do` without `in` loops over the arguments; the grammar wants a `;` before `do`.
        found = _FOR_DO.match(src, at) if node.is_error else None
        if found:
            raise MendError(src, found.end(), found.end(), b";")
        # `[ -d / ]`: the grammar takes a lone `/`, `~`, `*` or `%` for an operator.
        if node.type in _LONE and _TESTS.search(src, max(0, at - 8), at):
            raise MendError(src, at, at, b"\\")
        if node.has_error or node.type.endswith("_expression"):
            todo += node.children
    raise UnreadableError("not valid shell syntax, or a construct that is not read")


def rewrite(src: bytes) -> None:
    """Correct a text in which the parser found errors, if it has heredocs or one of the forms that `rewritten` knows."""
    text = as_here_strings(src)
    if text == src and len(src) <= MAX_REWRITTEN:
        text = rewritten(src)
    if text != src:
        raise MendError(src, 0, len(src), text)


def rewritten(src: bytes) -> bytes:
    r"""Return the text without the valid forms that the grammar lacks, in one pass over each.

    It works on the text, as a long one is given up at its first error and has no tree. Where quotes make such a form mere
    text, it becomes another text of the same meaning in a nested script, and nothing that runs is lost:

    - `<<E 2>&1 | tee log`: the parser wants a heredoc's delimiter behind the redirections of output and errors.
    - `<<E; next`: what follows the `;` goes behind the body, as bash runs it there.
    - a body that begins with a backslash, as psql's `\c db`: a comment in front of it keeps the parser from reading it as
      a part of the line.
    - `${{ matrix.os }}`: no bash, but in a workflow's scripts the forge puts a value there. Bash stops at it.
    - `[ \( a = b \) ]`: with its first letter escaped the program is a word like any other.
    - Make's `$^` and `$<`: to bash this dollar is a letter.
    """
    if b"${{" in src:
        src = _TEMPLATE.sub(lambda found: b"${_" + re.sub(rb"\W+", b"_", found[1]).strip(b"_") + b"}", src)
    if b"<<" in src:
        src = _LATE_REDIRECTS.sub(lambda found: found[2].lstrip() + b" " + found[1], src)
        src = _BACKSLASH_FIRST.sub(rb"\1#\n", _behind_bodies(src))
    return _MAKE_NAME.sub(rb"\\", _TEST.sub(rb"\\", src))


def _behind_bodies(src: bytes) -> bytes:
    pieces = []
    at = 0
    for _ in range(MAX_CUT_HEREDOCS):
        found = _CUT_HEREDOC.search(src, at)
        if found is None:
            break
        tabs, *delimiters, rest = found.groups()
        end = _body_end(src, found.end(), next(name for name in delimiters if name), b"\t" if tabs else b"")
        # Of two heredocs on a line the other's body would come first.
        if end < 0 or b"<<" in src[src.rfind(b"\n", 0, found.start()) + 1 : found.start()]:
            pieces.append(src[at : found.end()])
            at = found.end()
            continue
        body = src[found.end() : end]
        pieces += [src[at : found.start(5) - 1], b"\n", body, b"" if body.endswith(b"\n") else b"\n", rest, b"\n"]
        at = end
    return b"".join([*pieces, src[at:]])


def _body_end(src: bytes, at: int, delimiter: bytes, tabs: bytes) -> int:
    """Return where the line after the delimiter's line begins, or -1."""
    while at < len(src):
        end = src.find(b"\n", at)
        after = end + 1 if end >= 0 else len(src)
        if src[at:after].rstrip(b"\n").lstrip(tabs or b"\0") == delimiter:
            return after
        at = after
    return -1


def within(src: bytes, end: int, start: int) -> None:
    """Check that only blanks stand between two words of a command."""
    gap = src[end:start]
    if gap == b" ":
        return
    if not _BLANK.match(gap):
        # A line end within one command: the parser has joined two commands. Separate them.
        at = gap.find(b"\n")
        if at >= 0 and not gap[:at].strip(b" \t"):
            raise MendError(src, end + at, end + at + 1, b";")
        raise UnreadableError("text between words that the parser dropped")
    if gap and not gap.strip(b"\\\n"):
        raise MendError(src, end, start, b"")


def backticks(src: bytes, start: int) -> None:
    """Mend backticks inside a word: the parser drops them there, and keeps `$(…)`."""
    found = _BACKTICKS.match(src, start)
    if found:
        raise MendError(src, found.start(), found.end(), b"$(" + found[1] + b")")


def apart(src: bytes, end: int, start: int) -> None:
    """Check that two words are apart; where they touch, the parser has cut one word in two."""
    if src[end:start] == b" " and src[start : start + 1] != b"\n":
        return
    if src[start : start + 1] == b"\n" and src[start - 1 : start] != b"\\":
        if b"<<" in src:
            rewrite(src)
        raise MendError(src, start, start + 1, b";")
    if end == start:
        backticks(src, start)
        # `$1x`, `'a'/$b/c`: the parser takes what follows the dollar for the next word.
        found = _VARIABLE.match(src, start) if src[end - 1 : end] == b"$" and src[end - 2 : end - 1] != b"\\" else None
        if found:
            raise MendError(src, start, found.end(), b"{" + found[0] + b"}")
        raise UnreadableError("a word that the parser may have cut wrongly")
    within(src, end, start)


def redirection(src: bytes, end: int, start: int) -> None:
    """Check the text before a redirection.

    A number that touches it is its file descriptor, also after a continued line. A lone `-` ahead of a heredoc
    (`cat - <<E`) is dropped by the parser, so it is escaped.
    """
    gap = src[end:start]
    if gap.strip(b" \t") == b"-" and gap[:1] != b"-" and gap[-1:] != b"-":
        raise MendError(src, end, start, gap.replace(b"-", b"\\-"))
    within(src, end, start)
    if end == start and src[end - 1 : end].isdigit():
        found = _LOOSE_DIGITS.search(src, max(0, end - 200), end)
        if found:
            # `>& f 0>&1`: a descriptor that becomes a copy of another, which nothing here depends on; of `0<&5` the input does.
            copy = _COPIED.match(src, end)
            if copy:
                raise MendError(src, found.start(1), copy.end() if copy[1] == b">" else end, b" ")
            if b"\n" not in found[1]:
                raise UnreadableError("a file descriptor that the parser took for a word")
            raise MendError(src, found.start(1), found.end(1), b" ")


def between(src: bytes, end: int, start: int, *, separated: bool) -> None:
    """Check that only white space stands between two parts of a block, with a line end where no operator separates them."""
    gap = src[end:start]
    if separated and gap in _PLAIN_GAPS:
        return
    if not _SPACE.match(gap):
        raise UnreadableError("text between commands that the parser dropped")
    if gap and not gap.strip(b"\\\n") and b"\\" in gap:
        raise MendError(src, end, start, gap.replace(b"\\\n", b""))
    if not separated and b"\n" not in gap.replace(b"\\\n", b""):
        raise UnreadableError("two commands with nothing between them")


def comment(src: bytes, start: int, end: int) -> None:
    """Check that a comment starts where a word could and ends with its line: in `a#b` bash sees no comment."""
    before = src[start - 1 : start]
    starts = before in b" \t\n;&|()`" and (
        src[start - 2 : start] != b"\\\n" or _CONTINUED.search(src, max(0, start - 4), start)
    )
    if (
        not starts
        or b"\n" in src[start:end]
        or src[end : end + 1] not in (b"", b"\n")
        or src[start : start + 1] != b"#"
    ):
        raise UnreadableError("a comment that may be none")


def no_comment(src: bytes, node: Node) -> None:
    """Mend a comment inside a command: to bash the command ends there, the parser goes on with the next line."""
    if node.type == "comment":
        comment(src, node.start_byte, node.end_byte)
        raise MendError(src, node.start_byte, node.end_byte, b";")


def word(raw: bytes) -> None:
    """Check that an unquoted piece of a word has no character that would end it."""
    if not _WORD.match(raw) or raw[:1] == b"#":
        raise UnreadableError("a word that the parser may have cut wrongly")


def quoted(raw: bytes) -> None:
    """Check that literal text within double quotes hides no quote and no substitution."""
    bare = _ESCAPED.sub(b"", raw)
    if b'"' in bare or _COMMANDS_QUOTED.search(bare):
        raise UnreadableError("a substitution within quotes that the parser missed")


def expansion(raw: bytes) -> None:
    """Refuse expansions that run commands: `${ cmd; }` and `${x@P}`."""
    if _ODD_EXPANSION.search(raw):
        raise UnreadableError("an expansion that runs commands")


def uncovered(src: bytes, start: int, end: int) -> None:
    """Check that a leaf of an expansion, array or test hides no substitution."""
    raw = src[start:end]
    if b"`" in raw:
        backticks(src, src.index(b"`", start))
    if _COMMANDS.search(_ESCAPED.sub(b"", raw)):
        raise UnreadableError("a substitution that the parser missed")


def name(src: bytes, before: int, start: int, end: int) -> None:
    """Check the name of a program: a reserved word or an assignment there means that the parser misread the line."""
    name = src[start:end]
    found = _BARE_ASSIGNMENT.match(name) if b"=" in name else None
    if found:
        # `A= cmd`: the parser takes the empty assignment for the program. `A=''` is the same and is read rightly.
        if found.end() == len(name):
            raise MendError(src, end, end, b"''")
        if b"\n" in src[before:start]:
            raise MendError(src, before, start, b" ")
        raise UnreadableError("an assignment in the place of a program")
    if name.decode("utf-8", "replace") in KEYWORDS:
        # `! { a; }`: the grammar knows `!` only ahead of a simple command.
        found = _BANG.search(src, max(0, start - 20), start) if name in _OPENERS else None
        if found:
            raise MendError(src, found.start(1), found.end(1), b"")
        raise UnreadableError("a reserved word in the place of a program")


def prefix(src: bytes, name: Node, args: list[Node]) -> None:
    """Mend `time` and `coproc` ahead of a compound command: the grammar takes that for words. Cut the prefix off."""
    texts = [src[arg.start_byte : arg.end_byte] for arg in args[:2]]
    at = 1 if texts and (texts[0] in _TIME_OPTIONS or src[name.start_byte : name.end_byte] == b"coproc") else 0
    for index in {0, at}:
        if index < len(texts) and texts[index] in _OPENERS and (index == 0 or texts[index] != b"!"):
            raise MendError(src, name.start_byte, args[index].start_byte, b"")
