"""Read PowerShell and cmd as an equivalent shell line, as far as rules need it: `Remove-Item -Recurse` is `rm -r`.

Statements, pipelines, script blocks and groups are followed; cmdlets and their aliases become the programs known to
rules. Unknown names stay as written, as unknown programs. Every character is read once, except nested texts
(`powershell -Command "…"`), whose number is limited.
"""

import base64
import re
import shlex
import tomllib
from importlib.resources import files
from itertools import pairwise

from baton.lib.code.model import Code, Run

_TABLES = tomllib.loads(files("baton.lib.code.languages").joinpath("windows.toml").read_text("utf-8"))
NAMES = {name: program for program, names in _TABLES["names"].items() for name in names.split()}
FOLDERS, VARIABLES = _TABLES["folders"], _TABLES["variables"]
SWITCHES_LAST, VALUE_OPTIONS, KEYWORDS = (
    frozenset(_TABLES[name].split()) for name in ("switches_last", "value_options", "keywords")
)
REDIRECTS = tuple(_TABLES["redirects"])
_MOST_NESTED = 20
_LONGEST = 65_536
_DEEPEST = 60
_MOST_WORDS = 8_000  # maximum words and statements of one text: a longer shell line is not read either
_SHORTEST = {"-recurse": 4, "-force": 3}  # minimum characters of an abbreviated option in PowerShell (`-rec`, `-fo`)
_LOOP = 3  # words before the command in the head of a loop: those for `$f`, `$f`, `in`
_SPACE = " \t\r"
_VARIABLE = re.compile(r"\$\{?((?:env:)?\w+|_)\}?", re.IGNORECASE)
_PERCENT = re.compile(r"%(\w+)(?::[^%]*)?%|!(\w+)!")
_LOOP_VARIABLE = re.compile(r"%%?(?:~\w*)?([A-Za-z])(?!\w)")
_EVERY_NAME = re.compile(r"(?<![^/])\*\.\*\Z")
_FOLDER_PATH = re.compile(
    r"\[(?:System\.)?Environment\]::Get(?:FolderPath|EnvironmentVariable)\(\s*['\"]?(?:\[?[\w.]+\]?::)?(\w+)['\"]?[^)]*\)",
    re.IGNORECASE,
)
_ONE_IN_GROUP = re.compile(r"\$\((\$[\w:/]+)\)")
_SCRIPT_BLOCK = re.compile(r"\[scriptblock\]::Create\(", re.IGNORECASE)
_DELETES = re.compile(r"(\$\w+)\.Delete\(", re.IGNORECASE)
_DELETES_RESULT = re.compile(r"\.Delete(?:Folder|File)?\(\s*(?:['\"]([^'\"]*))?", re.IGNORECASE)
_SETS_VARIABLE = re.compile(
    r"\[(?:System\.)?Environment\]::SetEnvironmentVariable\(\s*['\"](\w+)['\"]\s*,\s*['\"]([^'\"]*)['\"][^)]*\)",
    re.IGNORECASE,
)
_PLUS = re.compile(r"\s*\+\s*(?=['\"])")
_PATH_OF = re.compile(r"(\$\w+)\.(?:FullName|PSPath|Path|ToString\(\))", re.IGNORECASE)
_SAID_NAME = re.compile(r'"\$\(echo ([\w.-]+)\)"')
_DRIVE_ROOT = re.compile(r"[A-Za-z]:/*((?:\*(?:\.\*)?)?)")
_SETS = re.compile(r"[A-Za-z_]\w*=")
_ASSIGNS = re.compile(r"\$((?:env:)?\w+)\s*(\+?=)(?!=)\s*", re.IGNORECASE)
_DOWNLOADS = re.compile(r"\.Download(?:String|Data)\(\s*['\"]?([^'\")]*)", re.IGNORECASE)
_DOTNET = re.compile(r"\[(?:System\.)?IO\.(?:File|Directory)\]::(Write|Append|Create|Delete|Move|Copy|Replace)\w*"
                     r"\(\s*['\"]?([^'\",)]*)", re.IGNORECASE)  # fmt: skip
_SHELLS = frozenset({"powershell", "pwsh"})
_READS_INPUT = "bash"  # placeholder for a PowerShell with its script on standard input
_HOST_OPTIONS = [[option] for option in _TABLES["host_options"].split()]
_QUOTED = re.compile(r'(["\\`])')


def read_powershell(text: str) -> Code:
    """Read a PowerShell text."""
    return Code(runs=(Run(script=powershell_as_shell(text)),))


def read_powershell_arguments(text: str) -> Code:
    """Read the arguments of `powershell`, one per line: `-Command …`, `-EncodedCommand …`, a file."""
    script = _Reader("", 0, is_cmd=False).powershell(text.split("\n"))
    if script == _READS_INPUT:
        return Code(runs_input=True, unread="the script comes from standard input")
    return Code(runs=(Run(script=script),))


def read_cmd(text: str) -> Code:
    """Read a line of the Windows command interpreter."""
    return Code(runs=(Run(script=cmd_as_shell(text)),))


def read_cmd_arguments(text: str) -> Code:
    """Read the arguments of `cmd`, one per line: `/c …`."""
    words = text.split("\n")
    at = next((at for at, word in enumerate(words) if word.lower() in ("/c", "/k")), len(words))
    return Code(runs=(Run(script=cmd_as_shell(" ".join(words[at + 1 :]))),))


def powershell_as_shell(text: str, nested: int = 0) -> str:
    """Return a shell line equivalent to a PowerShell text; "'" alone, which is invalid in any shell, if unknown."""
    if len(text) > _LONGEST or nested > _MOST_NESTED:
        return "'"
    # .NET calls, converted to cmdlets.
    text = _SETS_VARIABLE.sub(r"$env:\1='\2'", text)
    text = _SCRIPT_BLOCK.sub("iex (", _ONE_IN_GROUP.sub(r"\1", _FOLDER_PATH.sub(_folder_path, text)))
    reader = _Reader(text, nested, is_cmd=False)
    reader.block("")
    return reader.line()


def cmd_as_shell(text: str, nested: int = 0) -> str:
    """Return a shell line equivalent to a cmd line; "'" alone, which is invalid in any shell, if unknown."""
    if len(text) > _LONGEST or nested > _MOST_NESTED:
        return "'"
    reader = _Reader(text, nested, is_cmd=True)
    reader.block("")
    return reader.line()


_CURL = {"-method": "-X", "-custommethod": "-X", "-body": "-d", "-infile": "-T", "-outfile": "-o", "-form": "-F"}
"""Options of `Invoke-WebRequest` and `Invoke-RestMethod` for sent or written data, and curl's."""


class _Reader:
    """Reads one text into shell statements. `out` are these, each with its operator.

    `loops` set the variables of starting loops, by shell loops with the same values. `literals` are the variables that
    hold a string, by lower name.
    """

    def __init__(self, text: str, nested: int, *, is_cmd: bool) -> None:
        self.text = text
        self.at = 0
        self.nested = nested
        self.is_cmd = is_cmd
        self.depth = 0
        self.words = 0
        self.out: list[tuple[str, str]] = []
        self.loops: list[str] = []
        self.literals: dict[str, str] = {}

    def line(self) -> str:
        text = ""
        for joint, statement in self.out:
            text += (f" {joint} " if joint == "|" and text else "\n" if text else "") + statement
        return text

    def block(self, end: str) -> list[str]:  # noqa: C901, PLR0912 - one branch for each kind of character
        """Read statements up to a closing bracket; return the operands of the last one."""
        self.depth += 1
        if self.depth > _DEEPEST:
            self.at = len(self.text)
            self.out.append(("", "'"))
            return []
        joint, words, before = "", list[str](), list[str]()
        while self.at < len(self.text):
            char = self.text[self.at]
            if char in ")}" and char == end:
                self.at += 1
                break
            if char == "&" and not words and not self.is_cmd and self.text[self.at : self.at + 2] != "&&":
                words.append("&")  # the call operator: the next word is a program, even if quoted
                self.at += 1
                continue
            if char in ";\n|&":
                pipe = char == "|" and self.text[self.at : self.at + 2] != "||"
                self.at += 2 if self.text[self.at : self.at + 2] in ("||", "&&") else 1
                before = self.finish(joint, words, before)
                joint, words = "|" if pipe else "", []
                continue
            if char in _SPACE or char in ")}," or (char == "@" and self.is_cmd and not words):
                self.at += 1
                continue
            if char == "(" and self.is_cmd and words and words[-1].lower() == "in":  # the files of a loop
                closing = self.text.find(")", self.at)
                end_of_files = len(self.text) if closing < 0 else closing
                self.cmd_loop(words, self.text[self.at + 1 : end_of_files])
                self.at, words = end_of_files + 1, []
            elif char == "#" and not self.is_cmd:
                self.comment(block=False)
            elif self.text.startswith("<#", self.at):
                self.comment(block=True)
            elif char == "{" or (char == "(" and (not words or self.is_cmd)):
                self.at += 1
                before = self.finish(joint, words, before)
                joint, words = "", []
                inside = self.block("}" if char == "{" else ")")
                before = before if char == "{" else inside
            elif char == "(" or self.text.startswith(("$(", "@("), self.at):
                words += ["echo", self.group()] if not words else [self.group()]
            elif not words and not self.is_cmd and (found := _ASSIGNS.match(self.text, self.at)):
                self.at = found.end()
                words.append(f"{found[1].removeprefix('env:')}=")
            elif not words and not self.is_cmd and char in "'\"$[@":
                words += self.expression_start()
            else:
                words.append(self.word())
        before = self.finish(joint, words, before)
        self.depth -= 1
        return before

    def expression_start(self) -> list[str]:
        """Read the first word of a statement if it is a value: a string, a variable, a call of .NET."""
        word = self.word()
        if deletes := _DELETES.match(word):
            return ["rm", deletes[1]]
        found = _DOTNET.match(word)
        if found is None:
            return ["echo", word]
        return [] if not found[2] else ["rm" if found[1].lower().startswith("delete") else "tee", found[2]]

    def group(self) -> str:
        """Read `(…)` as a word, in the form of a substitution."""
        self.at += 1 if self.text[self.at] == "(" else 2
        inner = _Reader(self.text, self.nested, is_cmd=self.is_cmd)
        inner.at, inner.depth, inner.words, inner.loops = self.at, self.depth, self.words, self.loops
        inner.literals = self.literals
        operands = inner.block(")")
        self.at, self.words = inner.at, inner.words
        while self.at < len(self.text) and self.text[self.at] == ".":  # a method of the result
            method = self.word()
            if found := _DOWNLOADS.match(method):
                return f'"$(curl {self.shown(found[1])})"'
            self.delete(method, operands)
        return f'"$({inner.line()})"'

    def delete(self, method: str, operands: list[str]) -> bool:
        """Note a removal by a method, of its argument or of the object: `(Get-Item x).Delete()`."""
        found = _DELETES_RESULT.match(method)
        if found is not None:
            self.out.append(("", f"rm -r {' '.join(map(self.shown, [found[1]] if found[1] else operands))}"))
        return found is not None

    def comment(self, *, block: bool) -> None:
        end = self.text.find("#>" if block else "\n", self.at)
        self.at = len(self.text) if end < 0 else end + (2 if block else 0)

    def word(self) -> str:  # noqa: C901 - one branch for each kind of character
        """Read one word; return it quoted for a shell, with shell variables."""
        parts: list[str] = []
        text = self.text
        while self.at < len(text):
            char = text[self.at]
            ends = char in "&(" if self.is_cmd else char == "{" and parts in (["%"], ["?"])
            if ends or char in _SPACE or char in ";\n|)},":
                break
            if char in "<>":
                if parts:
                    break
                return self.redirect()
            if char in "'\"" and text.startswith((f"@{char}", char), self.at) and not (self.is_cmd and char == "'"):
                parts.append(self.quoted(char))
                if (plus := _PLUS.match(text, self.at)) and not self.is_cmd:
                    self.at = plus.end()
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
                char = "\ue000"  # a literal `$`: variables are inserted later
            parts.append(char)
        return "".join(parts)

    def here_string(self) -> str:
        quote = self.text[self.at + 1]
        end = self.text.find(f"\n{quote}@", self.at)
        found = self.text[self.at + 2 : end if end >= 0 else len(self.text)]
        self.at = len(self.text) if end < 0 else end + 3
        return found.removeprefix("\n")

    def redirect(self) -> str:
        for known in REDIRECTS:
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

    def finish(self, joint: str, words: list[str], before: list[str]) -> list[str]:  # noqa: C901, PLR0912 - one for each kind of head
        """Note a statement; return its operands, for a cmdlet with pipeline input."""
        self.words += 1 + len(words)
        if self.words > _MOST_WORDS:
            self.at = len(self.text)
            self.out = [("", "'")]
            return []
        words = [word for word in words if word]
        was_if = False
        if joint == "|" and words and words[0].lower() == "foreach":
            words = ["%", *words[1:]]
        while words and (first := words[0].lower().lstrip("@" if self.is_cmd else "")) in KEYWORDS:
            was_if = was_if or (self.is_cmd and first == "if")
            words = words[1:]
        if self.is_cmd and words:
            words = [words[0].lstrip("@"), *words[1:]]
        calls = words[1:] and words[0] in (".", "@", "&")
        if calls:
            words = words[1:]
            said = _SAID_NAME.fullmatch(words[0])
            words[0] = said[1] if said else self.literals.get(words[0].lower(), words[0])
        # `foreach ($f in Get-ChildItem x)`, and cmd's loops, with variables for files.
        variable = ""
        if len(words) > _LOOP and words[0] == "echo" and words[2].lower() == "in":
            variable, words = words[1], words[_LOOP:]
        if self.is_cmd and len(words) > 1 and words[0].startswith("%") and words[1].lower() == "in":
            return []
        if was_if:
            words = _after_condition(words)
        if words and words[0].startswith('"$(') and not calls:
            words = ["echo", *words]
        if not words or (not self.is_cmd and self.delete(words[0], before)):
            return before
        if words[0].endswith("=") and words[0][:-1].isidentifier():
            name, rest = words[0], words[1:]
            if len(rest) == 1:
                if "$" not in rest[0]:
                    self.literals[f"${name[:-1]}".lower()] = rest[0]
                self.out.append(("", f"{name}{self.shown(rest[0])}"))
                return []
            words = rest
            if not words:
                return []
            if words[0].lower() == "join-path":
                self.out.append(("", f'{name}"$({self.statement(joint, words, before)[0]})"'))
                return []
        if self.is_cmd and words[0].lower() == "set" and len(words) > 1 and _SETS.match(words[1]):
            name, _, value = " ".join(words[1:]).partition("=")
            self.out.append(("", f"{name}={self.shown(value)}"))
            return []
        statement, operands = self.statement(joint, words, before)
        if not joint:
            self.out += [("", loop) for loop in self.loops]
            self.loops.clear()
        if statement:
            self.out.append((joint, statement))
        if variable:
            self.loop(variable.lstrip("$"), operands)
        return operands

    def loop(self, variable: str, values: list[str]) -> None:
        if values:
            self.loops.append(f"for {variable} in {' '.join(map(self.shown, values))}; do true; done")

    def cmd_loop(self, words: list[str], files: str) -> None:
        """Follow `for /d %i in (files) do …`, `for /r folder %f in (files) do …`."""
        found = _LOOP_VARIABLE.fullmatch(words[-2]) if len(words) > 1 else None
        options = [word.lower() for word in words]
        if found is None or "/f" in options or "/l" in options:
            return
        values = files.replace(",", " ").split()
        if "/r" in options[:-2]:
            below = words[options.index("/r") + 1]
            folder = "." if below == words[-2] else below.rstrip("\\")
            values = [f"{folder}\\{value}" for value in values]
        self.loop(found[1], values)

    def statement(self, joint: str, words: list[str], before: list[str]) -> tuple[str, list[str]]:  # noqa: C901, PLR0912 - one for each kind of command
        """Return a shell statement, and the operands of the program."""
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
        if "/?" in arguments and (self.is_cmd or name in SWITCHES_LAST):
            return "true", []
        if name in SWITCHES_LAST:
            arguments = sorted(arguments, key=lambda word: word[:1] in "/-+")
        if name == "forfiles":
            return self.forfiles(arguments), []
        if name == "join-path":
            parts = [word for word in arguments if not word.startswith("-")]
            return f"echo {self.shown('/'.join(parts))}", []
        if name in ("%", "foreach-object", "foreach") and joint == "|":
            self.loop("PSItem", before)
            if [word.lower() for word in arguments[:1]] == ["delete"]:
                return self.cmdlet("rm", ["-Recurse"], before, redirects)
            return "true", before
        if name == "cmd":
            inner = [word for word in arguments if not word.startswith("/")]
            return cmd_as_shell(" ".join(inner), self.nested + 1), []
        if name in ("start-process", "saps", "start", "invoke-command", "icm", "&"):
            return self.started(joint, arguments, before)
        if downloads:
            return f"curl {self.shown(downloads[1])}", []
        known = NAMES.get(name)
        if known is None:
            program = words[0].replace("\\", "/").removesuffix(".exe")
            if self.is_cmd and program.lower().endswith(".bat") and "/" not in program:
                program = f"./{program}"
            shown = [self.shown(program), *(self.shown(word) for word in arguments), *redirects]
            return " ".join(shown), [word for word in arguments if not word.startswith("-")]
        return self.cmdlet(known, arguments, before if joint == "|" else [], redirects)

    def cmdlet(self, name: str, arguments: list[str], piped: list[str], redirects: list[str]) -> tuple[str, list[str]]:
        """Return a cmdlet as an equivalent program, with converted options."""
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
        line = " ".join([name, *flags, *(self.shown(one) for one in operands), *redirects])
        if name == "ls":
            given = [value for option, value in self.pairs(arguments) if option in ("-filter", "-include")]
            operands = [one if "*" in one else f"{one}/{(given or '*')[0]}" for one in operands or ["."]]
        return line, piped if name == "true" and piped else operands

    def started(self, joint: str, arguments: list[str], before: list[str]) -> tuple[str, list[str]]:
        """Return the program of `Start-Process` or `start`, with its arguments."""
        options = [at for at, word in enumerate(arguments) if word.startswith("/" if self.is_cmd else ("-", "/"))]
        first = next((at for at in range(len(arguments)) if at not in options), len(arguments))
        if (
            arguments[first : first + 1]
            and arguments[first].lower().rpartition("\\")[2].removesuffix(".exe") in _SHELLS
        ):
            # `-ArgumentList '-Command x'` is one word with the shell's own options.
            return self.powershell([part for word in arguments[first + 1 :] for part in _option_of(word)]), []
        # `-Wait` is an option of `Start-Process`, `-rf` or `-rf /` an argument of its program.
        own = [at for at in options if self.is_cmd or re.fullmatch(r"-[A-Za-z]{4,}", arguments[at])]
        given = [word for at, word in enumerate(arguments) if at not in own]
        rest = [part for word in given for part in (word.split() if word[:1] == "-" else [word])]
        return self.statement(joint, rest, before) if rest else ("", [])

    def forfiles(self, arguments: list[str]) -> str:
        """Return the command of `forfiles /p folder /m mask /c command`."""
        given = {option: value for option, value in self.pairs(arguments) if option[:1] == "/"}
        found = f"{given.get('/p', '.').rstrip(chr(92))}\\{given.get('/m', '*')}"
        command = given.get("/c", "").replace("@path", f'"{found}"').replace("@file", f'"{found}"')
        return cmd_as_shell(command.strip('"') if "@" in command else command, self.nested + 1)

    def curl(self, arguments: list[str], operands: list[str]) -> tuple[list[str], list[str]]:
        flags: list[str] = []
        for option, value in self.pairs(arguments):
            for whole, short in _CURL.items():
                if len(option) > 1 and whole.startswith(option):  # PowerShell accepts abbreviated options
                    flags += [short, self.shown(value)]
                    operands = [one for one in operands if one != value]
        return flags, operands

    def options(self, arguments: list[str]) -> tuple[list[str], list[str]]:
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
                option, _, value = word.partition(":")
                options.append(option.lower())
                if value and value[0] != "$" and option.lower() not in VALUE_OPTIONS:
                    operands.append(value)  # `-LiteralPath:x`
                after = arguments[at + 1] if at + 1 < len(arguments) else "-"
                skip = lower in VALUE_OPTIONS and not after.startswith("-")
            else:
                operands.append(word)
        return options, operands

    @staticmethod
    def pairs(arguments: list[str]) -> list[tuple[str, str]]:
        return [(one.lower(), after) for one, after in pairwise(arguments)]

    def expression(self, joint: str, arguments: list[str], downloads: re.Match[str] | None) -> str:
        """Return `Invoke-Expression`: a literal is read, a program's output is run."""
        if joint == "|":
            return "bash"
        if downloads:
            return f"curl {self.shown(downloads[1])} | bash"
        rest = [word for word in arguments if word.lower() != "-command"]
        text = self.literals.get(rest[0].lower(), rest[0]) if len(rest) == 1 else "$"
        if not text.startswith(('"$(', "$")):
            return powershell_as_shell(text, self.nested + 1)
        return f"eval {' '.join(self.shown(word) for word in rest)}"

    def powershell(self, arguments: list[str]) -> str:
        """Return the commands of a nested PowerShell."""
        for at, word in enumerate(arguments):
            lower = word.lower().replace("/", "-")
            if len(lower) > 1 and "-encodedcommand".startswith(lower) and lower.startswith("-e") and lower != "-ex":
                return powershell_as_shell(decoded("".join(arguments[at + 1 : at + 2])), self.nested + 1)
            if len(lower) > 1 and "-command".startswith(lower):
                return self.command(arguments[at + 1 :])
            if len(lower) > 1 and "-file".startswith(lower):
                return self.file(arguments[at + 1 :])
        rest = [
            word for at, word in enumerate(arguments) if word[:1] != "-" and arguments[at - 1 : at] not in _HOST_OPTIONS
        ]
        return self.file(rest) if rest and rest[0].lower().endswith(".ps1") else self.command(rest)

    def command(self, words: list[str]) -> str:
        """Return the commands of a PowerShell script in words; without one, or for `-`, it reads its input."""
        text = _text(words)
        return _READS_INPUT if text.strip() in ("", "-") else powershell_as_shell(text, self.nested + 1)

    def file(self, words: list[str]) -> str:
        if words[:1] in ([], ["-"]):
            return _READS_INPUT
        path = words[0].replace("\\", "/")
        return " ".join(self.shown(one) for one in (path if "/" in path else f"./{path}", *words[1:]))

    def shown(self, word: str) -> str:
        """Return a word quoted for a shell: backslashes as slashes, drives and variables by the rules' names."""
        if word.startswith('"$('):
            return word
        word = _EVERY_NAME.sub("*", _PATH_OF.sub(r"\1", word.replace("\\", "/")))
        if self.is_cmd:
            word = _LOOP_VARIABLE.sub(r"%\1%", word) if "%" in word and not _PERCENT.search(word) else word
        elif "$_" in word:
            word = word.replace("$_", "$PSItem")
        names = _PERCENT if self.is_cmd else _VARIABLE
        word = names.sub(
            lambda found: VARIABLES.get(next(filter(None, found.groups())).lower(), f"${_plain(found)}"), word
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
    """Return a script given in words: one text, perhaps of several lines, or the words of a command."""
    return ("\n" if words and any(map(str.isspace, words[0])) else " ").join(words)


def _option_of(word: str) -> list[str]:
    return [] if word.lower() in ("-argumentlist", "-args") else word.split(" ", 1) if word[:1] == "-" else [word]


def _after_condition(words: list[str]) -> list[str]:
    while words and words[0].lower() in ("not", "/i"):
        words = words[1:]
    if words and words[0].lower() in ("exist", "defined", "errorlevel"):
        return words[2:]
    return words[1:] if words and "==" in words[0] else words[3:]


def _folder_path(found: re.Match[str]) -> str:
    folder = FOLDERS.get(found[1].lower())
    return f"$env:{found[1]}" if folder is None else folder.replace("$HOME", "$env:USERPROFILE")


def _plain(found: re.Match[str]) -> str:
    return re.sub(r"\W", "_", next(filter(None, found.groups())).removeprefix("env:"))


def decoded(text: str) -> str:
    """Return the script of `-EncodedCommand`: UTF-16 in base 64; otherwise "'", which is invalid."""
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True).decode("utf-16-le")
    except (ValueError, UnicodeDecodeError):
        return "'"
