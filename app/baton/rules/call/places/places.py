"""Classify a path (in the project, in scratch, at the root …) from its text alone, without reading the disk."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import chain

import msgspec

from baton.lib.bash.model import Reach
from baton.rules.call.places.path_groups import AlikeNames, PathGroups, is_plain
from baton.rules.call.places.protected import Protected, TouchedPath

Place = str  # the name of a place: one of `BUILT_IN`, or of a group of paths in config.yaml
BUILT_IN: tuple[Place, ...] = (
    "work", "scratch", "outside", "root", "root_if_unset", "home", "device", "baton_home", "hook_settings", "startup_files",
)  # fmt: skip
GROUNDS = frozenset[Place](("work", "scratch", "outside", "root", "root_if_unset", "home", "device"))
"""The built-in places by a path's location, not by a list of protected ones."""

_EVERYTHING = r"(?:/[.?]?\*+|/\.?\[[^\]/]*\]\*|/\{(?:[.*,?]|\[[^\]/]*\])+\}\*?)*"
_HOMES = r"(?:/\w+)?/(?:home|Users)/[^/]+|/root|/c/Users/[^/]+"
_HOME = re.compile(rf"(?:{_HOMES})(?=/|\Z)")
_HOME_ITSELF = re.compile(rf"(?:~[^/]*|{_HOMES}|/home|/Users|/c/Users){_EVERYTHING}")
_SYSTEM = (
    "bin|boot|dev|etc|lib(?:32|64)?|mnt|media|opt|private|proc|run|sbin|srv|sys|usr|var"
    "|System|Library|Applications|Volumes|c(?:/Windows)?"
)
_ROOT_ITSELF = re.compile(rf"/|{_EVERYTHING}|/(?:{_SYSTEM}){_EVERYTHING}")
_TEMPORARY = ("/tmp", "/var/tmp", "/dev/shm", "/var/folders", "/run/user")  # noqa: S108
_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|u?random|tty.*|cu\.[^/]*|ptmx|console|kmsg|std(?:in|out|err)|video\d*"
    r"|(?:pts|fd|shm|tcp|udp|input|snd|dri|net|usb|bus|vfio|hidraw\d*|i2c-\d*|spidev.*|gpiochip\d*)(?:/.*)?)"
)
_VALUE = r"(?:%/|:?[-=?][^}$]*)?"
_VARIABLE = re.compile(rf"\$(?:\{{(HOME|PWD|TMPDIR|TEMP|TMP){_VALUE}\}}|(HOME|PWD|TMPDIR|TEMP|TMP)(?!\w)|\((pwd)\))")
_CUT_VARIABLE = re.compile(r"\$\{(HOME|PWD)(%%/\*|%/\*|//?[^}]*|[\^,@:][^}]*)\}")
"""A folder computed from the home or the current one: `${HOME%/*}` is the folder above."""
_FOLDER_OF = re.compile(
    r"\$\(\s*(dirname|realpath|readlink|cd)\s+(?:-\S+\s+)*[\"']?([^\s\"'()`;&|]+)[\"']?\s*(?:(?:&&|;)\s*pwd(?:\s+-[PL])?\s*)?\)"
)
_OPEN = re.compile(r"[$`*?\[{]")
_DRIVE = re.compile(r"(?:[\\/]{2}[?.][\\/])?([A-Za-z]):(?:[\\/]|\Z)|[\\/]{2}[^\\/]+[\\/]([A-Za-z])\$(?:[\\/]|\Z)")
r"""The start of a path on Windows: `C:\`, `\\?\C:\`, or `\\host\C$\`."""
_NORMAL = re.compile(r"(?!/(?i:mnt|cygdrive|private|System)/)(?:/\.?[\w@+=,-][\w@+=,.-]*)+", re.ASCII)
"""Most paths: already in normal form."""
_RELATIVE = re.compile(r"(?:\.?[\w@+=,-][\w@+=,.-]*/)*(?:\.?[\w@+=,-][\w@+=,.-]*|\.)", re.ASCII)
"""Most relative paths: already in normal form, or the folder itself."""
_MOUNTED_DRIVE = re.compile(r"/(?:mnt|cygdrive)(?=/[A-Za-z](?:/|\Z))")
"""A Windows drive in WSL and Cygwin; in Git Bash it is `/c`."""
_BRACES = re.compile(r"(?<!\$)\{([^{}]*,[^{}]*)\}")
_MOST_SPELLINGS = 64  # maximum expansions of `a{b,c}`; remaining braces count as globs
_PROCESS_ROOT = re.compile(r"(?:/proc/[^/]+(?:/task/[^/]+)?/root(?=/|\Z))+")
_PROCESS_FOLDER = re.compile(r"/proc/[^/]+(?:/task/[^/]+)?/cwd(?=/|\Z)")
_DESCRIPTORS = re.compile(r"/(?:proc/[^/]+(?:/task/[^/]+)?/fd|dev/fd)/\.\.(?=/|\Z)")
"""The parent of the descriptors' folder, which is the process's: `/dev/fd/../cwd` is `/proc/self/cwd`."""
_DESCRIPTOR = re.compile(r"/(?:proc/[^/]+(?:/task/[^/]+)?/fd/[^/]+|dev/fd/[^/]+|dev/std(?:in|out|err))/")
_IDLE = re.compile(r"/(?:\.?/)+")
_MACOS_LINKED = re.compile(r"/private/(?:etc|tmp|var)(?=/|\Z)", re.IGNORECASE)
"""Folders of macOS in `/private`, with links to them in `/`."""
_MACOS_DATA = "/System/Volumes/Data/"
_ANYWHERE: frozenset[Place] = frozenset(("work", "baton_home", "hook_settings", "startup_files"))
"""The places of an overlong path."""
_TOO_LONG = 65_536
_NOT_CACHED = 2_000


class AbsolutePath(msgspec.Struct, frozen=True):
    """An absolute path: `whole` with variables and globs as written, `known` only up to the first of them.

    `open` is True if there is a variable or glob; then `known` is a folder, or "" if not even the start is known. Both
    start with `~` under an unknown home folder.
    """

    whole: str
    known: str
    open: bool = False


class Locator:
    """Finds the places of a path. Built once per policy set, with the globs of the protected places and of groups."""

    def __init__(
        self,
        baton_home: Iterable[str],
        hook_settings: Iterable[str],
        startup_files: Iterable[str] = (),
        groups: Mapping[str, Iterable[str]] | None = None,
    ) -> None:
        baton_home, hook_settings, startup_files = map(tuple, (baton_home, hook_settings, startup_files))
        groups = {name: tuple(globs) for name, globs in (groups or {}).items()}
        self._paths = tuple(chain(baton_home, hook_settings, startup_files, *groups.values()))
        self._groups = PathGroups(groups)
        self._globs: dict[Place, Protected] = {
            "baton_home": Protected(baton_home),
            "hook_settings": Protected(hook_settings),
            "startup_files": Protected(startup_files),
        }
        self._protected = lru_cache(maxsize=256)(self._build)
        self._cached = lru_cache(maxsize=4096)(self._places)
        self.everywhere = _ANYWHERE | self._groups.names
        self.alike_names = AlikeNames(self._paths)

    def places(
        self, target: str, base: str | None, cwd: str, root: str, reach: Reach = "file", installed: str = ""
    ) -> frozenset[Place]:
        """Return all places of a path as written; none for a harmless device. `base` is as in `shell.model.Write`.

        `installed` is as in `verdict.Facts`. A path over 64 KiB is not read: it counts as being in every protected
        place.
        """
        size = len(target) + len(cwd) + len(root)
        if size > _TOO_LONG:
            return self.everywhere
        if size > _NOT_CACHED:
            return self._places(target, base, cwd, root, reach, installed)
        return self._cached(target, base, cwd, root, reach, installed)

    def _places(
        self, target: str, base: str | None, cwd: str, root: str, reach: Reach, installed: str
    ) -> frozenset[Place]:
        found: set[Place] = set()
        folder, project = folder_of(cwd), folder_of(root)
        protected = self._protected(installed, project)
        # One spelling may be inside the project and another outside: the places of all of them count.
        for text in spellings(target) if "{" in target else (target,):
            path = resolve(text, base, cwd)
            if path.whole.startswith("/dev/") and not path.whole.startswith("/dev/shm/"):  # noqa: S108
                if not _HARMLESS.fullmatch(path.whole):
                    found.add("device")
                continue
            found.add(_ground(path, folder, project, reach))
            if _ROOT_ITSELF.fullmatch(path.whole):
                found.add("root")
            if _HOME_ITSELF.fullmatch(path.whole):
                found.add("home")
            touched = TouchedPath(path.whole, path.known, is_open=path.open)
            found.update([place for place, one in protected if one.reached(touched, reach)])
            if path.known:
                found.update(self._groups.holding(path.whole, reach, project or folder))
        return frozenset(found)

    def possible_groups(
        self, target: str, base: str | None, cwd: str, root: str, reach: Reach, mentioned: str
    ) -> frozenset[Place]:
        """Return the possible groups of a path with an unknown start, as `PathGroups.possibly_holding`."""
        if len(target) > _NOT_CACHED:
            return frozenset(self._groups.names)
        found: set[Place] = set()
        for text in spellings(target) if "{" in target else (target,):
            path = resolve(text, base, cwd)
            if not path.known:
                found.update(self._groups.possibly_holding(path.whole, reach, normal(root) or normal(cwd), mentioned))
        return frozenset(found)

    def _build(self, installed: str, root: str) -> tuple[tuple[Place, Protected], ...]:
        real = installed_paths(installed, root)
        return tuple((place, globs.beside(real.get(place, ()))) for place, globs in self._globs.items())


def own_names(installed: str, folders: tuple[str, ...]) -> frozenset[str] | None:
    """Return the names of a call's folder, project, worktrees and installed paths; None if no path is like another there."""
    size = len(installed) + sum(map(len, folders))
    return (_own_names if size <= _NOT_CACHED else _own_names.__wrapped__)(installed, folders)


@lru_cache(maxsize=1_024)
def _own_names(installed: str, folders: tuple[str, ...]) -> frozenset[str] | None:
    folders += tuple(map(normal, folders))
    real = list(chain.from_iterable(installed_paths(installed, "").values()))
    names = {name for path in (*folders, *real) for name in path.casefold().split("/")}
    return frozenset(names) if all(map(is_plain, folders)) and not any(map(_OPEN.search, names)) else None


def installed_paths(installed: str, root: str) -> dict[str, list[str]]:
    """Return the installed paths by place, for a project with this root.

    `installed` has a line `place TAB path` for each, or `place TAB path TAB checkout`: a developer of Baton's own
    checkout may edit it.
    """
    found: dict[str, list[str]] = {"baton_home": [], "hook_settings": []}
    for line in installed.splitlines():
        place, _, rest = line.partition("\t")
        path, _, checkout = rest.partition("\t")
        path = normal(path)
        # A folder at the root of the disk, or a whole home, would protect everything.
        narrow = path.count("/") > 1 and not _HOME_ITSELF.fullmatch(path)
        if place in found and narrow and not (checkout and normal(checkout) == root):
            found[place].append(path)
    return found


@lru_cache(maxsize=64)
def server_numbers(installed: str) -> frozenset[str]:
    """Return the process ids and the port of this server, from `process TAB number` lines of `installed`."""
    lines = (line.partition("\t") for line in installed.splitlines())
    return frozenset(rest for kind, _, rest in lines if kind == "process")


def spellings(text: str) -> list[str]:
    """Expand `a{b,c}` like a shell: `ab`, `ac`."""
    texts, done = [text], False
    while not done:
        done = True
        for index, one in enumerate(texts):
            braces = _BRACES.search(one)
            if braces is None:
                continue
            parts = braces[1].split(",")
            if len(texts) + len(parts) > _MOST_SPELLINGS:
                parts = ["*"]
            texts[index : index + 1] = [one[: braces.start()] + part + one[braces.end() :] for part in parts]
            done = False
            break
    return texts


def normal(path: str) -> str:
    """Return an absolute path without `.`, `..`, `//` and the aliases of Windows and macOS; other paths unchanged."""
    return path if _NORMAL.fullmatch(path) else _normal(path)


def _normal(path: str) -> str:
    drive = _DRIVE.match(path)
    if drive:
        # Windows drops dots and spaces at the end of a name.
        names = [name.rstrip(". ") or name for name in path[drive.end() :].replace("\\", "/").split("/")]
        path = f"/{(drive[1] or drive[2]).lower()}/" + "/".join(names)
    if not path.startswith(("/", "~")):
        return path
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts and parts.pop().startswith("~"):
                parts.append("home")
        elif part not in ("", "."):
            parts.append(part)
    text = "/".join(parts)
    if text.startswith(("mnt/", "cygdrive/")):
        text = _MOUNTED_DRIVE.sub("", "/" + text)[1:]
    if not text.startswith("~") or path.startswith("/"):
        text = "/" + text
    if text.startswith(_MACOS_DATA):
        return text.removeprefix(_MACOS_DATA[:-1])
    return text[len("/private") :] if _MACOS_LINKED.match(text) else text


@lru_cache(maxsize=256)
def _is_usual(cwd: str) -> bool:
    """Return whether paths below a session's folder are in normal form, and none of devices or processes."""
    return cwd != "" and _NORMAL.fullmatch(f"{cwd}/x") is not None and not f"{cwd}/".startswith(("/proc/", "/dev/"))


folder_of = lru_cache(maxsize=256)(normal)  # `normal` of the base folders of a session's paths


@lru_cache(maxsize=256)
def home_of(folder: str) -> str:
    """Return the home folder containing a session's folder, otherwise `~`."""
    found = _HOME.match(folder)
    return found.group() if found else "~"


def resolve(target: str, base: str | None, cwd: str) -> AbsolutePath:
    """Make a path as written absolute. Only variables of every shell (`$HOME`, `$PWD` …) are replaced."""
    if base is not None and _RELATIVE.fullmatch(f"{base}/{target}" if base else target) and _is_usual(cwd):
        whole = "/".join([part for part in (cwd, base, target) if part not in ("", ".")])
        return AbsolutePath(whole, whole)
    home = home_of(cwd)
    text = _through_processes(_expand(target, home))
    # The folder is unknown and the path is relative to it, so it may be anywhere.
    if base is None and (text == "." or text.startswith("./")) and target.startswith("$"):
        return AbsolutePath(text, "", open=True)
    if not _absolute(text):
        folder = cwd if base == "" else _expand(base or "", home)
        if folder and not _absolute(folder):
            folder = f"{cwd}/{folder}" if cwd else ""
        if base is None or not folder or text.startswith(("$", "`")):
            return AbsolutePath(text, "", open=True)
        text = _through_processes(f"{folder}/{text}")
        if not _absolute(text):
            text = f"{cwd}/{text}"
    opening = _OPEN.search(text)
    whole = normal(text)
    if not opening:
        return AbsolutePath(whole, whole)
    # Of `src/$x/y` only `src/` is certain, and not even that if `..` follows the unknown part.
    known = text[: text.rfind("/", 0, opening.start()) + 1]
    climbs = "/../" in f"/{text[len(known) :]}/"
    return AbsolutePath(whole, "" if climbs else normal(known), open=True)


def within(path: str, folder: str) -> bool:
    """Return whether a normal path is a normal folder or inside it."""
    return folder != "" and (path == folder or path.startswith(folder if folder == "/" else folder + "/"))


def _ground(path: AbsolutePath, cwd: str, root: str, reach: Reach) -> Place:
    if not path.known:
        return "work"
    if within(path.known, root) or within(path.known, cwd):
        return "work"
    if (path.open or reach == "tree") and (within(root, path.known) or within(cwd, path.known)):
        return "work"
    if any(within(path.known, folder) for folder in _TEMPORARY):
        return "scratch"
    return "outside" if cwd or root else "work"


def _absolute(text: str) -> bool:
    return text.startswith(("/", "~")) or _DRIVE.match(text) is not None


def _expand(text: str, home: str) -> str:
    if text.startswith("`pwd`"):
        text = "." + text[5:]
    found = _VARIABLE.match(text) if text.startswith("$") else None
    if found:
        name = found.group(1) or found.group(2) or found.group(3)
        text = {"HOME": "~", "PWD": ".", "pwd": "."}.get(name, "/tmp") + text[found.end() :]  # noqa: S108
    elif text.startswith(("${", "$(")):
        text = _computed(text)
    return home + text[1:] if text == "~" or text.startswith("~/") else text


def _computed(text: str) -> str:
    """Return a path starting with a folder computed from the home, the current folder or a known one."""
    cut = _CUT_VARIABLE.match(text)
    if cut:
        folder = {"HOME": "~", "PWD": "."}[cut[1]]
        # The result of a replacement or a slice may be the folder itself.
        above = {"%/*": "/..", "%%/*": "/../../../../../../../.."}.get(cut[2], "")
        return folder + above + text[cut.end() :]
    of = _FOLDER_OF.match(text)
    if of is None:
        return text
    folder = of[2]
    if found := _VARIABLE.match(folder):
        folder = {"HOME": "~", "PWD": "."}.get(found.group(1) or found.group(2), "/tmp") + folder[found.end() :]  # noqa: S108
    return text if "$" in folder else folder + ("/.." if of[1] == "dirname" else "") + text[of.end() :]


def _through_processes(text: str) -> str:
    """Return the real path behind one through a process (`/proc/self/root/etc`)."""
    if not text.startswith(("/proc/", "/dev/fd/", "/dev/std", "//", "/./")):
        return text
    text = _DESCRIPTORS.sub("/proc/self", _IDLE.sub("/", text), 1)
    text = _PROCESS_ROOT.sub("", text, 1) or "/" if _PROCESS_ROOT.match(text) else text
    if folder := _PROCESS_FOLDER.match(text):
        return "." + text[folder.end() :]
    # The folder of a descriptor is unknown: a path below it may be anywhere.
    if descriptor := _DESCRIPTOR.match(text):
        return "$/" + text[descriptor.end() :]
    return text
