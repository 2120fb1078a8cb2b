"""The result of reading a shell line: facts for rules and for people."""

from typing import Literal

import msgspec

Category = Literal[
    "read-only",
    "test-or-build",
    "package-install",
    "file-write",
    "vcs-read",
    "vcs-write",
    "network",
    "destructive",
    "unknown",
]

Input = Literal["", "pipe", "file", "text", "arguments", "connection"]


Reach = Literal["file", "into", "below", "tree"]
"""How far a write reaches: the file itself, something in that folder, something anywhere below it, or all of it."""


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One program that the line would run, at whatever nesting level.

    `argv` has quotes removed and expansions as written. `name` is the base name of `argv[0]`, with a table's
    `aka` resolved (`gsed` → `sed`); "" where the program's name is an expansion. `subcommand` holds the matched
    subcommand words (`push`, `pr merge`). `flags` are the options: as written without their values, and `-rf` also as
    `-r` and `-f`. `operands` are the other arguments after the subcommand. `assigns` are the `NAME=value` words
    in front of the program or given to `env`. `input` tells what it reads as standard input, or as arguments where
    `xargs` starts it; "" is the session's own. `wraps` is True if it runs another program, which is next in the list.
    `depth` is 0 in the line itself and grows with each wrapper, substitution or nested script. `guess` is True for
    what follows a program that no table knows, which may be a wrapper (`tool rm -rf /`); guesses end the list. `folder`
    is the one that it runs in, as `base` of a `Write`. `meant` is True for a command that is listed once more with the
    values of its variables. `unnamed` is True if nobody knows which program it is, and it has arguments (`$x -rf /`). `reads_files` is True if code that it
    runs reads files by name, or looks for some.
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


SOMEWHERE = "…"
"""The target of a write whose path comes from standard input (`xargs rm`) and is in no word of the line."""


Lands = Literal["link", "tree", "file"]


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """A path that the line would create, change or remove.

    `target` is as written, quotes removed. `base` is the folder that a relative target starts from: "" for the
    session's own folder, a path after a literal `cd`, None if it is not known. After a `cd` that may have failed there
    is one write for each folder. `by` is the index of the program in `Shell.programs`, or -1 for a redirection without
    a program.

    `reach` is None where it follows from the program: a tree for one that is destructive, otherwise a file. The target of a
    copy may be a folder, in which its `sources` land by their names, each as a `file`, a `tree`, or a `link` to it;
    with `replaces` it is the copy itself.
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

    `programs` are outermost first: a wrapper, then what it runs; a program, then what its substitutions run.
    `feeds` are pairs (source, sink) of indexes into `programs`: the sink interprets the source's output as a script
    (`curl … | sh`, `bash <(curl …)`, `eval "$(curl …)"`). A program whose code executes what it downloads, or gives a
    connection a shell, feeds itself. `exports` are `NAME=value` words that stand alone or follow `export`. `reads` are the
    files of `< file` and those that code reads, as writes. `fork_bomb` is True if a function or a loop in code starts itself without end. `unparsed` is "" for a line
    that was read whole, otherwise the reason why not; the other fields are then empty or incomplete. `categories` are
    those of the programs that are no guesses.
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
        """Return the line without the guesses in it; itself if it has none."""
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
