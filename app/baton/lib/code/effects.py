"""The format of a language's table: the effects of functions and methods."""

import tomllib
from collections.abc import Mapping
from importlib.resources import files

import msgspec


class Effect(msgspec.Struct, frozen=True):
    """A call's effect: a verb, the positions of its arguments, and a word for some verbs.

    Positions count from 0; -1 is the receiver of a method (the path of a `Path`).
    """

    verb: str
    at: tuple[int, ...] = ()
    word: str = ""


READ = Effect("read")


class Table(msgspec.Struct, frozen=True, eq=False):
    """The known names of a language.

    `names` are functions (`os.system`) and methods (`.unlink` of anything, `path.unlink` of a path). `families` are
    modules whose other members only read. `modules` have no effect when imported; `aliases` are other names of modules.
    """

    names: dict[str, Effect]
    families: frozenset[str] = frozenset()
    modules: frozenset[str] = frozenset()
    constants: dict[str, str] = {}
    aliases: dict[str, str] = {}

    def effect(self, path: str) -> Effect | None:
        """Return the effect of a dotted name; None if unknown."""
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
    """Build a table from `{"verb positions word": "names with this effect"}`."""
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


def read_table(language: str) -> Table:
    """Read the table of a language from its TOML file: the arguments of `table`."""
    return table(**tomllib.loads(files("baton.lib.code.languages").joinpath(f"{language}.toml").read_text("utf-8")))
