"""The state of an evaluation: what was found so far, and the arguments of a call."""

import posixpath
import shlex
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import msgspec

from baton.engine.code import values
from baton.engine.code.effects import Effect, Table
from baton.engine.code.model import UNKNOWN, Code, FileWrite, Run, is_known
from baton.engine.code.tree import Function, Node
from baton.engine.code.values import ANY, TAINTED, Ref, Texts, Thing, Value, texts

MAX_FOUND = 256
"""Commands, and paths, that one text may name."""
ALL_ARGUMENTS = "@_"
"""Perl's list of a function's arguments, which has no other parameters."""
DEEPEST = 6
"""Calls of the text's own functions within each other that are followed, and texts that are executed by texts."""
_SHELLS = frozenset(["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "cmd", "cmd.exe", "powershell", "pwsh"])
_RUNS_ARGUMENTS = _SHELLS | {
    "python", "python3", "pypy3", "node", "deno", "bun", "perl", "ruby", "php", "lua", "eval", "ssh", "xargs", "osascript",
}  # fmt: skip
"""Programs that may execute one of their arguments."""
_OPTIONS = frozenset(
    ["cwd", "chdir", "shell", "check", "text", "capture_output", "encoding", "env", "timeout", "exist_ok", "parents",
     "ignore_errors", "newline", "errors", "recursive", "force", "stdout", "stderr", "stdin", "stdio", "input", "stdin_data",
     "universal_newlines", "missing_ok", "dirs_exist_ok", "flag", "verbose", "noop", "secure", "buffering"]
)  # fmt: skip


class OverBudgetError(Exception):
    """A text has more parts than are looked at."""


class Arguments(msgspec.Struct, frozen=True):
    """The arguments of a call, and what the table says of it; `receiver` is what a method belongs to."""

    effect: Effect
    args: list[Value]
    named: dict[str, Value]
    receiver: Value = None

    def at(self, at: int, *names: str) -> Value:
        """Return an argument by its position, or by one of its names; -1 is the receiver."""
        if at < 0:
            return self.receiver
        for name in names:
            if name in self.named:
                return self.named[name]
        if at < len(self.args):
            return self.args[at]
        rest = [value for name, value in self.named.items() if name not in _OPTIONS]
        return rest[at - len(self.args)] if at - len(self.args) < len(rest) else None

    def first(self) -> Value:
        """Return the first argument that the table names."""
        return self.at(self.effect.at[0] if self.effect.at else 0)


class State(ABC):
    """What was found in a text so far. `reread` brings a text that it executes as code to the common form."""

    def __init__(self, table: Table, reread: Callable[[str], Sequence[Node]]) -> None:
        self.table = table
        self.reread = reread
        self.scope: dict[str, Value] = {}
        self.writes: dict[FileWrite, None] = {}
        self.reads: dict[str, None] = {}
        self.runs: dict[Run, None] = {}
        self.network = False
        self.runs_network = False
        self.runs_input = False
        self.unread = ""
        self.socket = False
        self.terminal = False
        self.shells = False
        self.fed = False
        self.files: set[str] = set()
        self.steps = 0
        self.depth = 0
        self.certain = True
        self.folder: Texts = ("",)
        self.stars: list[str] = []
        self.pending: dict[int, Function] = {}
        self.returned: list[Value] = []

    def code(self) -> Code:
        """Return what was found."""
        return Code(
            writes=tuple(self.writes),
            reads=tuple(self.reads),
            runs=tuple(self.runs),
            network=self.network,
            runs_network=self.runs_network
            or (self.fed and self.shells)
            or (self.socket and (self.terminal or self.shells)),
            runs_input=self.runs_input,
            unread=self.unread,
        )

    def cannot_tell(self, why: str) -> None:
        """Note that a part cannot be told."""
        self.unread = self.unread or why

    def elements(self, value: Value) -> list[Value]:
        """Return what a loop over a value goes through."""
        if isinstance(value, list) and value and len(value) <= values.MOST:
            return value
        if isinstance(value, dict):
            return [(key,) for key in value]
        return [value if isinstance(value, Ref) or (isinstance(value, Thing) and value.kind in TAINTED) else None]

    def write(self, paths: Texts, *, removes: bool = False) -> None:
        """Note paths that are written."""
        for path in paths:
            for place in self.folder:
                where = _path(path, place)
                self.writes[FileWrite(where, removes)] = None
                if not removes and is_known(where):
                    named = posixpath.normpath(where)
                    self.files |= {named, posixpath.splitext(named)[0]}  # imports leave the ending out
        if len(self.writes) > MAX_FOUND:
            raise OverBudgetError

    def read(self, paths: Texts) -> None:
        """Note paths that are read; `0` is standard input."""
        for path in paths:
            if path and path != "0" and not path.startswith(("/dev/stdin", "/dev/fd/", "/proc/self/fd/", "php://")):
                self.reads.update({_path(path, place): None for place in self.folder})
        if len(self.reads) > MAX_FOUND:
            raise OverBudgetError

    def is_downloaded(self, paths: Texts) -> bool:
        """Return whether a file may hold a download: this text has written it, and uses the network."""
        if not (self.network and self.files):
            return False
        return any(posixpath.normpath(_path(path, place)) in self.files for path in paths for place in self.folder)

    def run(self, run: Run) -> None:
        """Note a command that is run."""
        self.runs[run] = None
        if len(self.runs) > MAX_FOUND:
            raise OverBudgetError
        words = run.words or tuple(run.script.split()[:3])
        if words and words[0].rpartition("/")[2] in _SHELLS and words[1:2] != ("-c",):
            self.shells = True

    def folders(self, named: dict[str, Value]) -> Texts:
        """Return the folder of a command (`cwd=`), or the folders if it may be several."""
        given = named.get("cwd") or named.get("chdir")
        if given is None:
            return self.folder
        return values.join_paths([self.folder, texts(given)])

    def script(self, value: Value, named: dict[str, Value]) -> None:
        """Note shell text that is run."""
        if isinstance(value, Thing) and value.kind in TAINTED:
            self.tainted(value)
            return
        for text in texts(value):
            if not is_known(text[:1]) and text.strip().count(UNKNOWN[0]) == 2 and text.endswith(UNKNOWN[0]):  # noqa: PLR2004
                self.cannot_tell("a command is run that is not known")
                continue
            for folder in self.folders(named):
                self.run(Run(script=text, folder=folder, fed=_is_fed(named)))

    def argv(self, parts: Sequence[Value], named: dict[str, Value]) -> None:
        """Note an argument list that is run."""
        flat: list[Value] = []
        for part in parts:
            flat += part if isinstance(part, list) else [part]
        for at, part in enumerate(flat):
            if isinstance(part, Thing) and part.kind in TAINTED:
                before = {text.rpartition("/")[2] for one in flat[:at] for text in texts(one)}
                if not at or not before.isdisjoint(_RUNS_ARGUMENTS):
                    self.tainted(part)
        program = texts(flat[0]) if flat else ANY
        if program == ANY:
            self.cannot_tell("a program is run that is not known")
            if len(flat) < 2:  # noqa: PLR2004 (the program alone)
                return
        words = [texts(part) for part in flat]
        # One command for each value of a word that differs; all combinations would be many.
        widest = max(len(word) for word in words)
        found = [tuple([word[min(at, len(word) - 1)] for word in words]) for at in range(widest)]
        given = named.get("input")
        for argv in found:
            for folder in self.folders(named):
                if given is not None and all(is_known(text) for text in texts(given)):
                    fed = " | ".join([f"printf %s {shlex.quote(texts(given)[0])}", shlex.join(argv)])
                    self.run(Run(script=fed, folder=folder))
                else:
                    self.run(Run(words=argv, folder=folder, fed=_is_fed(named)))

    def tainted(self, thing: Thing) -> None:
        """Note that what comes from the network, or from standard input, is executed."""
        if thing.kind == "stdin":
            self.runs_input = True
        else:
            self.runs_network = True
        self.cannot_tell("what is executed comes from elsewhere")

    @abstractmethod
    def body(self, parts: Sequence[Node]) -> Value:
        """Evaluate statements."""

    @abstractmethod
    def apply(self, function: Function, args: Sequence[Value]) -> Value:
        """Evaluate a function of the text."""

    @abstractmethod
    def call_value(self, of: Value, args: list[Value], named: dict[str, Value]) -> Value:
        """Call a value."""

    @abstractmethod
    def callbacks(self, args: Sequence[Value], named: dict[str, Value], receiver: Value) -> Value:
        """Call the functions among arguments, with what the receiver holds."""

    @abstractmethod
    def member_of(self, of: Value, name: str) -> Value:
        """Return an attribute of a value."""

    @abstractmethod
    def import_(self, path: str) -> Ref:
        """Note an import."""


def _is_fed(named: dict[str, Value]) -> bool:
    given = named.get("input", named.get("stdin_data"))
    return isinstance(given, Thing) and given.kind == "download"


def _path(path: str, folder: str) -> str:
    """Return a path as a shell would write it; `~` means nothing to a program."""
    if path.startswith("~"):
        path = f"./{path}"
    if folder and not path.startswith("/"):
        return values.join_paths([(folder,), (path,)])[0]
    return path
