"""Rewrite heredocs as here-strings, for lines with heredocs unsupported by tree-sitter-bash.

The grammar supports one heredoc per line, after the other redirections, with a simple delimiter. To bash,
`cat > f <<A && sh <<B` equals `<<<'…' cat > f && <<<'…' sh` without the bodies. A scanner finds bash's heredocs. If it
is not sure, such as in arithmetic or backticks, it changes nothing: a wrongly detected body would hide commands.
"""

import re
from typing import NamedTuple

_SKIPPED = re.compile(rb"[^\\'\"`$#<(){}\n;&| \t]+")
"""Characters without effect on the scanner's state."""
_DELIMITER = re.compile(
    rb"<<(-?)[ \t]*((?:'[^'\n]*'|\"[^\"\\$`\n]*\"|\\[^\n]|[^\s\\'\"`$;&|<>()#])+)(?=[\s;&|<>()]|\Z)"
)
_QUOTE = re.compile(rb"'[^']*'")
_ANSI = re.compile(rb"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_WORD = re.compile(rb"[^\s;&|<>()]+")
_KEYWORDS = frozenset([b"then", b"else", b"elif", b"do", b"if", b"while", b"until", b"!", b"{", b"time"])
"""Words before a command."""
_NO_COMMAND = frozenset(
    [b"done", b"fi", b"esac", b"}", b"[[", b"case", b"for", b"select", b"function", b"export", b"declare", b"typeset", b"local",
     b"readonly", b"unset", b"coproc"]
)  # fmt: skip
"""First words of constructs that accept no here-string before them."""
_ASSIGNMENT = re.compile(rb"[A-Za-z_]\w*(?:\[[^]\s]*\])?\+?=")
_MOST_STEPS = 4_000  # maximum steps of the scanner; a body takes one step
_ESCAPE = re.compile(rb"\\([$`\\\n])")
_KEPT = re.compile(
    rb"\\[$`\\\n]|\$\(\([^()\"'`\\]*\)\)|\$\((?!\()[^()`\\]*\)|\$\{[^{}\"'`\\$]*\}|`[^`\"\\]*`|(\\?\")|([`]|\$[({])",
    re.DOTALL,
)  # three groups: text unchanged between double quotes; a quote to be escaped there; anything else


class _Heredoc(NamedTuple):
    """A heredoc: the positions of its operator and of its command, or -1 if the command accepts no here-string."""

    start: int
    end: int
    command: int
    descriptor: bytes
    delimiter: bytes
    literal: bool
    strips: bool
    level: int


class _NotSureError(Exception):
    """The scanner cannot locate bash's heredocs."""


def as_here_strings(src: bytes) -> bytes:
    """Return the text with its heredocs as here-strings where possible."""
    if b"<<" not in src:
        return src
    try:
        return _Scanner(src).rewritten()
    except _NotSureError:
        return src


class _Scanner:
    """Scans a string once. `open` are the quotes and brackets around the current character.

    `command` is the start of the current command, or -1; `outer` are the surrounding ones, with their brackets'
    positions. `pending` are heredocs with bodies after the line; `case` is the last position of that word.
    """

    def __init__(self, src: bytes) -> None:
        self.src = src
        self.at = 0
        self.open: list[bytes] = []
        self.command = -1
        self.outer: list[tuple[int, int]] = []
        self.case = -1
        self.steps = 0
        self.pending: list[_Heredoc] = []
        self.edits: list[tuple[int, int, bytes]] = []

    def rewritten(self) -> bytes:
        while self.at < len(self.src):
            self.step()
            self.steps += 1
            if self.steps > _MOST_STEPS:
                raise _NotSureError
        if self.pending or self.open:
            raise _NotSureError
        pieces: list[bytes] = []
        at = 0
        for start, end, instead in sorted(self.edits, key=lambda edit: edit[:2]):
            pieces += [self.src[at:start], instead]
            at = max(at, end)
        return b"".join([*pieces, self.src[at:]])

    def step(self) -> None:
        src, at = self.src, self.at
        one = src[at : at + 1]
        inside = self.open[-1] if self.open else b""
        quoted = inside == b'"'
        if one == b"\\":
            if src[at + 1 : at + 2] != b"\n":
                self.begin(quoted)
            self.at += 2
        elif one == b'"':
            self.begin(quoted)
            self.toggle(quoted)
        elif one == b"`":
            end = src.find(b"`", at + 1)
            if end < 0 or b"<<" in src[at:end] or b"\\" in src[at:end]:
                raise _NotSureError
            self.begin(quoted)
            self.at = end + 1
        elif one == b"$":
            self.begin(quoted)
            self.dollar(quoted)
        elif quoted or inside == b"${":
            self.quoted_letter(one, inside)
        else:
            self.plain(one)

    def toggle(self, quoted: bool) -> None:  # noqa: FBT001 (what the character stands in)
        if quoted:
            self.open.pop()
        else:
            self.open.append(b'"')
        self.at += 1

    def begin(self, quoted: bool) -> None:  # noqa: FBT001
        """Note a word, which may start a command."""
        if not quoted and self.command < 0:
            self.command = self.at

    def dollar(self, quoted: bool) -> None:  # noqa: FBT001
        src, at = self.src, self.at
        if src.startswith(b"$((", at) or src.startswith(b"$[", at):
            self.arithmetic(b"))" if src[at + 1 : at + 2] == b"(" else b"]")
        elif src.startswith(b"$(", at):
            self.enter(b"$(", 2)
        elif src.startswith(b"${", at):
            self.open.append(b"${")
            self.at += 2
        else:
            ansi = None if quoted else _ANSI.match(src, at)
            self.at = ansi.end() if ansi else at + 1

    def arithmetic(self, end: bytes) -> None:
        at = self.src.find(end, self.at)
        inner = self.src[self.at : at]
        if at < 0 or b"<<" in inner or b"'" in inner or b'"' in inner or b"\n" in inner:
            raise _NotSureError
        self.at = at + len(end)

    def enter(self, bracket: bytes, length: int) -> None:
        self.begin(quoted=False)
        self.open.append(bracket)
        self.outer.append((self.command, self.at))
        self.command = -1
        self.at += length

    def leave(self, brackets: tuple[bytes, ...]) -> None:
        if not self.open or self.open[-1] not in brackets:
            raise _NotSureError
        bracket = self.open.pop()
        self.command, start = self.outer.pop()
        # Within brackets, the end of a `case` pattern looks like a closing bracket.
        if self.case > start:
            raise _NotSureError
        # If a substitution ends before a body, shells disagree on the body's position.
        if bracket == b"$(" and any(one.level > len(self.open) for one in self.pending):
            raise _NotSureError
        self.at += 1

    def quoted_letter(self, one: bytes, inside: bytes) -> None:
        if inside == b"${":
            if one == b"}":
                self.open.pop()
            elif one in b"'{\n" or self.src.startswith(b"<<", self.at):
                raise _NotSureError
        self.at += 1

    def plain(self, one: bytes) -> None:
        src, at = self.src, self.at
        if one == b"'":
            found = _QUOTE.match(src, at)
            if found is None:
                raise _NotSureError
            self.begin(quoted=False)
            self.at = found.end()
        elif one == b"#" and (at == 0 or src[at - 1 : at] in b" \t\n;&|()"):
            if src[at - 2 : at] == b"\\\n":
                raise _NotSureError
            end = src.find(b"\n", at)
            self.at = len(src) if end < 0 else end
        elif one == b"\n":
            self.line_end()
        elif one in b" \t":
            self.at += 1
        elif one in b";&|()<":
            self.operator(one)
        else:
            self.word()

    def operator(self, one: bytes) -> None:
        src, at = self.src, self.at
        if one in b";&|":
            # `>&2`, `&> f` and `>| f` are redirections.
            if not (src[at - 1 : at] in (b">", b"<") and one != b";") and src[at : at + 2] != b"&>":
                self.command = -1
            self.at += 1
        elif one == b"(":
            self.bracket()
        elif one == b")":
            if self.open:
                self.leave((b"(", b"$("))
            elif self.case >= 0:  # after the pattern of a `case`
                self.command = -1
                self.at += 1
            else:
                raise _NotSureError
        else:
            self.input()

    def bracket(self) -> None:
        src, at = self.src, self.at
        if src.startswith(b"()", at):  # of a function before its body, or an empty array
            self.command = -1
            self.at += 2
        elif src.startswith(b"((", at):
            if src[at - 1 : at] not in (b"", b" ", b"\n", b"\t", b";"):
                raise _NotSureError
            self.arithmetic(b"))")
        else:
            # `<(` and `>(` contain commands like `$(`.
            self.enter(b"$(" if src[at - 1 : at] in (b"<", b">") else b"(", 1)

    def word(self) -> None:
        src, at = self.src, self.at
        found = _SKIPPED.match(src, at)
        end = found.end() if found else at + 1
        if self.command < 0:
            whole = _WORD.match(src, at)
            if whole is None or whole[0] not in _KEYWORDS:
                self.command = at
            elif whole is not None:
                end = whole.end()
        if b"case" in src[at:end]:
            self.case = at
        self.at = end

    def input(self) -> None:
        src, at = self.src, self.at
        if src.startswith(b"<<<", at):
            self.at += 3
            return
        if not src.startswith(b"<<", at):
            self.at += 1
            return
        found = _DELIMITER.match(src, at)
        if found is None or (b"\\" in found[2] and re.search(rb"['\"]", found[2])):
            raise _NotSureError
        start = at
        while src[start - 1 : start].isdigit():
            start -= 1
        # Digits touching a word belong to it: `a1<<E`.
        if start < at and src[start - 1 : start] not in (b"", b" ", b"\t", b"\n", b";", b"&", b"|", b"("):
            start = at
        if src[start - 1 : start] == b"}":  # `{descriptor}<<E`
            raise _NotSureError
        delimiter = re.sub(rb"\\(.)|['\"]", rb"\1", found[2])
        command = start if self.command < 0 else self.command
        self.pending.append(
            _Heredoc(
                start, found.end(), self.takes(command, start), src[start:at], delimiter, delimiter != found[2], found[1] == b"-", len(self.open)
            )
        )  # fmt: skip
        self.command = command
        self.at = found.end()

    def takes(self, command: int, start: int) -> int:
        """Return the position for the here-string, before a command, or -1 if the command accepts none there.

        The last of several inputs wins, so it must not pass another one.
        """
        src = self.src
        before = max([command, *[one.end for one in self.pending if one.command >= 0]])
        if b"<" in src[before:start]:
            return -1
        first = _WORD.match(src, command)
        if src[command : command + 2] in (b"((", b"[[") or src[command : command + 1] in b"()":
            return -1
        if first is not None and first[0] in _NO_COMMAND:
            return -1
        return -1 if _ASSIGNMENT.match(src, command) else command

    def line_end(self) -> None:
        self.command = -1
        self.at += 1
        if not self.pending:
            return
        if any(one.level != len(self.open) for one in self.pending) and b"$(" in self.open:
            raise _NotSureError
        for one in self.pending:
            begin = self.at
            end, after = self.body_end(one)
            self.replace(one, begin, end, after)
            self.at = after
        self.pending = []

    def body_end(self, heredoc: _Heredoc) -> tuple[int, int]:
        src, at = self.src, self.at
        joined = b""
        while at < len(src):
            end = src.find(b"\n", at)
            after = end + 1 if end >= 0 else len(src)
            line = src[at:after].rstrip(b"\n")
            line = line.lstrip(b"\t") if heredoc.strips else line
            if joined and heredoc.delimiter in (line, joined + line):
                raise _NotSureError
            if line == heredoc.delimiter:
                return at, after
            # With an unquoted delimiter, a backslash joins two lines before anything else.
            goes_on = not heredoc.literal and (len(line) - len(line.rstrip(b"\\"))) % 2
            joined = line[:-1] or b"\0" if goes_on else b""
            at = after
        raise _NotSureError

    def replace(self, heredoc: _Heredoc, begin: int, end: int, after: int) -> None:
        body = self.src[begin:end]
        if heredoc.strips:
            body = re.sub(rb"(?m)^\t+", b"", body)
        text = None if heredoc.command < 0 else _here_string(body.removesuffix(b"\n"), literal=heredoc.literal)
        if text is None:
            return
        descriptor = b"" if heredoc.descriptor == b"0" else heredoc.descriptor
        self.edits.append((heredoc.command, heredoc.command, descriptor + b"<<<" + text + b" "))
        self.edits.append((heredoc.start, heredoc.end, b" "))
        self.edits.append((begin, after, b""))


def _here_string(body: bytes, *, literal: bool) -> bytes | None:
    """Return a body as one word, or None if its substitutions may mean something else between quotes."""
    if len(body) - len(body.rstrip(b"\\")) and not literal:  # the last line would continue after the body
        return None
    if not literal and b"$" not in body and b"`" not in body:
        literal, body = True, _ESCAPE.sub(lambda found: b"" if found[1] == b"\n" else found[1], body)
    if literal:
        return b"'" + body.replace(b"'", b"'\\''") + b"'"

    def put(found: re.Match[bytes]) -> bytes:
        if found[2]:
            raise _NotSureError
        return found[0] if not found[1] else b'\\"' if found[1] == b'"' else b'\\\\\\"'

    try:
        return b'"' + _KEPT.sub(put, body) + b'"'
    except _NotSureError:
        return None
