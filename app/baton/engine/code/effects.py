"""The format of a language's table: which function or method does what."""

from collections.abc import Mapping

import msgspec


class Effect(msgspec.Struct, frozen=True):
    """What a call does: a verb, the positions of the arguments that it concerns, and a word for some verbs.

    Positions count from 0; -1 is the receiver of a method (the path of a `Path`).
    """

    verb: str
    at: tuple[int, ...] = ()
    word: str = ""


READ = Effect("read")
UNREAD = Effect("unread")


class Table(msgspec.Struct, frozen=True, eq=False):
    """All that is known of a language's names.

    `names` are functions (`os.system`) and methods (`.unlink` of anything, `path.unlink` of a path). `families` are
    modules of which everything else only reads. `modules` may be imported without doing anything of their own;
    `aliases` are other names of modules.
    """

    names: dict[str, Effect]
    families: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    constants: dict[str, str] = {}
    aliases: dict[str, str] = {}

    def find(self, path: str) -> Effect | None:
        """Return what a dotted name does; None if nothing is known."""
        found = self.names.get(path)
        while found is None and "." in path:
            path = path.rpartition(".")[0]
            if path in self.families:
                return READ
        return found


def table(
    effects: Mapping[str, str],
    *,
    families: str = "",
    modules: str = "",
    constants: Mapping[str, str] | None = None,
    aliases: Mapping[str, str] | None = None,
) -> Table:
    """Build a table from `{"verb positions word": "names that do so"}`."""
    names: dict[str, Effect] = {}
    for spec, listed in effects.items():
        verb, *rest = spec.split()
        positions = tuple([int(word) for word in rest if word.lstrip("-").isdigit()])
        words = [word for word in rest if not word.lstrip("-").isdigit()]
        effect = Effect(verb, positions, " ".join(words))
        for name in listed.split():
            if names.get(name, effect) != effect:
                raise ValueError(f"`{name}` is listed twice, as {names[name].verb} and {verb}")
            names[name] = effect
    return Table(
        names,
        frozenset(families.split()),
        frozenset((families + " " + modules).split()),
        dict(constants or {}),
        dict(aliases or {}),
    )
