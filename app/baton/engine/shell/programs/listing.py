"""What is noted of one line while it is walked: its programs, what they write and read, and which run what others print."""

import re
from collections.abc import Iterable

import msgspec

from baton.engine.shell import misreadings
from baton.engine.shell.expansion import outputs
from baton.engine.shell.expansion.scripts import Position, ScriptText, StdinSource
from baton.engine.shell.expansion.words import Word
from baton.engine.shell.model import SOMEWHERE, Category, Program, Write
from baton.engine.shell.programs import links, targets, written_files
from baton.engine.shell.programs.redirects import Redirects
from baton.engine.shell.tables import classify

_MOST_FOUND = 100
"""Targets that the writes of a search's commands are spelt out to."""
_PRINTERS = frozenset(["cat", "head", "tail", "bat", "tac"])
_RUN_LATER = re.compile(
    r"^/etc/(?:cron|anacron|init|profile|rc\.|systemd|sudoers|ld\.so|update-motd|xdg/autostart)|^/var/spool/cron"
    r"|\.git/hooks/|/\.config/(?:systemd|autostart|fish)/|/Launch(?:Agents|Daemons)/|/\.ssh/(?:authorized_keys|rc)"
    r"|/\.(?:bashrc|bash_profile|bash_login|profile|zshrc|zshenv|zprofile|zlogin)$"
)
"""Files that others run or trust without being asked: what is written there counts as run."""
RUN_UNASKED = re.compile(
    r"(?:^|/)(?:pre-commit|pre-push|commit-msg|prepare-commit-msg|post-checkout|post-commit|post-merge|pre-rebase|post-rewrite)\Z"
    r"|(?:^|/)\.(?:bashrc|bash_profile|bash_login|bash_logout|profile|zshrc|zshenv|zprofile|zlogin)\Z|^/etc/profile"
)
"""Shell scripts that git and shells run by themselves."""


class Listing:
    """The facts about one line that have been found so far.

    `programs` has None for a program whose facts are not complete yet: what it runs is listed after it. `sinks` are pairs
    of a program's index and the input that it interprets as a script; `interpreting` are the programs that would run
    their input. `run_downloads` are programs whose code executes what it gets from the network. `guessing` is True
    while guesses are listed, `forks_without_end` once a program's code is a fork bomb.
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
        self.links = links.Links()
        self.written = written_files.WrittenFiles()
        self.printed_files: dict[int, StdinSource] = {}
        self.interpreting: set[int] = set()

    def settle(self, listed: range, categories: tuple[Category, ...]) -> None:
        """Take back that a command is not known, once it has been listed with its values; `categories` are what it has then."""
        for index in listed:
            program = self.programs[index]
            if program is None:
                continue
            if program.unnamed:
                self.programs[index] = msgspec.structs.replace(program, unnamed=False, wraps=True, categories=())
            elif index == listed[0] and "unknown" in program.categories:
                self.programs[index] = msgspec.structs.replace(
                    program, wraps=program.wraps or not program.name, categories=categories
                )

    def forget(self, first: int) -> None:
        """Take the programs from this index on off the list."""
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
        """Note a program that is a file which the line has written, or that prints one (`cat x | sh`)."""
        if use.runs and any(way.stdin for way in use.runs):
            self.interpreting.add(index)
        if not self.written.sources:
            return
        path = use.words[0].text
        if "/" in path:
            self.runs_file(index, path, place)
        if use.name in _PRINTERS:
            for at in use.operands:
                source = self.written.source(use.words[at].text, place.folder.base)
                if source is not None:
                    self.printed_files[index] = source

    def last_name(self) -> str:
        """Return the name of the program that was listed last; "" if there is none."""
        program = self.programs[-1] if self.programs else None
        return "" if program is None else program.name

    def decodes(self, index: int) -> bool:
        """Return whether a program makes other text of its input than a reader of the line sees."""
        program = self.programs[index] if index < len(self.programs) else None
        return program is not None and program.name in outputs.DECODERS

    def found_by(self, use: classify.Invocation, first: int) -> None:
        """Put what a search finds in the place of `{}` in the writes since there were `first` of them."""
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
            self.writes += [msgspec.structs.replace(write, target=text) for text in texts]

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
        """Note the files that redirections write."""
        if found.targets:
            # A write of a guess belongs to it even where no program makes it, so that it is left out with the guess.
            by = len(self.programs) - 1 if self.guessing and by < 0 else by
            self.redirects_to_file = self.redirects_to_file or not self.guessing
            self.note([Write(target=target, reach="file") for target in found.targets], place, by)
        for path in found.sources if by in self.interpreting else ():
            self.runs_file(by, path, place)
        self.note_reads(found.sources, place, by)

    def note_reads(self, paths: Iterable[str], place: Position, by: int) -> None:
        """Note files that a program reads as its input, or by its code."""
        self.reads += [Write(target=path, base=place.folder.base, by=by) for path in paths]

    def note(self, writes: list[Write], place: Position, by: int) -> None:
        """Note what a program writes, from each folder that it may run in.

        Raises:
            UnreadableError: If the line writes too many files: rules ask for the place of each.
        """
        if len(self.writes) + len(writes) > misreadings.MAX_WRITES:
            raise misreadings.UnreadableError(f"over {misreadings.MAX_WRITES} files that are written")
        folder = place.folder
        program = self.programs[by] if by >= 0 else None
        if program is not None:
            self.written.note([write.target for write in writes], folder.base, by, program, place.input)
            # What goes into such a file is a script, and what a network program puts there a download that runs.
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
        """Note writes whose folders are known, and what they change through links that the line has made."""
        for write in writes:
            self.writes.append(write)
            real = self.links.followed(write)
            if real is not None:
                self.writes.append(msgspec.structs.replace(write, target=real, base=""))
            self.links.note(write)
