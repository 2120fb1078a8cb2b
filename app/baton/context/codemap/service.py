"""Code maps: one per developer and project, pushed from the developer's machine a few files at a time."""

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from baton.context.codemap import store
from baton.context.codemap.store import CodeMapSummary
from baton.kernel.base.errors import Invalid, NotFound
from baton.kernel.base.sql import Database, StoreErrors
from baton.lib.text.masking import mask
from baton.lib.text.quoting import first_odd, one_line
from baton.people.users import require
from baton.rules.call.call import Principal
from baton.shared.code_map import MOST_FILES, MOST_IN_ALL, Outline

MOST_MAPS = 50
"""Maximum projects with a map of one developer."""
_AWAY = "code maps cannot be read or stored now; try again"
_LEAVES = re.compile(r"^(?:/|[A-Za-z]:|\.\.(?:/|$))|/\.\.(?:/|$)")
"""Paths outside the project."""


class CodeMaps:
    """Stores code maps. Every caller sees only their own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put_files(self, principal: Principal, project: str, outlines: Sequence[Outline]) -> None:
        """Store outlines, replacing those of the same files.

        Raises:
            Invalid: If an outline cannot be stored, or the map would grow too large.
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        require(principal, "codemap.write")
        _check_project(project)
        checked = {one.path: _checked(one) for one in outlines}
        async with self._database.transaction(_AWAY) as connection:
            is_new = await store.touch(connection, principal, project, datetime.now(UTC)) == 1
            if is_new and await store.count(connection, principal) > MOST_MAPS:
                raise Invalid("project", f"is one too many: {MOST_MAPS} code maps are kept; drop one first")
            known = await store.digests(connection, principal, project)
            sizes = {path: size for path, (_, size) in known.items()}
            sizes |= {path: len(one.symbols) for path, one in checked.items()}
            if len(sizes) > MOST_FILES:
                raise Invalid("outlines", f"would make {len(sizes)} files; a code map has at most {MOST_FILES}")
            if sum(sizes.values()) > MOST_IN_ALL:
                raise Invalid("outlines", f"would make {sum(sizes.values())} symbols; at most {MOST_IN_ALL} are kept")
            await store.put_outlines(connection, principal, project, list(checked.values()))

    async def settle(self, principal: Principal, project: str, files: Mapping[str, str]) -> list[str]:
        """Remove unlisted files, and return those with a missing or outdated outline.

        Args:
            principal: The map's owner.
            project: The project's name.
            files: The digest of each file's outline, by path: all files of the project.

        Raises:
            StoreUnavailable: If the database is unavailable; nothing was changed.
        """
        require(principal, "codemap.write")
        _check_project(project)
        async with self._database.transaction(_AWAY) as connection:
            known = await store.digests(connection, principal, project)
            gone = known.keys() - files.keys()
            if gone:
                await store.touch(connection, principal, project, datetime.now(UTC))
                await store.remove_files(connection, principal, project, gone)
        return sorted(path for path, digest in files.items() if known.get(path, ("", 0))[0] != digest)

    async def list_maps(self, principal: Principal) -> list[CodeMapSummary]:
        """List one's own code maps, the newest first. Raise StoreUnavailable."""
        require(principal, "codemap.read")
        with StoreErrors(_AWAY):
            return await store.summaries(self._database, principal)

    async def drop(self, principal: Principal, project: str) -> None:
        """Remove a code map. Raise NotFound, StoreUnavailable."""
        require(principal, "codemap.write")
        async with self._database.transaction(_AWAY) as connection:
            found = await store.remove(connection, principal, project)
        if not found:
            raise NotFound(f"you have no code map of `{project}`; `baton codemap show` lists yours")


def _check_project(project: str) -> None:
    if not project.strip():
        raise Invalid("project", "is missing; send `Baton-Project`, or name it")


def _checked(one: Outline) -> Outline:
    """Return an outline with storable and displayable names.

    Raises:
        Invalid: If its path leaves the project, or a name is not displayable.
    """
    if _LEAVES.search(one.path):
        raise Invalid("outlines", f"names the path `{one.path[:100]}`, outside the project")
    names = [one.path, one.language or "-", *one.mentions]
    names += [name for symbol in one.symbols for name in (symbol.name, symbol.within) if name]
    odd = first_odd(names)
    if odd is not None:
        raise Invalid(
            "outlines",
            f"name `{one_line(mask(odd), 100)}` in `{one_line(mask(one.path), 100)}`; only visible names without secrets",
        )
    return one
