"""How far a write reaches, and where what is copied, moved or linked comes to lie."""

from collections.abc import Iterator

from baton.engine.shell.model import Program, Reach, Write

_SYMBOLIC = ("-s", "--symbolic")


def reach_of(program: Program | None, write: Write) -> Reach:
    """Return how far a write reaches; where the shell tables do not say it, what destroys takes a whole tree."""
    if write.reach is not None:
        return write.reach
    return "tree" if program is not None and "destructive" in program.categories else "file"


def _starts_at_link(program: Program, source: str) -> bool:
    """Return whether the path in a link starts at the link's own folder: a relative one that is written as it stands."""
    flags = program.flags
    return not (
        source.startswith(("/", "~", "$")) or flags.isdisjoint(_SYMBOLIC) or not flags.isdisjoint(("-r", "--relative"))
    )


def landings(write: Write, program: Program | None = None) -> Iterator[tuple[str, Reach]]:
    """Yield what a copy touches besides its target: the places of the copies, and what links would lead to."""
    if write.lands is None:
        return
    folder = write.target.rstrip("/")
    for source in write.sources:
        last = source.rstrip("/").rpartition("/")[2]
        if write.lands == "link" and program is not None and _starts_at_link(program, source):
            # Where the target is a folder, the link lies in it.
            yield f"{folder.rpartition('/')[0] or '.'}/{source}", "tree"
            yield f"{folder}/{source}", "tree"
        elif write.lands == "link":
            yield source, "tree"
        # `cp -r x/. y` copies what is in `x`; on macOS, and with rsync everywhere, so does `x/`.
        contents = last in ("", ".", "..") or source.endswith("/")
        if write.lands == "tree" and (contents or write.replaces):
            yield write.target, "below"
        else:
            yield f"{folder}/{last}", "tree" if write.lands == "tree" else "file"
