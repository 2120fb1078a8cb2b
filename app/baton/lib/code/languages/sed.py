"""Read a sed script: files written by `w` and commands run by `e`."""

import re

from baton.lib.code.model import Code, FileWrite, Run

MAX_COMMANDS = 2_000
_SKIP = re.compile(r"(?:[\s;}]|#[^\n]*)*")
_ADDRESS = re.compile(r"(?:\d+(?:~\d+)?|\$|[+~]\d+)")
_FLAGS = re.compile(r"[gpiImMe0-9]*")
_LINE = re.compile(r"[^\n]*")
_LABEL = re.compile(r"[^\n;}]*")
_TEXT = re.compile(r"(?:[^\n\\]|\\.)*", re.DOTALL)
_BRACKET = re.compile(r"\[(?:\^?\]?(?:\[[:.=][^\n]*?[:.=]\]|[^\]\n])*\])?")
_PLAIN = frozenset("dDgGhHnNpPxzF={}lLqQ")
_BLANKS = re.compile(r"[ \t]*")
_BEFORE = re.compile(r"[ \t!]*")
_CASE = re.compile(r"[IM]*")
_ED_RUNS = re.compile(r"^[ \t]*:*[ \t]*(?:sil(?:ent)?!?[ \t]+)?[\d,.$%;+-]*(?:[erw]?[ \t]*)!([^\n]+)", re.MULTILINE)
_ED_WRITES = re.compile(r"^[ \t]*:*[\d,.$%;+-]*wq?[ \t]+([^!\s][^\n]*)", re.MULTILINE)
_NUMBER = re.compile(r"[ \t]*\d*")


class _Unreadable(Exception):
    """The script is invalid, or has an unsupported feature."""


class _Script:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.writes: list[FileWrite] = []
        self.runs: list[Run] = []
        self.unread, self.runs_input = "", False

    def take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[0]

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def delimited(self, mark: str, *, brackets: bool = True) -> str:
        """Return the text up to a mark; a backslash or a bracket makes the mark literal."""
        start = self.at
        while self.at < len(self.text):
            here = self.text[self.at]
            if here == "\\":
                self.at += 2
                continue
            if here == "[" and brackets:
                self.at = _BRACKET.match(self.text, self.at).end()  # type: ignore[union-attr]  # it matches `[` alone
                continue
            if here == mark:
                self.at += 1
                return self.text[start : self.at - 1]
            self.at += 1
        raise _Unreadable

    def address(self) -> bool:
        if self.peek() in {"/", "\\"}:
            if self.peek() == "\\":
                self.at += 1
            mark = self.peek()
            self.at += 1
            self.delimited(mark)
            self.take(_CASE)
            return True
        return bool(self.take(_ADDRESS))

    def file(self) -> str:
        return self.take(_LINE).strip()

    def addresses(self) -> None:
        if self.address():
            self.take(_BLANKS)
            if self.peek() == ",":
                self.at += 1
                self.take(_BLANKS)
                if not self.address():
                    raise _Unreadable

    def command(self) -> None:
        self.addresses()
        self.take(_BEFORE)
        name = self.peek()
        self.at += 1
        if name in {"s", "y"}:
            self.substitute(name)
        elif name in {"w", "W"}:
            self.writes.append(FileWrite(self.file()))
        elif name in {"r", "R"}:
            self.file()
        elif name == "e":
            self.executed(self.file())
        elif name in {"a", "i", "c"}:
            self.take(_TEXT)
        elif name in {":", "b", "t", "T", "v"}:
            self.take(_LABEL)
        elif name in _PLAIN:
            self.take(_NUMBER)
        elif name:
            raise _Unreadable

    def substitute(self, name: str) -> None:
        mark = self.peek()
        self.at += 1
        if not mark or mark in "\\\n":
            raise _Unreadable
        self.delimited(mark, brackets=name == "s")
        replacement = self.delimited(mark, brackets=False)
        if name == "y":
            return
        flags = self.take(_FLAGS)
        if self.peek() in {"w", "W"}:
            self.at += 1
            self.writes.append(FileWrite(self.file()))
        if "e" in flags:
            self.executed("" if re.search(r"&|\\\d", replacement) else replacement)

    def executed(self, command: str) -> None:
        """Note a command; without one, the file's content is run."""
        if command:
            self.runs.append(Run(script=command))
        else:
            self.unread, self.runs_input = "file content is run", True


def read_ed(text: str) -> Code:
    """Read a script of `ed`, `ex` or `vim -es`: the commands after `!`, and the files of `w`."""
    found = [match[1] for match in _ED_RUNS.finditer(text)]
    writes = [FileWrite(match[1]) for match in _ED_WRITES.finditer(text)]
    return Code(
        writes=tuple(dict.fromkeys(writes[:MAX_COMMANDS])),
        runs=tuple(dict.fromkeys(Run(script=command) for command in found[:MAX_COMMANDS])),
        unread="" if max(len(found), len(writes)) <= MAX_COMMANDS else "too many commands",
    )


def read(text: str) -> Code:
    """Read a script's effects."""
    script = _Script(text)
    try:
        script.take(_SKIP)
        for _ in range(MAX_COMMANDS):
            if script.at >= len(text):
                break
            script.command()
            script.take(_SKIP)
        else:
            script.unread = "too many commands"
    except _Unreadable:
        script.unread = "not valid sed"
    writes, runs = tuple(script.writes), tuple(script.runs)
    return Code(writes=writes, runs=runs, unread=script.unread, runs_input=script.runs_input)
