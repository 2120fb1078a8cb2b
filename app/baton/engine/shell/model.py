"""What reading a shell line yields: facts for rules and for people. It holds no text of the line as a whole."""

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


class Program(msgspec.Struct, frozen=True, kw_only=True):
    """One program that the line would run, at whatever nesting level.

    `argv` has quotes removed and expansions as written. `name` is the base name of `argv[0]`, with a table's
    `aka` resolved (`gsed` → `sed`); "" where the program's name is an expansion. `subcommand` holds the matched
    subcommand words (`push`, `pr merge`). `flags` are the options: as written without their values, and `-rf` also as
    `-r` and `-f`. `operands` are the other arguments after the subcommand. `assigns` are the `NAME=value` words
    ahead of the program or given to `env`. `wraps` tells that it runs another program that stands next in the list.
    `depth` is 0 for what stands in the line itself and grows with each wrapper, substitution or nested script.
    """

    argv: tuple[str, ...]
    name: str
    subcommand: str = ""
    flags: frozenset[str] = frozenset()
    operands: tuple[str, ...] = ()
    assigns: tuple[str, ...] = ()
    categories: tuple[Category, ...] = ()
    wraps: bool = False
    depth: int = 0


SOMEWHERE = "…"
"""The target of a write whose path comes from standard input (`xargs rm`) and is in no word of the line."""


class Write(msgspec.Struct, frozen=True, kw_only=True):
    """A path that the line would create, change or remove.

    `target` is as written, quotes removed. `base` is the folder that a relative target starts from: "" for the
    session's own folder, a path after a literal `cd`, None where it cannot be told. `by` is the index of the program
    in `Shell.programs`, or -1 for a redirection that belongs to none.
    """

    target: str
    base: str | None = ""
    by: int = -1


class Shell(msgspec.Struct, frozen=True, kw_only=True):
    """A whole line, read.

    `programs` are outermost first: a wrapper, then what it runs; a program, then what its substitutions run.
    `feeds` are pairs (source, sink) of indexes into `programs`: the sink interprets the source's output as a script
    (`curl … | sh`, `bash <(curl …)`, `eval "$(curl …)"`). `exports` are `NAME=value` words that stand alone or follow
    `export`. `fork_bomb` tells of a function that starts itself without end. `unparsed` is "" for a line that was
    read whole, otherwise why it was not; the rest is then what could be told, never all.
    """

    programs: tuple[Program, ...] = ()
    writes: tuple[Write, ...] = ()
    categories: tuple[Category, ...] = ()
    feeds: tuple[tuple[int, int], ...] = ()
    exports: tuple[str, ...] = ()
    fork_bomb: bool = False
    unparsed: str = ""
