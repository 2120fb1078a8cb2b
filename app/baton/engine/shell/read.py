"""The entry point: read a command text into a `model.Shell`, within limits on time and size.

The tree comes from tree-sitter-bash, which recovers from errors and sometimes reads a valid line wrongly. A line is
therefore checked while it is walked (`misreadings`): what may have been read wrongly is refused, or mended and read anew.
"""

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from baton.engine.shell import misreadings
from baton.engine.shell.expansion.scripts import Folder, Position, ScriptText
from baton.engine.shell.misreadings import MendError, UnguessableError, UnreadableError
from baton.engine.shell.model import Category, Shell, Write
from baton.engine.shell.syntax import plain_lines
from baton.engine.shell.syntax.walk import Walk
from baton.engine.shell.tables.tables import CATEGORIES, ShellTables

_LANGUAGE = Language(tree_sitter_bash.language())
_MAX_MENDS = 20
_SHORT = 400
"""Bytes up to which a text is parsed in one piece: error recovery is quadratic, which does not matter here yet."""
_CHUNK = 128
"""Bytes that the parser gets at a time. It asks for few of them twice, unless it recovers from errors."""
_ASCII = bytes(range(128)) + b"x" * 128
"""For `bytes.translate`: every byte that is not ASCII becomes a letter, as bash sees it in a word.

The scanner of tree-sitter-bash 0.25.1 looks characters up in a table of 384 and reads past its end for others, which
may kill the process (issue 337 of tree-sitter-bash)."""
_ORDER = {category: index for index, category in enumerate(CATEGORIES)}


def read(tables: ShellTables, text: str) -> Shell:
    """Read a command text. Never raises: a text that cannot be read whole has `unparsed`."""
    try:
        return _Reading(tables).line(misreadings.prepare(text))
    except UnreadableError as error:
        return _unread(str(error))
    except RecursionError:
        return _unread("nested too deep")


def _unread(reason: str) -> Shell:
    return Shell(categories=("unknown",), unparsed=reason)


class _Reading:
    """One reading of a line, with its limits and the mended texts so far."""

    def __init__(self, tables: ShellTables) -> None:
        self.tables = tables
        self.bytes = 0
        self.nodes = 0
        self.steps = 0
        self.mended: dict[bytes, bytes] = {}

    def line(self, text: str) -> Shell:
        """Walk the line; when a text must be mended, remember how and walk from the start."""
        src = text.encode()
        for _ in range(_MAX_MENDS):
            walk = Walk(self.tables, self.parse)
            self.nodes = 0
            try:
                self.walk(walk, text, src)
            except MendError as error:
                self.mended[error.src] = error.mended
            else:
                return _shell(walk)
        raise UnreadableError("too much that the parser reads wrongly")

    def walk(self, walk: Walk, text: str, src: bytes) -> None:
        """Walk the line once."""
        plain = plain_lines.pipelines(text)
        if plain is not None:
            walk.pipelines(plain, Position(ScriptText(src), Folder("")))
        else:
            root, mended = self.parse(src)
            walk.block(root.children, 0, len(mended), Position(ScriptText(mended), Folder("")))
        if walk.maybe_wrappers:
            _guess(walk)

    def parse(self, src: bytes) -> tuple[Node, bytes]:
        """Parse a text, mended as far as is known; return its root and the text itself.

        Raises:
            UnreadableError: If it is not valid, too long or too deep.
        """
        while src in self.mended:
            src = self.mended[src]
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
        """Parse a text, or give up.

        Error recovery takes time quadratic in what was read so far, and reads the rest again and again. It cannot be
        stopped at the end of the text, where most of it happens. What leads there is dense: it takes several times the
        steps for each byte that shell scripts take, or reads the text several times, and is given up before its end.
        """
        src = src.translate(_ASCII)
        # Replay, policy builds and the loop read at the same time. A long text is given to the parser in pieces by
        # Python code, where another thread may go on, and a parser that is entered twice kills the process.
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
            raise UnreadableError("not valid shell syntax, or too much of it") from error
        if looks > most_looks:
            raise UnreadableError("not valid shell syntax, or too much of it")
        self.steps += steps
        return root


def _shell(walk: Walk) -> Shell:
    # Rules ask for the place of each.
    if max(len(walk.listing.writes), len(walk.listing.reads)) > misreadings.MAX_WRITES:
        raise UnreadableError(f"over {misreadings.MAX_WRITES} files that are written, or read")
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


def _guess(walk: Walk) -> None:
    """List guesses at the end of a line that has been read; what is no command does not make the line unreadable.

    Raises:
        UnguessableError: If there is more to guess than is tried.
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
    # A function runs where it is called, not where it is defined: after any `cd` its folder is unknown.
    if walk.moved and walk.in_functions:
        return tuple(
            Write(target=write.target, base=None, by=write.by) if index in walk.in_functions else write
            for index, write in enumerate(walk.listing.writes)
        )
    return tuple(walk.listing.writes)


def _feeds(walk: Walk) -> tuple[tuple[int, int], ...]:
    pairs: dict[tuple[int, int], None] = {(index, index): None for index in walk.listing.run_downloads}
    for sink, source in walk.listing.sinks:
        for index in source.programs(misreadings.MAX_FEEDS):
            if index != sink:
                pairs[index, sink] = None
            if index in walk.listing.printed_files:
                pairs |= {
                    (writer, sink): None for writer in walk.listing.printed_files[index].programs(misreadings.MAX_FEEDS)
                }
        if len(pairs) > misreadings.MAX_FEEDS:
            raise UnreadableError(f"over {misreadings.MAX_FEEDS} pipes into scripts")
    return tuple(pairs)
