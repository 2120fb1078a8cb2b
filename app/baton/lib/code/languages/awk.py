"""Read an awk program: files written by `print >`, and commands of `system`, `|` and `getline`."""

import re

from baton.lib.code.model import UNKNOWN, Code, FileWrite, Run
from baton.lib.code.values import unescape

MAX_TOKENS = 12_000
_TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\\\n|#[^\n]*)|(?P<text>\"(?:[^\"\\\n]|\\.)*\")|(?P<word>[A-Za-z_\u0080-\U0010ffff][\w.:]*)"
    r"|(?P<number>\d[\w.]*|\.\d+)|(?P<end>[;\n{}])|(?P<sign>>>|&&|\|\||\|&|[=!<>+*/%^-]=|\+\+|--|.)",
    re.DOTALL,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?[^\]\n]*\])*/")
_SHELL = re.compile(r"(?:\S*/)?(?:ba|da|z|k|a)?sh(?:[ \t]+-\w*s\w*)?")
_VALUES = frozenset([")", "]", "$"])
_CONNECTION = ("/inet/", "/inet4/", "/inet6/")

_Token = tuple[str, str]


def read(text: str) -> Code:
    """Read a program's effects."""
    tokens = _tokens(text)
    if tokens is None:
        return Code(unread="invalid awk, or too much of it")
    return _Program(tokens).code()


def _tokens(text: str) -> list[_Token] | None:
    found: list[_Token] = []
    at = 0
    while at < len(text):
        if text[at] == "/" and not (found and (found[-1][0] in {"text", "word", "number"} or found[-1][1] in _VALUES)):
            regex = _REGEX.match(text, at)
            if regex:
                found.append(("regex", ""))
                at = regex.end()
                continue
        match = _TOKEN.match(text, at)
        if match is None or len(found) > MAX_TOKENS or match[0] == '"':
            return None
        at = match.end()
        if match.lastgroup != "space":
            found.append((match.lastgroup or "", match[0]))
    return found


class _Program:
    def __init__(self, tokens: list[_Token]) -> None:
        self.tokens = tokens
        self.values: dict[str, str] = {}
        self.writes: dict[FileWrite, None] = {}
        self.runs: dict[Run, None] = {}
        self.network = self.runs_input = False
        self.unread = ""

    def code(self) -> Code:
        start, printing, depth = 0, False, 0
        for at, (kind, text) in enumerate(self.tokens):
            if kind == "end":
                start, printing, depth = at + 1, False, 0
            elif kind == "word":
                printing = printing or text in {"print", "printf"}
                self.word(at, text)
            elif text in {"(", ")"}:
                depth += 1 if text == "(" else -1
            elif text in {">", ">>"} and printing and depth <= 0:
                self.write(self.text(at + 1, self.end(at + 1)))
            elif text in {"|", "|&"}:
                self.pipe(at, start)
        writes, runs = tuple(self.writes), tuple(self.runs)
        return Code(writes=writes, runs=runs, network=self.network, unread=self.unread, runs_input=self.runs_input)

    def word(self, at: int, text: str) -> None:
        """Read a name: an assignment of a string, `system`, or a directive loading other code."""
        if self.sign(at + 1) == "=" and self.sign(at + 2) != "=":
            value = self.text(at + 2, self.end(at + 2))
            self.values[text] = value if self.values.get(text, value) == value else UNKNOWN
        elif text == "system" and self.sign(at + 1) == "(":
            self.run(self.text(at + 2, self.close(at + 2)))
        elif text.startswith("@"):
            self.unread = "other code is loaded"

    def pipe(self, at: int, start: int) -> None:
        """Read `print | command` or `command | getline`."""
        if self.sign(at + 1) == "getline":
            first = at
            while (
                first > start
                and self.tokens[first - 1][0] in {"text", "word", "number"}
                and self.sign(first - 1) not in {"while", "if"}
            ):
                first -= 1
            self.run(self.text(first, at))
            return
        command = self.text(at + 1, self.end(at + 1))
        self.run(command)
        # Text printed into a shell is a script.
        printing = next((one for one in range(at - 1, start - 1, -1) if self.sign(one) in {"print", "printf"}), -1)
        if printing >= 0 and _SHELL.fullmatch(command.strip()):
            self.run(self.text(printing + 1, at))

    def sign(self, at: int) -> str:
        return self.tokens[at][1] if at < len(self.tokens) else ""

    def end(self, at: int) -> int:
        depth = 0
        while at < len(self.tokens) and self.tokens[at][0] != "end":
            text = self.tokens[at][1]
            depth += (text == "(") - (text == ")")
            if depth < 0 or (not depth and text in {"|", "|&", ","}):
                break
            at += 1
        return at

    def close(self, at: int) -> int:
        depth = 1
        while at < len(self.tokens) and depth:
            depth += (self.sign(at) == "(") - (self.sign(at) == ")")
            at += 1
        return at - 1

    def text(self, first: int, last: int) -> str:
        """Return the joined strings between two tokens; anything else is unknown."""
        found = ""
        for kind, text in self.tokens[first : min(last, first + 64)]:
            if kind == "text":
                found += re.sub(r"\\(?:x[0-9a-fA-F]+|[0-7]{1,3}|.)", lambda match: unescape(match[0]), text[1:-1])
            elif kind == "word" and text in self.values:
                found += self.values[text]
            elif text not in {"(", ")"}:
                found += UNKNOWN
        return found[:4096]

    def write(self, path: str) -> None:
        if path.startswith(_CONNECTION):
            self.network = True
        elif path not in {"/dev/stderr", "/dev/stdout"}:
            self.writes[FileWrite(path or UNKNOWN)] = None

    def run(self, command: str) -> None:
        if command.startswith(_CONNECTION):
            self.network = True
        elif not command or command.startswith(UNKNOWN):
            self.unread, self.runs_input = "an unknown command is run", True
        else:
            self.runs[Run(script=command)] = None
