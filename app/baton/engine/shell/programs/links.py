"""Follow links and mounts that a line makes itself: `ln -s / x; rm -rf x/*` removes what is in `/`."""

import posixpath
from collections.abc import Iterable

from baton.engine.shell.model import Write

_ABSOLUTE = frozenset("/~$")
_MOST_LINKS = 50
_MOST_FOLDERS = 64


class Links:
    """The links and mounts that a line has made so far: where each lies, and where it leads."""

    __slots__ = ("_mounts", "_targets")

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._mounts: set[str] = set()

    def mount(self, folders: Iterable[tuple[str, str]], base: str | None) -> None:
        """Take in folders that a container shows under other paths, as pairs of the folder and that path."""
        for folder, path in folders:
            if len(self._targets) < _MOST_LINKS and (base is not None or folder[:1] in _ABSOLUTE):
                place = _whole("/", path)
                self._targets[place] = _whole(base or "", folder)
                self._mounts.add(place)

    def note(self, write: Write) -> None:
        """Take in a link that a program makes, where both its ends are known."""
        if write.lands != "link" or len(write.sources) != 1 or write.base is None or len(self._targets) >= _MOST_LINKS:
            return
        place = _whole(write.base, write.target)
        self._targets[place] = _whole(posixpath.dirname(place), write.sources[0])
        # Where the target is a folder, the link lies in it.
        self._targets[posixpath.join(place, posixpath.basename(write.sources[0].rstrip("/")))] = self._targets[place]

    def followed(self, write: Write) -> str | None:
        """Return the path that a write really changes, if it leads through a link; None if it does not."""
        if not self._targets or write.base is None:
            return None
        names = _whole(write.base, write.target).split("/")[:_MOST_FOLDERS]
        for count in range(len(names), 0, -1):
            place = "/".join(names[:count])
            leads_to = self._targets.get(place)
            # To remove a link leaves what it leads to; to write to it does not. What is mounted is removed.
            if leads_to is not None and (
                count < len(names) or write.reach != "tree" or write.target.endswith("/") or place in self._mounts
            ):
                return posixpath.join(leads_to, *names[count:])
        return None


def _whole(base: str, path: str) -> str:
    return posixpath.normpath(path if path[:1] in _ABSOLUTE else posixpath.join(base, path))
