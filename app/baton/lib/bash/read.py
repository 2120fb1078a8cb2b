"""The entry point: read a command text into a `model.Shell`, within limits on time and size.

tree-sitter-bash recovers from errors and sometimes misreads a valid line. So a line is checked during its walk
(`misreadings`): a possible misreading is refused, or corrected and read again.
"""

import posixpath

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from baton.lib.bash import blocks, misreadings
from baton.lib.bash.expansion.scripts import Folder, Position, ScriptText, StdinSource
from baton.lib.bash.expansion.words import Word
from baton.lib.bash.misreadings import CorrectableError, UnguessableError, UnreadableError
from baton.lib.bash.model import Category, Shell, Write
from baton.lib.bash.tables.tables import CATEGORIES, ShellTables
from baton.lib.bash.walk import Walk
from baton.lib.text.prompt_files import held_lines

_LANGUAGE = Language(tree_sitter_bash.language())
_MAX_CORRECTIONS = 20
_SHORT = 400
"""Maximum bytes of a string parsed in one piece: error recovery is quadratic, which is harmless up to this size."""
_CHUNK = 128  # bytes given to the parser at a time. It rarely requests one twice, unless it recovers from errors.
_ASCII = bytes(range(128)) + b"x" * 128
"""For `bytes.translate`: every non-ASCII byte becomes a letter, as bash treats it in a word.

The scanner of tree-sitter-bash 0.25.1 looks characters up in a table of 384 and reads past its end for others, and may
crash the process (issue 337 of tree-sitter-bash).
"""
_ORDER = {category: index for index, category in enumerate(CATEGORIES)}


def read(tables: ShellTables, text: str) -> Shell:
    """Read a command text. Never raises: an unreadable text has `unparsed`."""
    try:
        return _Reading(tables).line(misreadings.prepare(text))
    except UnreadableError as error:
        return _unread(str(error))
    except RecursionError:
        return _unread("nested too deep")


def _unread(reason: str) -> Shell:
    return Shell(categories=("unknown",), unparsed=reason)


class _Reading:
    """One reading of a line, with its limits and the corrected texts so far."""

    def __init__(self, tables: ShellTables) -> None:
        self.tables = tables
        self.bytes = 0
        self.nodes = 0
        self.steps = 0
        self.corrected: dict[bytes, bytes] = {}

    def line(self, text: str) -> Shell:
        src = text.encode()
        for _ in range(_MAX_CORRECTIONS):
            walk = Walk(self.tables, self.parse)
            self.nodes = 0
            try:
                self.walk(walk, text, src)
            except CorrectableError as error:
                self.corrected[error.src] = error.corrected
            else:
                return _shell(walk)
        raise UnreadableError("too many ambiguous parts")

    def walk(self, walk: Walk, text: str, src: bytes) -> None:
        plain = blocks.plain_pipelines(text)
        if plain is not None:
            walk.pipelines(plain, Position(ScriptText(src), Folder("")))
        else:
            root, corrected = self.parse(src)
            walk.block(root.children, 0, len(corrected), Position(ScriptText(corrected), Folder("")))
        held = _held(walk, text) if "!" in text or "config" in text else None
        if held is not None:
            walk.script(
                [Word(held)], len(walk.listing.programs) - 1, Position(ScriptText(src), Folder("")).below(deeper=1)
            )
        if walk.maybe_wrappers:
            _guess(walk)

    def parse(self, src: bytes) -> tuple[Node, bytes]:
        """Parse a string, corrected as far as known; return its root and the text itself. Raise UnreadableError."""
        while src in self.corrected:
            src = self.corrected[src]
        if len(src) > misreadings.MAX_BYTES:
            raise UnreadableError("over 64 KiB")
        self.bytes += len(src)
        if self.bytes > misreadings.MAX_TOTAL_BYTES:
            raise UnreadableError("too many nested scripts")
        try:
            root = self.root(src)
        except UnreadableError:
            misreadings.rewrite(src)
            raise
        self.nodes += root.descendant_count
        if self.nodes > misreadings.MAX_NODES:
            raise UnreadableError(f"over {misreadings.MAX_NODES} parts")
        misreadings.tree(root, src)
        return root, src

    def root(self, src: bytes) -> Node:
        """Parse a string, or give up.

        Error recovery takes time quadratic in the text so far, and reads the rest repeatedly. It is not interruptible
        at the end of the text, where it happens most. Such input is dense: it takes several times the steps per byte of
        shell scripts, or reads the text several times, so it is given up before its end.
        """
        src = src.translate(_ASCII)
        # Replay, policy builds and the loop read concurrently. Python code feeds a long text to the parser in pieces,
        # and another thread may run in between. A parser entered twice crashes the process.
        parser = Parser(_LANGUAGE)
        if len(src) <= _SHORT:
            return parser.parse(src).root_node
        looks = steps = 0
        most_looks = 100 + 10 * (len(src) // _CHUNK)
        most_steps = min(60 + len(src) * 16 // 1024, misreadings.MAX_STEPS - self.steps)

        def chunk(offset: int, _point: object) -> bytes:
            nonlocal looks
            looks += 1
            return src[offset : offset + _CHUNK] if looks <= most_looks else b""  # an early end: refused below

        def stop(_offset: int, has_error: bool) -> bool:  # noqa: FBT001 (the parser calls it so)
            nonlocal steps
            steps += 1
            return has_error or steps > most_steps or looks > most_looks

        try:
            root = parser.parse(chunk, progress_callback=stop).root_node
        except ValueError as error:
            raise UnreadableError("invalid shell syntax, or too much of it") from error
        if looks > most_looks:
            raise UnreadableError("invalid shell syntax, or too much of it")
        self.steps += steps
        return root


def _shell(walk: Walk) -> Shell:
    # Rules look up the place of each.
    if max(len(walk.listing.writes), len(walk.listing.reads)) > misreadings.MAX_WRITES:
        raise UnreadableError(f"over {misreadings.MAX_WRITES} files written or read")
    programs = tuple([program for program in walk.listing.programs if program is not None])
    found: set[Category] = set()
    for program in programs:
        if not program.guess:
            found.update(program.categories)
    if walk.listing.redirects_to_file:
        found.add("file-write")
    if walk.listing.network:
        found.add("network")
    return Shell(
        programs=programs,
        writes=_writes(walk),
        categories=tuple(sorted(found, key=_ORDER.__getitem__)) if len(found) > 1 else tuple(found),
        feeds=_feeds(walk) if walk.listing.sinks or walk.listing.run_downloads else (),
        exports=tuple(walk.exports),
        reads=tuple(walk.listing.reads),
        fork_bomb=walk.listing.forks_without_end or (bool(walk.functions) and walk.calls.endless()),
    )


def _held(walk: Walk, text: str) -> str | None:
    """Return the lines for a client in skills and commands written by the line, or None."""
    targets = [posixpath.join(write.base or "", write.target) for write in walk.listing.writes]
    return held_lines(targets, text.replace("\\`", "`").replace("\\!", "!"), anywhere=True)


def _guess(walk: Walk) -> None:
    """List guesses after a line has been read; an unreadable guess does not make the line unreadable.

    Raises:
        UnguessableError: If there are too many words to guess.
    """
    counted, network, exports = walk.count, walk.listing.network, len(walk.exports)
    walk.count = 0
    try:
        walk.guess()
    except UnguessableError:
        raise
    except UnreadableError:
        walk.listing.forget(
            next(
                (index for index, program in enumerate(walk.listing.programs) if program is None),
                len(walk.listing.programs),
            )
        )
    walk.count, walk.listing.network = counted, network
    del walk.exports[exports:]


def _writes(walk: Walk) -> tuple[Write, ...]:
    # A function runs at its call, not at its definition: after any `cd` its folder is unknown.
    if walk.moved and walk.in_functions:
        return tuple(
            Write(target=write.target, base=None, by=write.by) if index in walk.in_functions else write
            for index, write in enumerate(walk.listing.writes)
        )
    return tuple(walk.listing.writes)


def _feeds(walk: Walk) -> tuple[tuple[int, int], ...]:
    pairs: dict[tuple[int, int], None] = {(index, index): None for index in walk.listing.run_downloads}
    for sink, source in walk.listing.sinks:
        pairs |= {(index, sink): None for index in _feeding(walk, source) if index != sink}
        if len(pairs) > misreadings.MAX_FEEDS:
            raise UnreadableError(f"over {misreadings.MAX_FEEDS} pipes into scripts")
    return tuple(pairs)


def _feeding(walk: Walk, source: StdinSource) -> dict[int, None]:
    """Return the programs feeding an input: through pipes, files, variables, and their own input."""
    found: dict[int, None] = {}
    waiting, seen = [source], set[int]()
    while waiting and len(found) <= misreadings.MAX_FEEDS:
        here = waiting.pop()
        if id(here) in seen:
            continue
        seen.add(id(here))
        waiting += here.sources()
        for span in here.spans:
            for index in range(span.first, min(span.last, span.first + misreadings.MAX_FEEDS + 1)):
                found[index] = None
                if index in walk.listing.printed_files:
                    waiting.append(walk.listing.printed_files[index])
    return found
