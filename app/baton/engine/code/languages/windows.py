"""Read PowerShell and cmd as a shell line that does the same, as far as the rules ask: `Remove-Item -Recurse` is `rm -r`.

Statements, pipelines, script blocks and groups are followed; names of cmdlets and their aliases become the programs that
rules know. What is not known stays as it is written, so that it is an unknown program of that name. Every character is
looked at once, but for nested texts (`powershell -Command "…"`), whose number is limited.
"""

import base64
import re
import shlex
from itertools import pairwise

from baton.engine.code.languages.names import windows as windows_names
from baton.engine.code.model import Code, Run

_MOST_NESTED = 20
_LONGEST = 65_536
_DEEPEST = 60
_MOST_WORDS = 8_000
"""Words and statements of one text: a shell line of as many is not read either."""
_SHORTEST = {"-recurse": 4, "-force": 3}
"""Characters of an option that PowerShell needs at least to know it (`-rec`, `-fo`)."""
_LOOP = 3
"""Words before the command in the head of a loop: what stands for `$f`, `$f`, `in`."""
_SPACE = " \t\r"
_VARIABLE = re.compile(r"\$\{?((?:env:)?\w+|_)\}?", re.IGNORECASE)
_PERCENT = re.compile(r"%(\w+)(?::[^%]*)?%|!(\w+)!")
_DRIVE_ROOT = re.compile(r"[A-Za-z]:/*((?:\*(?:\.\*)?)?)")
_ASSIGNS = re.compile(r"\$((?:env:)?\w+)\s*(\+?=)(?!=)\s*", re.IGNORECASE)
_DOWNLOADS = re.compile(r"\.Download(?:String|Data)\(\s*['\"]?([^'\")]*)", re.IGNORECASE)
_DOTNET = re.compile(r"\[(?:System\.)?IO\.(?:File|Directory)\]::(Write|Append|Create|Delete|Move|Copy|Replace)\w*"
                     r"\(\s*['\"]?([^'\",)]*)", re.IGNORECASE)  # fmt: skip
_SHELLS = frozenset({"powershell", "pwsh"})
_HOST_OPTIONS = [
    ["-ExecutionPolicy"],
    ["-ep"],
    ["-ex"],
    ["-Version"],
    ["-WindowStyle"],
    ["-w"],
    ["-WorkingDirectory"],
    ["-wd"],
]
_QUOTED = re.compile(r'(["\\`])')


def read_powershell(text: str) -> Code:
    """Read a PowerShell text."""
    return Code(runs=(Run(script=powershell_as_shell(text)),))


def read_powershell_arguments(text: str) -> Code:
    """Read the arguments of `powershell`, one a line: `-Command …`, `-EncodedCommand …`, a file."""
    return Code(runs=(Run(script=_Reader("", 0, is_cmd=False).powershell(text.split("\n"))),))


def read_cmd(text: str) -> Code:
    """Read a line of the Windows command interpreter."""
    return Code(runs=(Run(script=cmd_as_shell(text)),))


def read_cmd_arguments(text: str) -> Code:
    """Read the arguments of `cmd`, one a line: `/c …`."""
    words = text.split("\n")
    at = next((at for at, word in enumerate(words) if word.lower() in ("/c", "/k")), len(words))
    return Code(runs=(Run(script=cmd_as_shell(" ".join(words[at + 1 :]))),))


def powershell_as_shell(text: str, nested: int = 0) -> str:
    """Return a shell line that does what a PowerShell text does; "'" alone, which no shell reads, if it cannot be told."""
    if len(text) > _LONGEST or nested > _MOST_NESTED:
        return "'"
    reader = _Reader(text, nested, is_cmd=False)
    reader.block("")
    return reader.line()


def cmd_as_shell(text: str, nested: int = 0) -> str:
    """Return a shell line that does what a line of cmd does; "'" alone, which no shell reads, if it cannot be told."""
    if len(text) > _LONGEST or nested > _MOST_NESTED:
        return "'"
    reader = _Reader(text, nested, is_cmd=True)
    reader.block("")
    return reader.line()


_CURL = {"-method": "-X", "-custommethod": "-X", "-body": "-d", "-infile": "-T", "-outfile": "-o", "-form": "-F"}
"""Options of `Invoke-WebRequest` and `Invoke-RestMethod` that change what is sent or written, and curl's."""


class _Reader:
    """Reads one text into statements of a shell. `out` are they, each with what joins it to the one before."""

    def __init__(self, text: str, nested: int, *, is_cmd: bool) -> None:
        self.text = text
        self.at = 0
        self.nested = nested
        self.is_cmd = is_cmd
        self.depth = 0
        self.words = 0
        self.out: list[tuple[str, str]] = []

    def line(self) -> str:
        """Return the statements as one line."""
        text = ""
        for joint, statement in self.out:
            text += (f" {joint} " if joint == "|" and text else "\n" if text else "") + statement
        return text

    def block(self, end: str) -> None:  # noqa: C901, PLR0912 - one branch for each kind of character
        """Read statements up to a closing bracket."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.at = len(self.text)
            self.out.append(("", "'"))
            return
        joint, words, before = "", list[str](), list[str]()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in ")}" and char == end:
                self.at += 1
                break
            if char == "&" and not words and not self.is_cmd and self.text[self.at : self.at + 2] != "&&":
                words.append("&")  # the call operator: what follows is a program, though it may be quoted
                self.at += 1
                continue
            if char in ";\n|&":
                pipe = char == "|" and self.text[self.at : self.at + 2] != "||"
                self.at += 2 if self.text[self.at : self.at + 2] in ("||", "&&") else 1
                before = self.finish(joint, words, before)
                joint, words = "|" if pipe else "", []
                continue
            if char in _SPACE or char in ")},":
                self.at += 1
                continue
            if char == "(" and self.is_cmd and words and words[-1].lower() == "in":  # the files of a loop
                closing = self.text.find(")", self.at)
                self.at, words = len(self.text) if closing < 0 else closing + 1, []
            elif char == "#" and not self.is_cmd:
                self.comment(block=False)
            elif self.text.startswith("<#", self.at):
                self.comment(block=True)
            elif char == "{" or (char == "(" and (not words or self.is_cmd)):
                self.at += 1
                before = self.finish(joint, words, before)
                joint, words = "", []
                self.block("}" if char == "{" else ")")
            elif char == "(" or self.text.startswith(("$(", "@("), self.at):
                words += ["echo", self.group()] if not words else [self.group()]
            elif not words and not self.is_cmd and (found := _ASSIGNS.match(self.text, self.at)):
                self.at = found.end()
                words.append(f"{found[1].removeprefix('env:')}=")
            elif not words and not self.is_cmd and char in "'\"$[@":
                words += self.expression_start()
            else:
                words.append(self.word())
        self.finish(joint, words, before)
        self.depth -= 1

    def expression_start(self) -> list[str]:
        """Read the first word of a statement that is a value, not a program: a string, a variable, a call of .NET."""
        word = self.word()
        found = _DOTNET.match(word)
        if found is None:
            return ["echo", word]
        return [] if not found[2] else ["rm" if found[1].lower().startswith("delete") else "tee", found[2]]

    def group(self) -> str:
        """Read `(…)` in the place of a word, as a substitution."""
        self.at += 1 if self.text[self.at] == "(" else 2
        inner = _Reader(self.text, self.nested, is_cmd=self.is_cmd)
        inner.at, inner.depth, inner.words = self.at, self.depth, self.words
        inner.block(")")
        self.at, self.words = inner.at, inner.words
        while self.at < len(self.text) and self.text[self.at] == ".":  # a method of the result
            if found := _DOWNLOADS.match(self.word()):
                return f'"$(curl {self.shown(found[1])})"'
        return f'"$({inner.line()})"'

    def comment(self, *, block: bool) -> None:
        """Skip a comment."""
        end = self.text.find("#>" if block else "\n", self.at)
        self.at = len(self.text) if end < 0 else end + (2 if block else 0)

    def word(self) -> str:  # noqa: C901 - one branch for each kind of character
        """Read one word; return it quoted for a shell, with variables as the shell's."""
        parts: list[str] = []
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            if char in _SPACE or char in ";\n|)}," or (self.is_cmd and char in "&("):
                break
            if char in "<>":
                if parts:
                    break
                return self.redirect()
            if char in "'\"" and text.startswith((f"@{char}", char), self.at) and not (self.is_cmd and char == "'"):
                parts.append(self.quoted(char))
            elif char == "@" and text[self.at + 1 : self.at + 2] in ("'", '"') and not self.is_cmd:
                parts.append(self.here_string())
            elif char == "`" and not self.is_cmd and text[self.at + 1 : self.at + 2] == "\n":
                self.at += 2
            elif char == ("^" if self.is_cmd else "`"):
                parts.append(text[self.at + 1 : self.at + 2])
                self.at += 2
            elif char == "$" and text.startswith("$(", self.at):
                parts.append("$UNKNOWN")
                self.group()
            else:
                parts.append(char)
                self.at += 1
                # A bracket within a word belongs to a method: `.DownloadString('x')`.
                if text[self.at : self.at + 1] == "(" and not self.is_cmd:
                    end = text.find(")", self.at)
                    end = len(text) if end < 0 else end + 1
                    parts.append(text[self.at : end])
                    self.at = end
        return "".join(parts)

    def quoted(self, quote: str) -> str:
        text = self.text
        self.at += 1
        parts: list[str] = []
        while self.at < len(text):
            char = text[self.at]
            self.at += 1
            if char == quote:
                if text[self.at : self.at + 1] != quote or self.is_cmd:
                    break
                self.at += 1
            elif char == "`" and quote == '"' and not self.is_cmd:
                char = text[self.at : self.at + 1]
                self.at += 1
            elif char == "$" and quote == "'":
                char = "\ue000"  # a literal `$`: the names of variables are put in later
            parts.append(char)
        return "".join(parts)

    def here_string(self) -> str:
        quote = self.text[self.at + 1]
        end = self.text.find(f"\n{quote}@", self.at)
        found = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
        self.at = len(self.text) if end < 0 else end + 3
        return found.removeprefix("\n")

    def redirect(self) -> str:
        for known in windows_names.REDIRECTS:
            if self.text.startswith(known, self.at):
                self.at += len(known)
                return ""
        start = self.at
        while self.text[self.at : self.at + 1] in ("<", ">"):
            self.at += 1
        operator = self.text[start : self.at]
        while self.text[self.at : self.at + 1] in (" ", "\t"):
            self.at += 1
        if self.text.startswith("&", self.at):
            self.at += 2
            return ""
        return f"{operator}\0{self.word()}"

    def finish(self, joint: str, words: list[str], before: list[str]) -> list[str]:  # noqa: C901 - one for each kind of head
        """Note a statement; return its operands, for a cmdlet that gets them by the pipeline."""
        self.words += 1 + len(words)
        if self.words > _MOST_WORDS:
            self.at = len(self.text)
            self.out = [("", "'")]
            return []
        words = [word for word in words if word]
        was_if = self.is_cmd and bool(words) and words[0].lower() == "if"
        while words and words[0].lower() in windows_names.KEYWORDS:
            words = words[1:]
        if words[1:] and words[0] in (".", "@", "&"):
            words = words[1:]
        # `foreach ($f in Get-ChildItem x)`, and the same of cmd, whose loop variables stand for files.
        if len(words) > _LOOP and words[0] == "echo" and words[2].lower() == "in":
            words = words[_LOOP:]
        if self.is_cmd and len(words) > 1 and words[0].startswith("%") and words[1].lower() == "in":
            return []
        if was_if:
            words = _after_condition(words)
        if words and words[0].startswith('"$('):
            words = ["echo", *words]
        if not words:
            return []
        if words[0].endswith("=") and words[0][:-1].isidentifier():
            name, rest = words[0], words[1:]
            if len(rest) == 1:
                self.out.append(("", f"{name}{self.shown(rest[0])}"))
                return []
            words = rest
            if not words:
                return []
        statement, operands = self.statement(joint, words, before)
        if statement:
            self.out.append((joint, statement))
        return operands

    def statement(self, joint: str, words: list[str], before: list[str]) -> tuple[str, list[str]]:
        """Return a statement of the shell, and the operands of the program."""
        redirects = [f"{op} {self.shown(to)}" for op, _, to in (w.partition("\0") for w in words if "\0" in w)]
        words = [word for word in words if "\0" not in word]
        if not words:
            return f": {' '.join(redirects)}", []
        downloads = _DOWNLOADS.search(" ".join(words))
        name = words[0].replace("\\", "/").rpartition("/")[2].lower().removesuffix(".exe")
        arguments = words[1:]
        if name in ("iex", "invoke-expression"):
            return self.expression(joint, arguments, downloads), []
        if name in _SHELLS:
            return self.powershell(arguments), []
        if name == "cmd":
            inner = [word for word in arguments if not word.startswith("/")]
            return cmd_as_shell(" ".join(inner), self.nested + 1), []
        if name in ("start-process", "saps", "start", "invoke-command", "icm", "&"):
            rest = [word for word in arguments if not word.startswith(("-", "/"))]
            return self.statement(joint, rest, before) if rest else ("", [])
        if downloads:
            return f"curl {self.shown(downloads[1])}", []
        known = windows_names.NAMES.get(name)
        if known is None:
            program = words[0].replace("\\", "/").removesuffix(".exe")
            shown = [self.shown(program), *(self.shown(word) for word in arguments), *redirects]
            return " ".join(shown), [word for word in arguments if not word.startswith("-")]
        return self.cmdlet(known, arguments, before if joint == "|" else [], redirects)

    def cmdlet(self, name: str, arguments: list[str], piped: list[str], redirects: list[str]) -> tuple[str, list[str]]:
        """Return a cmdlet as the program that does the same, with its options as that program's."""
        options, operands = self.options(arguments)
        recursive = _has(options, "-recurse", "-r", "/s")
        force = _has(options, "-force", "/q", "/f")
        if "-whatif" in options:
            return f"echo {name}", operands
        if name in ("tee", "touch") and operands:
            operands = operands[:1]
        if not operands and name in ("rm", "mkfs", "kill") and piped:
            operands = piped
        if name == "mkfs":
            return "mkfs /dev/" + shlex.quote(
                re.sub(r"\W", "", operands[0] if operands else "disk") or "disk"
            ), operands
        flags = []
        if name == "rm":
            flags = ["-r"] * recursive + ["-f"] * force
        elif name == "ls":
            flags = ["-R"] * recursive
        elif name == "reg delete":
            return " ".join([name, *(self.shown(one) for one in operands)]), operands
        elif name == "curl":
            flags, operands = self.curl(arguments, operands)
        return " ".join([name, *flags, *(self.shown(one) for one in operands), *redirects]), operands

    def curl(self, arguments: list[str], operands: list[str]) -> tuple[list[str], list[str]]:
        """Return the options and operands of a request as curl's."""
        flags: list[str] = []
        for option, value in self.pairs(arguments):
            for whole, short in _CURL.items():
                if len(option) > 1 and whole.startswith(option):  # PowerShell takes options cut short
                    flags += [short, self.shown(value)]
                    operands = [one for one in operands if one != value]
        return flags, operands

    def options(self, arguments: list[str]) -> tuple[list[str], list[str]]:
        """Sort arguments into options and operands; the values of options that name paths are operands."""
        options: list[str] = []
        operands: list[str] = []
        skip = False
        for at, word in enumerate(arguments):
            lower = word.lower()
            if skip:
                skip = False
            elif (lower.startswith("-") and len(lower) > 1) or re.fullmatch(
                r"/[a-z]" if self.is_cmd else "/[sqf]", lower
            ):
                options.append(lower.partition(":")[0])
                after = arguments[at + 1] if at + 1 < len(arguments) else "-"
                skip = lower in windows_names.VALUE_OPTIONS and not after.startswith("-")
            else:
                operands.append(word)
        return options, operands

    @staticmethod
    def pairs(arguments: list[str]) -> list[tuple[str, str]]:
        return [(one.lower(), after) for one, after in pairwise(arguments)]

    def expression(self, joint: str, arguments: list[str], downloads: re.Match[str] | None) -> str:
        """Return `Invoke-Expression`: a literal is read, what a program prints is run."""
        if joint == "|":
            return "bash"
        if downloads:
            return f"curl {self.shown(downloads[1])} | bash"
        rest = [word for word in arguments if word.lower() != "-command"]
        if len(rest) == 1 and not rest[0].startswith('"$(') and not rest[0].startswith("$"):
            return powershell_as_shell(rest[0], self.nested + 1)
        return f"eval {' '.join(self.shown(word) for word in rest)}"

    def powershell(self, arguments: list[str]) -> str:
        """Return what a nested PowerShell runs."""
        for at, word in enumerate(arguments):
            lower = word.lower().replace("/", "-")
            if len(lower) > 1 and "-encodedcommand".startswith(lower) and lower.startswith("-e") and lower != "-ex":
                return powershell_as_shell(decoded("".join(arguments[at + 1 : at + 2])), self.nested + 1)
            if len(lower) > 1 and "-command".startswith(lower):
                return powershell_as_shell(_text(arguments[at + 1 :]), self.nested + 1)
            if len(lower) > 1 and "-file".startswith(lower):
                return " ".join(self.shown(one) for one in arguments[at + 1 :])
        rest = [
            word for at, word in enumerate(arguments) if word[:1] != "-" and arguments[at - 1 : at] not in _HOST_OPTIONS
        ]
        return powershell_as_shell(_text(rest), self.nested + 1) if rest else "true"

    def shown(self, word: str) -> str:
        """Return a word quoted for a shell: backslashes as slashes, drives and variables by the names that rules know."""
        if word.startswith('"$('):
            return word
        word = word.replace("\\", "/")
        names = _PERCENT if self.is_cmd else _VARIABLE
        word = names.sub(
            lambda found: windows_names.VARIABLES.get(next(filter(None, found.groups())).lower(), f"${_plain(found)}"),
            word,
        )
        if root := _DRIVE_ROOT.fullmatch(word):
            word = "/" + root[1]
        if word.startswith("$HOME/") or word == "$HOME":
            word = "~" + word[5:]
        if "$" in word:
            return '"' + _QUOTED.sub(r"\\\1", word.replace("\ue000", "\\$")) + '"'
        word = word.replace("\ue000", "$")
        if word.startswith("~"):
            home, slash, rest = word.partition("/")
            return f"{home}{slash}{shlex.quote(rest) if rest else ''}" if home == "~" else shlex.quote(word)
        return shlex.quote(word)


def _has(options: list[str], name: str, *others: str) -> bool:
    return any(one in others or (len(one) >= _SHORTEST[name] and name.startswith(one)) for one in options)


def _text(words: list[str]) -> str:
    """Return a script that came as words: one text, perhaps of several lines, or the words of a command."""
    return ("\n" if words and any(map(str.isspace, words[0])) else " ").join(words)


def _after_condition(words: list[str]) -> list[str]:
    """Return the command behind the condition of cmd's `if`."""
    while words and words[0].lower() in ("not", "/i"):
        words = words[1:]
    if words and words[0].lower() in ("exist", "defined", "errorlevel"):
        return words[2:]
    return words[1:] if words and "==" in words[0] else words[3:]


def _plain(found: re.Match[str]) -> str:
    name = next(filter(None, found.groups()))
    return re.sub(r"\W", "_", name.removeprefix("env:"))


def decoded(text: str) -> str:
    """Return what `-EncodedCommand` runs: UTF-16 in base 64; "'", which cannot be read, for anything else."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode("utf-16-le")
    except (ValueError, UnicodeDecodeError):
        return "'"
