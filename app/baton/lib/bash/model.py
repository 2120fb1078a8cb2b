"""The result of reading a shell line: facts for rules and for people."""

from typing import Literal

import msgspec

Category = Literal[
    "read-only", "test-or-build", "package-install", "file-write", "vcs-read", "vcs-write", "network", "destructive",
    "other-process", "unknown",
]  # fmt: skip
"""Effect of a program. `other-process`: it controls a process other than its own."""

Input = Literal["", "pipe", "file", "text", "arguments", "connection"]


Reach = Literal["file", "into", "below", "tree", "visible"]
"""How far a write reaches: the file itself, something in that folder, something anywhere below it, or all of it.

`visible` is how far a search reads that leaves hidden files out."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One program run by the line, at any nesting level.

    `argv` has quotes removed and expansions as written. `name` is the base name of `argv[0]`, with a table's `aka`
    resolved (`gsed` → `sed`); "" if it is an expansion. `subcommand` are the matched subcommand words (`push`,
    `pr merge`). `flags` are the options: as written without their values, and `-rf` also as `-r` and `-f`. `operands`
    are the other arguments after the subcommand. `assigns` are `NAME=value` words before the program or given to `env`.
    `input` is the kind of standard input, or of arguments from `xargs`; "" is the session's own. `wraps`: it runs
    another program, the next in the list. `depth` is 0 in the line itself and grows with each wrapper, substitution or
    nested script. `guess`: it follows an unknown program and may be its command (`tool rm -rf /`); guesses end the
    list. `folder` is its working folder, as `base` of a `Write`. `meant`: the command is listed again with the values
    of its variables. `unnamed`: the program is unknown and has arguments (`$x -rf /`). `reads_files`: its code reads
    files by name, or searches for some. `quoted` are the arguments with quoted wildcards.
    """

    argv: tuple[str, ...]
    name: str
    subcommand: str = ""
    flags: frozenset[str] = frozenset()
    operands: tuple[str, ...] = ()
    assigns: tuple[str, ...] = ()
    categories: tuple[Category, ...] = ()
    input: Input = ""
    wraps: bool = False
    depth: int = 0
    guess: bool = False
    folder: str | None = ""
    meant: bool = False
    unnamed: bool = False
    reads_files: bool = False
    quoted: frozenset[str] = frozenset()


SOMEWHERE = "…"  # the target of a write with a path from standard input (`xargs rm`), so no word of the line has it


Lands = Literal["link", "tree", "file"]


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """A path created, changed or removed by the line.

    `target` is as written, quotes removed. `base` is the folder of a relative target: "" for the session's own folder,
    a path after a literal `cd`, None if unknown. After a `cd` that may have failed, there is one write per folder. `by`
    is the index of the program in `Shell.programs`, or -1 for a redirection without a program.

    `reach` is None if it follows from the program: a tree for a destructive one, otherwise a file. The target of a copy
    may be a folder, which receives its `sources` by name, each as a `file`, a `tree`, or a `link` to it; with
    `replaces` it is the copy itself.
    """

    target: str
    base: str | None = ""
    by: int = -1
    reach: Reach | None = None
    lands: Lands | None = None
    sources: tuple[str, ...] = ()
    replaces: bool = False


class Shell(msgspec.Struct, frozen=True, kw_only=True):
    """A whole line, read.

    `programs` are outermost first: a wrapper, then its command; a program, then its substitutions. `feeds` are pairs
    (source, sink) of indexes into `programs`: the sink interprets the source's output as a script (`curl … | sh`,
    `bash <(curl …)`, `eval "$(curl …)"`). A program feeds itself if its code executes a download, or gives a connection
    a shell. `exports` are `NAME=value` words alone or after `export`. `reads` are the files of `< file` and of code, as
    writes. `fork_bomb`: a function or a loop in code starts itself endlessly. `unparsed` is "" for a line read whole,
    otherwise the reason; the other fields are then empty or incomplete. `categories` are those of the programs except
    guesses.
    """

    programs: tuple[Program, ...] = ()
    writes: tuple[Write, ...] = ()
    categories: tuple[Category, ...] = ()
    feeds: tuple[tuple[int, int], ...] = ()
    exports: tuple[str, ...] = ()
    reads: tuple[Write, ...] = ()
    fork_bomb: bool = False
    unparsed: str = ""

    def without_guesses(self) -> "Shell":
        """Return the line without its guesses; itself if it has none."""
        count = len(self.programs)
        while count and self.programs[count - 1].guess:
            count -= 1
        if count == len(self.programs):
            return self
        return msgspec.structs.replace(
            self,
            programs=self.programs[:count],
            writes=tuple([write for write in self.writes if write.by < count]),
            feeds=tuple([pair for pair in self.feeds if max(pair) < count]),
        )
