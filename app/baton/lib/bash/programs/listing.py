"""Facts noted about one line during its walk: programs, writes, reads, and interpreted output."""

import posixpath
import re
from collections.abc import Iterable

import msgspec

from baton.lib.bash import misreadings
from baton.lib.bash.expansion import outputs
from baton.lib.bash.expansion.scripts import Position, ScriptText, StdinSource
from baton.lib.bash.expansion.words import Word
from baton.lib.bash.model import SOMEWHERE, Category, Program, Write
from baton.lib.bash.programs import targets
from baton.lib.bash.programs.arguments import FROM_FILE
from baton.lib.bash.programs.redirects import Redirects, WrittenFiles
from baton.lib.bash.tables import classify

# Follow the line's own links and mounts: `ln -s / x; rm -rf x/*` removes the content of `/`.

_ABSOLUTE = frozenset("/~$")
_MOST_LINKS = 50
_MOST_FOLDERS = 64


class Links:
    """The links and mounts made so far by the line: position and target of each."""

    __slots__ = ("_mounts", "_targets")

    def __init__(self) -> None:
        self._targets: dict[str, str] = {}
        self._mounts: set[str] = set()

    def mount(self, folders: Iterable[tuple[str, str]], base: str | None) -> None:
        """Add folders mounted in a container, as pairs of the folder and its path there."""
        for folder, path in folders:
            if len(self._targets) < _MOST_LINKS and (base is not None or folder[:1] in _ABSOLUTE):
                place = _whole("/", path)
                self._targets[place] = _whole(base or "", folder)
                self._mounts.add(place)

    def add(self, write: Write) -> None:
        """Add a program's link, if both its ends are known."""
        if write.lands != "link" or len(write.sources) != 1 or write.base is None or len(self._targets) >= _MOST_LINKS:
            return
        place = _whole(write.base, write.target)
        self._targets[place] = _whole(posixpath.dirname(place), write.sources[0])
        # If the target is a folder, the link is inside it.
        self._targets[posixpath.join(place, posixpath.basename(write.sources[0].rstrip("/")))] = self._targets[place]

    def followed(self, write: Write) -> str | None:
        """Return the real path of a write through a link, or None."""
        if not self._targets or write.base is None:
            return None
        names = _whole(write.base, write.target).split("/")[:_MOST_FOLDERS]
        for count in range(len(names), 0, -1):
            place = "/".join(names[:count])
            leads_to = self._targets.get(place)
            # Removing a link keeps its target; writing to it does not. A mounted folder is removed.
            if leads_to is not None and (
                count < len(names) or write.reach != "tree" or write.target.endswith("/") or place in self._mounts
            ):
                return posixpath.join(leads_to, *names[count:])
        return None


def _whole(base: str, path: str) -> str:
    return posixpath.normpath(path if path[:1] in _ABSOLUTE else posixpath.join(base, path))


_MOST_FOUND = 100  # maximum expanded targets of a search's commands
_RUN_LATER = re.compile(
    r"^/etc/(?:cron|anacron|init|profile|rc\.|systemd|sudoers|ld\.so|update-motd|xdg/autostart)|^/var/spool/cron"
    r"|\.git/hooks/|/\.config/(?:systemd|autostart|fish)/|/Launch(?:Agents|Daemons)/|/\.ssh/(?:authorized_keys|rc)"
    r"|/\.(?:bashrc|bash_profile|bash_login|profile|zshrc|zshenv|zprofile|zlogin)$"
)  # files run or trusted by other programs automatically: content written there counts as run
RUN_UNASKED = re.compile(
    r"(?:^|/)(?:pre-commit|pre-push|commit-msg|prepare-commit-msg|post-checkout|post-commit|post-merge|pre-rebase|post-rewrite)\Z"
    r"|(?:^|/)\.(?:bashrc|bash_profile|bash_login|bash_logout|bash_aliases|profile|zshrc|zshenv|zprofile|zlogin|zlogout|envrc|xprofile|xsessionrc)\Z|/\.ssh/rc\Z|^/etc/(?:profile|rc\.local\Z|bash\.bashrc\Z|bashrc\Z|zsh)"
)  # shell scripts run automatically by git and shells


class Listing:
    """The facts found so far about one line.

    `programs` has None for a program with incomplete facts: its commands are listed after it. `sinks` are pairs of a
    program's index and its input, interpreted as a script. `run_downloads` are programs with code that executes network
    data. `guessing` is True while guesses are listed, `forks_without_end` once a program's code is a fork bomb.
    """

    def __init__(self) -> None:
        self.programs: list[Program | None] = []
        self.writes: list[Write] = []
        self.reads: list[Write] = []
        self.sinks: list[tuple[int, StdinSource]] = []
        self.run_downloads: list[int] = []
        self.redirects_to_file = False
        self.network = False
        self.guessing = False
        self.forks_without_end = False
        self.links = Links()
        self.written = WrittenFiles()
        self.printed_files: dict[int, StdinSource] = {}

    def settle(self, listed: range, categories: tuple[Category, ...]) -> None:
        """Mark a command as known after it was listed with its values; `categories` are the ones found then."""
        for index in listed:
            program = self.programs[index]
            if program is None:
                continue
            if program.unnamed:
                self.programs[index] = msgspec.structs.replace(program, unnamed=False, wraps=True, categories=())
            elif index == listed[0]:
                found = categories if "unknown" in program.categories else program.categories
                self.programs[index] = msgspec.structs.replace(program, wraps=True, categories=found)

    def forget(self, first: int) -> None:
        """Remove the programs from this index on."""
        del self.programs[first:]
        self.writes = [write for write in self.writes if write.by < first]
        self.sinks = [sink for sink in self.sinks if sink[0] < first]
        self.run_downloads = [index for index in self.run_downloads if index < first]

    def runs_file(self, index: int, path: str, place: Position) -> None:
        """Note that a program runs a file: if the line has written it, its writers feed the program."""
        source = self.written.source(path, place.folder.base)
        if source is not None:
            self.sinks.append((index, source))

    def uses_written(self, use: classify.Invocation, index: int, place: Position) -> None:
        """Note a program that is a file written by the line, or prints one (`cat x | sh`)."""
        if not self.written.sources:
            return
        path = use.words[0].text
        if "/" in path or path[:1] == "$":
            self.runs_file(index, path, place)
        elif use.entry is None:
            installed = (one for one in self.written.sources if one.endswith(f"bin/{path}"))
            self.runs_file(index, next(installed, path), place)
        for names in () if use.entry is None else use.entry.files.values():
            for name in names:
                self.runs_file(index, name, place)
        read = self.written.read_by([use.words[at].text for at in use.operands], place.folder.base)
        if read:
            self.printed_files[index] = StdinSource([], origins=[*read, self.printed_files.get(index)])

    def arguments_source(self, use: classify.Invocation, place: Position) -> StdinSource | None:
        """Return the source of the arguments of `xargs`: its input, or the file of `-a` written by the line."""
        for option, value in use.values:
            source = self.written.source(value, place.folder.base) if option in FROM_FILE else None
            if source is not None:
                return StdinSource([], origins=[source])
        return place.input

    def decodes(self, index: int) -> bool:
        """Return whether a program decodes its input, so the line does not show the result."""
        program = self.programs[index] if index < len(self.programs) else None
        return program is not None and program.name in outputs.DECODERS

    def found_by(self, use: classify.Invocation, first: int) -> None:
        """Replace `{}` by the results of a search in all writes from index `first` on."""
        here = self.writes[first:]
        asking = sum("{}" in write.target for write in here)
        if use.entry is None or not asking:
            return
        found = targets.found_below(use, use.entry)
        if asking * len(found) > _MOST_FOUND:
            found = [SOMEWHERE]
        self.writes[first:] = []
        for write in here:
            texts = [write.target.replace("{}", one) for one in found] if "{}" in write.target else [write.target]
            # A folder that is searched itself, rather than only for names, is changed with its content.
            reach = write.reach if "{}" not in write.target or "**" in found[0] else "tree"
            self.writes += [msgspec.structs.replace(write, target=text, reach=reach) for text in texts]

    def feed_words(self, index: int, script: list[Word]) -> None:
        """Note that a program interprets the output of the substitutions in these words."""
        spans = [span for word in script for span in word.spans]
        if spans:
            self.sinks.append((index, StdinSource(spans)))

    def feed_name(self, index: int, name: Word, text: ScriptText) -> None:
        """Note that the output of the substitution in a program's name is run."""
        owner = text.owner if name.outer and text.owner >= 0 else index
        self.sinks.append((owner, StdinSource(name.spans)))

    def note_writes(self, found: Redirects, place: Position, by: int) -> None:
        """Note the files written by redirections."""
        if found.targets:
            # A write of a guess belongs to the guess even without a program, so both are left out together.
            by = len(self.programs) - 1 if self.guessing and by < 0 else by
            self.redirects_to_file = self.redirects_to_file or not self.guessing
            self.add_writes([Write(target=target, reach="file") for target in found.targets], place, by)
        if found.feeds and found.input is not None and by >= 0:
            self.printed_files[by] = StdinSource([], found.input, origins=[self.printed_files.get(by)])
        self.note_reads(found.sources, place, by)

    def note_reads(self, paths: Iterable[str], place: Position, by: int) -> None:
        """Note files read by a program as its input, or by its code."""
        self.reads += [Write(target=path, base=place.folder.base, by=by) for path in paths]

    def add_writes(self, writes: list[Write], place: Position, by: int) -> None:
        """Note a program's writes, from each of its possible folders. Raise UnreadableError."""
        if len(self.writes) + len(writes) > misreadings.MAX_WRITES:
            raise misreadings.UnreadableError(f"over {misreadings.MAX_WRITES} written files")
        folder = place.folder
        program = self.programs[by] if by >= 0 else None
        if program is not None:
            self.written.add_targets([write.target for write in writes], folder.base, by, program, place.input)
            # The content of such a file is a script, and a network program's output there is a download that runs.
            if place.input is not None and any(_RUN_LATER.search(write.target) for write in writes):
                self.sinks.append((by, place.input))
            if "network" in program.categories and any(_RUN_LATER.search(write.target) for write in writes):
                self.run_downloads.append(by)
        for write in writes:
            if write.target == SOMEWHERE:
                bases: tuple[str | None, ...] = (None,)
            else:
                bases = folder.bases(write.target) if folder.others else (folder.base,)
            self.note_from([msgspec.structs.replace(write, base=base, by=by) for base in bases])

    def note_from(self, writes: list[Write]) -> None:
        """Note writes with known folders, and the targets behind the line's links."""
        for write in writes:
            self.writes.append(write)
            real = self.links.followed(write)
            if real is not None:
                self.writes.append(msgspec.structs.replace(write, target=real, base=""))
            self.links.add(write)
