"""Guards against silent misreadings of tree-sitter-bash, and the limits on input.

`blocks`, `words` and `walk` call these checks on each part of the tree before trusting it. A check passes, refuses the
line (UnreadableError), or rewrites it into an equivalent text that the parser reads correctly (CorrectableError). Most
compare the tree with the text: between two nodes only white space is allowed, since the parser drops unknown text.
"""

import re

from tree_sitter import Node

from baton.lib.bash.heredocs import as_here_strings

# Rewrite forms of zsh and of bash's `extglob` into equivalent plain bash, for lines that the parser cannot read. Bash
# refuses each of these forms, or reads it as a pattern. A form that may run a command by itself (`*(e:cmd:)`,
# `${(e)x}`, `!(cmd)` as a command) stays, so a person is asked about the line.

_QUOTED = rb"'[^']*'|\"(?:[^\"\\]|\\.)*\"|\\."
_LIST = rb"\(([^()`$\n]{0,300})\)"
_BODY = rb"((?:[^;\n'\"\\{}]|'[^'\n]*'|\"[^\"\n]*\"|\\.)+)"
_QUALIFIER = (
    rb"(?<=[\w*/.?\]])\((?=[^()\s])(?:[-./@=%*,^rwxRWXAIEsStTFNDnMYHpUG]|[oO][nLlamcd]|[Lamc][kKmMpPhsw]?[-+]?\d+"
    rb"[kKmMpP]?|[ugfd]\d+|\[-?\d+(?:,-?\d+)?\])*+\)(?=[\s;&|)]|\Z)"
)
_PATTERN = rb"[!@+*?]\([\w.*?|/\[\]-]+\)|(?<=[\w.*/])\([\w.*?-]*(?:\|[\w.*?-]*)+\)"
_FLAGS = rb"\$\{\((?:[ULCkvoOuinfF@]|[js](?::[^:()`$\n]{0,3}:|\.[^.()`$\n]{0,3}\.))++\)"
_FORMS = re.compile(
    rb"(?P<quoted>"
    + _QUOTED
    + rb")|(?P<qualifier>"
    + _QUALIFIER
    + rb")|(?P<pattern>"
    + _PATTERN
    + rb")|(?P<flags>"
    + _FLAGS
    + rb")",
    re.DOTALL,
)
_COMMAND_NEXT = re.compile(rb"(?:\A|[;&|(){}\n!]|\b(?:then|do|if|else|elif|while|until|time))[ \t]*\Z")
_LOOPS = (
    (
        re.compile(rb"\bforeach[ \t]+(\w+)[ \t]*" + _LIST + rb"[ \t]*[;\n](.{0,300}?)[;\n][ \t]*end\b", re.DOTALL),
        rb"for \1 in \2; do \3; done",
    ),
    (re.compile(rb"\bfor[ \t]+(\w+)[ \t]*" + _LIST + rb"[ \t]*;?[ \t\n]*do\b"), rb"for \1 in \2; do"),
    (
        re.compile(rb"\bfor[ \t]+(\w+)[ \t]*" + _LIST + rb"[ \t]*;?[ \t]*\{[ \t\n]" + _BODY + rb"[ \t;\n]\}"),
        rb"for \1 in \2; do \3; done",
    ),
    (re.compile(rb"\bfor[ \t]+(\w+)[ \t]*" + _LIST + rb"[ \t]*+(?!do\b)" + _BODY), rb"for \1 in \2; do \3; done"),
    (
        re.compile(rb"\bfor[ \t]+(\w+)[ \t]+in[ \t]+([^;\n(){}]{0,300});[ \t]*+(?!do\b)" + _BODY),
        rb"for \1 in \2; do \3; done",
    ),
)
_NAMES = (
    (re.compile(rb"[*\w/.?\]]\([^()\n]*\)"), "an unsupported glob qualifier of zsh"),
    (re.compile(rb"\$\{\("), "an unsupported expansion flag of zsh"),
    (re.compile(rb"(?:\A|[;\n])[ \t]*\(\)[ \t]*\{"), "an anonymous function of zsh"),
)


def as_bash(src: bytes) -> bytes:
    """Return the text without the forms; a pattern becomes `*`, which matches at least as much."""
    if b"(" in src:
        src = _FORMS.sub(_plain, src)
    if b"for" in src:
        for pattern, instead in _LOOPS:
            src = pattern.sub(instead, src)
    return src


def _plain(found: re.Match[bytes]) -> bytes:
    if found["qualifier"]:
        return b""
    if found["flags"]:
        return b"${"
    if found["pattern"] and not (
        found[0][:1] == b"!" and _COMMAND_NEXT.search(found.string, max(0, found.start() - 20), found.start())
    ):
        return b"*"
    return found[0]


def named_form(src: bytes) -> str:
    """Return the name of an unsupported form in a string, or ""."""
    return next((name for pattern, name in _NAMES if pattern.search(src)), "")


# Limits: no line may take longer than 50 ms or fill the memory. They count work, never time: a line must mean the same
# on a busy machine. `MAX_STEPS` counts the parser's steps, of about 100 operations each; shell scripts of 5,000 parts
# take about 200. The largest of 3,430 real lines has 250 parts.
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

KEYWORDS = frozenset([
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "in", "select",
    "function", "{", "}", "!", "[[", "]]", "((",
])  # fmt: skip
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
# Rewrites of valid bash for the parser, if it found errors; `rewritten` says why each is safe.
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
_GROUP_END = re.compile(rb"(?<=[)}])(?=[ \t]+(?:done|fi|then|do|else|elif|esac|\})(?![^\s;&|()]))")
_LAST_DOLLAR = re.compile(rb"(?<=[\w/*.])\$(?=[)|;&])")
_SLICE_BY_NAME = re.compile(rb"(\$\{\w+(?:\[\w*[@*]?\])?:)\$(?=[A-Za-z_]\w*[:}])")
_QUOTES = re.compile(rb"\\.|'[^']*'|\"(?:\\.|[^\"\\])*\"|`[^`\\#]*`", re.DOTALL)
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
_ESCAPABLE = frozenset([b"<", b">", b"(", b")", b"&", b"|", b";", b"."])
_CONTINUES = re.compile(r"(?<!\\)(?:\\\\)*\\\n?\Z")
_LOOSE_DOLLAR = re.compile(rb"\$(?=[ \t\n])")
_ENDED_NAME = re.compile(rb"(\$[A-Za-z_][A-Za-z_0-9]*)([\xc2-\xf4][\x80-\xbf]+)")
_LONE = frozenset(["/", "~", "*", "%"])
_TESTS = re.compile(rb"[ \t]-[a-zA-Z][ \t]+\Z")
_ODD_BYTES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")


class UnreadableError(Exception):
    """The text cannot be read safely; the message says why, without quoting the text."""


class UnguessableError(UnreadableError):
    """An unknown program starts another one, with too many words to try: the effect is unknown."""


class CorrectableError(Exception):
    """To bash, the text `src` equals `corrected`, which the parser reads correctly."""

    def __init__(self, src: bytes, start: int, end: int, instead: bytes) -> None:
        super().__init__()
        self.src = src
        self.corrected = src[:start] + instead + src[end:]


def prepare(text: str) -> str:
    """Return the text in its parsed form: without a byte-order mark, with line feeds only. Raise UnreadableError."""
    text = text.removeprefix("\ufeff")
    # A continued last line.
    if "\\" in text[-2:] and _CONTINUES.search(text):
        text = text.removesuffix("\n")[:-1]
    if len(text) > MAX_BYTES:
        raise UnreadableError("over 64 KiB")
    # To bash a lone carriage return is an ordinary character, a terminal shows a new line: such a text hides commands.
    if "\r" in text:
        if "\\\r" in text or text.count("\r\n") != text.count("\r") or re.search(r"(?<!\r)\n", text):
            raise UnreadableError("carriage returns")
        text = text.replace("\r\n", "\n")
    # The parser stores the state of each open heredoc. A second one on a line is refused anyway; a line of `cout << a
    # << b` within a heredoc has a few.
    if text.count("<<") > MAX_HEREDOCS and any(line.count("<<") > MAX_HEREDOCS for line in text.split("\n")):
        raise UnreadableError(f"over {MAX_HEREDOCS} heredocs on a line")
    if not text.isprintable() and (found := _ODD_BYTES.search(text)):
        raise UnreadableError(f"control character U+{ord(found[0]):04X}")
    return text


def tree(root: Node, src: bytes) -> None:
    """Check a tree with errors: correct valid bash, refuse the rest.

    Valid bash unknown to the grammar: `==` as a word, `<>`, a here-string after a redirection, a lone `/` or `~` after
    the operator of a test, `for x do`, and the forms of `rewritten`.
    """
    if not root.has_error:
        return
    rewrite(src)
    todo = [root]
    while todo:
        node = todo.pop()
        at = node.start_byte
        # `test a == b` outside `[[`: an escaped `\==` is the same word.
        if node.type == "==" and node.parent is not None and node.parent.is_error:
            raise CorrectableError(src, at, at, b"\\")
        # `cat > f <<< x`: the grammar expects the here-string before other redirections.
        if node.type == "<<":
            found = _LATE_HERESTRING.search(src, max(0, at - 200))
            if found and found.start(2) == at:
                raise CorrectableError(src, found.start(), found.end(), found[2] + b" " + found[1])
        if node.type == ">" and node.parent is not None and node.parent.is_error and src[at - 1 : at] == b"<":
            # Without a number, `<>` is standard input, not output: descriptor 3 represents any other.
            raise CorrectableError(src, at - 1, at + 1, b">>" if _DESCRIPTOR.search(src, 0, at - 1) else b" 3>>")
        # `for x do` without `in` loops over the arguments; the grammar expects a `;` before `do`.
        found = _FOR_DO.match(src, at) if node.is_error else None
        if found:
            raise CorrectableError(src, found.end(), found.end(), b";")
        _lone_redirection(node, src)
        # `[ -d / ]`: the grammar takes a lone `/`, `~`, `*` or `%` for an operator.
        if node.type in _LONE and _TESTS.search(src, max(0, at - 8), at):
            raise CorrectableError(src, at, at, b"\\")
        if node.has_error or node.type.endswith("_expression"):
            todo += node.children
    raise UnreadableError(named_form(src) or "invalid shell syntax, or an unsupported construct")


def _lone_redirection(node: Node, src: bytes) -> None:
    """Correct `a=$(b) > f`: the grammar expects a program for the redirection."""
    before = node.prev_sibling
    if node.type != "command_name" or node.start_byte != node.end_byte or before is None:
        return
    while before.prev_sibling is not None and before.prev_sibling.type.endswith("_redirect"):
        before = before.prev_sibling
    if before.type.endswith("_redirect"):
        raise CorrectableError(src, before.start_byte, before.start_byte, b";")


def rewrite(src: bytes) -> None:
    """Correct a string with parser errors, if it has heredocs or a form of `rewritten`."""
    text = as_here_strings(src)
    if text == src and len(src) <= MAX_REWRITTEN:
        text = rewritten(src)
    if text != src:
        raise CorrectableError(src, 0, len(src), text)


def rewritten(src: bytes) -> bytes:
    r"""Return the text without valid forms unknown to the grammar, in one pass over each.

    It works on the text, since a long one is given up at its first error and has no tree. If quotes make such a form
    literal, it becomes another text of the same meaning in a nested script, and no command is lost:

    - `<<E 2>&1 | tee log`: the parser expects a heredoc's delimiter after the redirections of output and errors.
    - `<<E; next`: the code after `;` moves behind the body, as bash runs it there.
    - a body starting with a backslash, as psql's `\c db`: a comment before it stops the parser from joining it to the
      line.
    - `${{ matrix.os }}`: not bash, but the forge replaces it in a workflow's scripts. Bash stops at it.
    - `[ \( a = b \) ]`: with its first letter escaped, the program is an ordinary word.
    - Make's `$^` and `$<`: to bash this dollar is literal.
    - `do (a) done`: a subshell needs no `;` after it.
    - backticks at the start or end of a word in a loop.
    - `$(grep -v ^x$)`: this dollar is literal.
    - `${name:$at:1}`: in arithmetic the name alone is equal.
    """
    if b"`" in src:
        src = _QUOTES.sub(_without_backticks, src)
    src = _SLICE_BY_NAME.sub(rb"\1", src)
    src = _LAST_DOLLAR.sub(rb"\\$", _GROUP_END.sub(b";", src))
    if b"${{" in src:
        src = _TEMPLATE.sub(lambda found: b"${_" + re.sub(rb"\W+", b"_", found[1]).strip(b"_") + b"}", src)
    if b"<<" in src:
        src = _LATE_REDIRECTS.sub(lambda found: found[2].lstrip() + b" " + found[1], src)
        src = _BACKSLASH_FIRST.sub(rb"\1#\n", _behind_bodies(src))
    return _MAKE_NAME.sub(rb"\\", _TEST.sub(rb"\\", as_bash(src)))


def _without_backticks(found: re.Match[bytes]) -> bytes:
    text = found[0]
    if text[:1] == b"`":
        return b"$(" + text[1:-1] + b")"
    return _BACKTICKS.sub(rb"$(\1)", text) if text[:1] == b'"' else text


def _behind_bodies(src: bytes) -> bytes:
    pieces = []
    at = 0
    for _ in range(MAX_CUT_HEREDOCS):
        found = _CUT_HEREDOC.search(src, at)
        if found is None:
            break
        tabs, *delimiters, rest = found.groups()
        end = _body_end(src, found.end(), next(name for name in delimiters if name), b"\t" if tabs else b"")
        # Of two heredocs on a line, the other's body would come first.
        if end < 0 or b"<<" in src[src.rfind(b"\n", 0, found.start()) + 1 : found.start()]:
            pieces.append(src[at : found.end()])
            at = found.end()
            continue
        body = src[found.end() : end]
        pieces += [src[at : found.start(5) - 1], b"\n", body, b"" if body.endswith(b"\n") else b"\n", rest, b"\n"]
        at = end
    return b"".join([*pieces, src[at:]])


def _body_end(src: bytes, at: int, delimiter: bytes, tabs: bytes) -> int:
    while at < len(src):
        end = src.find(b"\n", at)
        after = end + 1 if end >= 0 else len(src)
        if src[at:after].rstrip(b"\n").lstrip(tabs or b"\0") == delimiter:
            return after
        at = after
    return -1


def within(src: bytes, end: int, start: int) -> None:
    """Check that two words of a command are separated only by blanks."""
    gap = src[end:start]
    if gap == b" ":
        return
    if not _BLANK.match(gap):
        # A line end within one command: the parser has joined two commands. Separate them.
        at = gap.find(b"\n")
        if at >= 0 and not gap[:at].strip(b" \t"):
            raise CorrectableError(src, end + at, end + at + 1, b";")
        raise UnreadableError("unreadable text between words")
    if gap and not gap.strip(b"\\\n"):
        raise CorrectableError(src, end, start, b"")


def backticks(src: bytes, start: int) -> None:
    """Correct backticks inside a word: the parser drops them there, and keeps `$(…)`."""
    found = _BACKTICKS.match(src, start)
    if found:
        raise CorrectableError(src, found.start(), found.end(), b"$(" + found[1] + b")")


def apart(src: bytes, end: int, start: int) -> None:
    """Check that two words are separate; touching ones are one word cut by the parser."""
    if src[end:start] == b" " and src[start : start + 1] != b"\n":
        return
    if src[start : start + 1] == b"\n" and src[start - 1 : start] != b"\\":
        if b"<<" in src:
            rewrite(src)
        raise CorrectableError(src, start, start + 1, b";")
    if end == start:
        backticks(src, start)
        # `$1x`, `'a'/$b/c`: the parser takes the name after the dollar for the next word.
        found = _VARIABLE.match(src, start) if src[end - 1 : end] == b"$" and src[end - 2 : end - 1] != b"\\" else None
        if found:
            raise CorrectableError(src, start, found.end(), b"{" + found[0] + b"}")
        # `[\>\<]`: the parser ends a word at such an escaped character.
        if src[start : start + 1] == b"\\" and src[start + 1 : start + 2] in _ESCAPABLE:
            raise CorrectableError(src, start, start + 2, b"'" + src[start + 1 : start + 2] + b"'")
        raise UnreadableError("an ambiguous word")
    within(src, end, start)


def redirection(src: bytes, end: int, start: int) -> None:
    """Check the text before a redirection.

    A touching number is its file descriptor, also after a continued line. The parser drops a lone `-` before a heredoc
    (`cat - <<E`), so it is escaped.
    """
    gap = src[end:start]
    if gap.strip(b" \t") == b"-" and gap[:1] != b"-" and gap[-1:] != b"-":
        raise CorrectableError(src, end, start, gap.replace(b"-", b"\\-"))
    within(src, end, start)
    if end == start and src[end - 1 : end].isdigit():
        found = _LOOSE_DIGITS.search(src, max(0, end - 200), end)
        if found:
            # `>& f 0>&1`: a copied descriptor has no effect here; only `0<&5` changes the input.
            copy = _COPIED.match(src, end)
            if copy:
                raise CorrectableError(src, found.start(1), copy.end() if copy[1] == b">" else end, b" ")
            if b"\n" not in found[1]:
                raise UnreadableError("an ambiguous file descriptor")
            raise CorrectableError(src, found.start(1), found.end(1), b" ")


def between(src: bytes, end: int, start: int, *, separated: bool) -> None:
    """Check for only white space between two parts of a block, with a line end unless an operator separates them."""
    gap = src[end:start]
    if separated and gap in _PLAIN_GAPS:
        return
    if not _SPACE.match(gap):
        raise UnreadableError("unreadable text between commands")
    if gap and not gap.strip(b"\\\n") and b"\\" in gap:
        raise CorrectableError(src, end, start, gap.replace(b"\\\n", b""))
    if not separated and b"\n" not in gap.replace(b"\\\n", b""):
        raise UnreadableError("two commands without a separator")


def comment(src: bytes, start: int, end: int) -> None:
    """Check that a comment starts at a word boundary and ends with its line: `a#b` has no comment."""
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
        raise UnreadableError("an ambiguous comment")


def no_comment(src: bytes, node: Node) -> None:
    """Correct a comment inside a command: in bash it ends the command, but the parser continues on the next line."""
    if node.type == "comment":
        comment(src, node.start_byte, node.end_byte)
        raise CorrectableError(src, node.start_byte, node.end_byte, b";")


def word(raw: bytes, *, first: bool = True) -> None:
    """Check that an unquoted piece of a word has no separator, and that the first piece does not start a comment."""
    if not _WORD.match(raw) or (first and raw[:1] == b"#"):
        raise UnreadableError("an ambiguous word")


def quoted(raw: bytes) -> None:
    """Check that literal text in double quotes hides no quote or substitution."""
    bare = _ESCAPED.sub(b"", raw)
    if b'"' in bare or _COMMANDS_QUOTED.search(bare):
        raise UnreadableError("a hidden substitution in quotes")


def dollar(src: bytes, start: int, end: int) -> None:
    """Correct a false variable: a dollar before a blank, or a name ended by an umlaut or a dash."""
    found = _LOOSE_DOLLAR.search(src, start, end)
    if found:
        raise CorrectableError(src, found.start(), found.end(), b"\\$")
    named = _ENDED_NAME.match(src, start, end)
    if named and not named[2].decode("utf-8", "replace").isalnum():
        raise CorrectableError(src, start, named.end(1), b"${" + named[1][1:] + b"}")
    raise UnreadableError("an ambiguous expansion")


def expansion(raw: bytes) -> None:
    """Refuse expansions that run commands: `${ cmd; }` and `${x@P}`."""
    if _ODD_EXPANSION.search(raw):
        raise UnreadableError("an expansion running commands")


def uncovered(src: bytes, start: int, end: int) -> None:
    """Check that a leaf of an expansion, array or test hides no substitution."""
    raw = src[start:end]
    if b"`" in raw:
        backticks(src, src.index(b"`", start))
    if _COMMANDS.search(_ESCAPED.sub(b"", raw)):
        raise UnreadableError("a hidden substitution")


def name(src: bytes, before: int, start: int, end: int) -> None:
    """Check the name of a program: a reserved word or an assignment there means a misreading."""
    name = src[start:end]
    found = _BARE_ASSIGNMENT.match(name) if b"=" in name else None
    if found:
        # `A= cmd`: the parser takes the empty assignment for the program. `A=''` is equal and read correctly.
        if found.end() == len(name):
            raise CorrectableError(src, end, end, b"''")
        if b"\n" in src[before:start]:
            raise CorrectableError(src, before, start, b" ")
        raise UnreadableError("an assignment instead of a program")
    if name.decode("utf-8", "replace") in KEYWORDS:
        # `! { a; }`: the grammar supports `!` only before a simple command.
        found = _BANG.search(src, max(0, start - 20), start) if name in _OPENERS else None
        if found:
            raise CorrectableError(src, found.start(1), found.end(1), b"")
        raise UnreadableError("a reserved word instead of a program")


def prefix(src: bytes, name: Node, args: list[Node]) -> None:
    """Correct `time` and `coproc` before a compound command: the grammar takes it for words. Cut the prefix off."""
    texts = [src[arg.start_byte : arg.end_byte] for arg in args[:2]]
    at = 1 if texts and (texts[0] in _TIME_OPTIONS or src[name.start_byte : name.end_byte] == b"coproc") else 0
    for index in {0, at}:
        if index < len(texts) and texts[index] in _OPENERS and (index == 0 or texts[index] != b"!"):
            raise CorrectableError(src, name.start_byte, args[index].start_byte, b"")
