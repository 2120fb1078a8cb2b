"""The reading of an agent's call for human confirmation, as of the decision. Its strings are masked."""

import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from baton.lib.bash.model import Category, Program
from baton.lib.text.masking import mask
from baton.lib.text.visible import shown, visible
from baton.rules.call.commands import judged_as
from baton.rules.call.verdict import Verdict
from baton.rules.policy.matching.wording import for_person

MOST_PROGRAMS = 50
MOST_WORDS = 200  # maximum number of a program's words located in the command
LONGEST_TEXT = 500  # maximum length of a program's displayed words, in characters
LONGEST_COMMAND = 16_384
MOST_DIFF_LINES = 400  # lines of each side of an edit. The comparison's time is their product.
LONGEST_DIFF = 32_768
RISKY: frozenset[Category] = frozenset(
    {"destructive", "network", "vcs-write", "package-install", "file-write", "other-process", "unknown"}
)  # categories of highlighted programs: all except reading, building and testing
_OLD = ("old_string", "old_str", "oldString")
_NEW = ("new_string", "new_str", "newString", "content", "file_text", "contents")
_PATHS = ("file_path", "path", "filePath", "notebook_path")
_REWORDED = ("description", "timeout")  # of a shell line they change nothing
_OF_EDITS = (*_OLD, *_NEW, *_PATHS, "edits")
_NO_RULE = "No rule has an opinion on this call, so a person is asked."
_ALWAYS = "The rules allow it, but on this machine a person confirms each call."


Made = TypeVar("Made")


class ReadProgram(msgspec.Struct, frozen=True, kw_only=True):
    """One program of the call. `depth` is its nesting, 0 for the line itself; `risky` if it does more than read, build or test."""

    text: str
    categories: tuple[str, ...] = ()
    depth: int = 0
    risky: bool = False


class EditDiff(msgspec.Struct, frozen=True, kw_only=True):
    """An edit of a file, as a unified diff; empty if it is too long to compare."""

    path: str
    diff: str


class CallReading(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A parsed call. `risky` are start and end positions of highlighted characters in the command.

    `folder` is where it runs, and `others` is the input besides the command and the edits, as JSON; both may be "".
    `rule` is the id of the deciding rule, or "". `why` is the explanation for a person. `unparsed` is the reason for an
    incomplete parse. Texts too long to show say what they leave out.
    """

    tool: str = ""
    command: str = ""
    programs: tuple[ReadProgram, ...] = ()
    risky: tuple[tuple[int, int], ...] = ()
    unparsed: str = ""
    edits: tuple[EditDiff, ...] = ()
    folder: str = ""
    others: str = ""
    rule: str = ""
    why: str = ""


def reading_of(verdict: Verdict, request: Mapping[str, Any], folder: str = "") -> CallReading:
    """Return the reading of a masked request's call in a folder."""
    tool, given = judged_as(request.get("kind", ""), request.get("tool_name", ""), request.get("tool_input", {}))
    command = given.get("command")
    command = shown(command, LONGEST_COMMAND) if isinstance(command, str) else ""
    shell = verdict.shell
    every = [one for one in shell.programs if not one.meant] if shell is not None else []
    programs = every[:MOST_PROGRAMS]
    edits = tuple(_edits(given))
    reworded = _REWORDED if shell is not None else ()
    said = {*(("command", *reworded) if command else ()), *(_OF_EDITS if edits else ())}
    others = {name: value for name, value in given.items() if name not in said} if said else {}
    why = for_person(verdict.reason) or (_ALWAYS if verdict.effect == "allow" else _NO_RULE)
    return CallReading(
        tool=tool,
        command=command,
        programs=(
            *(_shown(one, command) for one in programs),
            *_more(len(every) - MOST_PROGRAMS, lambda text: ReadProgram(text=text, risky=True)),
        ),
        risky=risky_spans(command, [one for one in programs if is_risky(one)]),
        unparsed=shell.unparsed if shell is not None else "",
        edits=edits,
        folder=visible(folder),
        others=shown(msgspec.json.encode(others).decode(), LONGEST_COMMAND) if others else "",
        rule=verdict.rule,
        why=mask(why),
    )


def _more(number: int, made: Callable[[str], Made]) -> list[Made]:
    """Return what stands for the rest of a list that is too long to show."""
    return [made(f"… {number:,} more")] if number > 0 else []


def is_risky(program: Program) -> bool:
    """Return whether to highlight a program: it does more than read, and does not merely run another one."""
    return not program.wraps and (program.guess or not RISKY.isdisjoint(program.categories) or not program.categories)


def risky_spans(command: str, programs: list[Program]) -> tuple[tuple[int, int], ...]:
    """Locate the words of risky programs in a command, as sorted, disjoint character positions."""
    found: list[tuple[int, int]] = []
    for program in programs:
        place = _place(command, program.argv, found[-1][1] if found else 0)
        place = place or _place(command, program.argv, 0)
        if place is not None:
            found.append(place)
    merged: list[tuple[int, int]] = []
    for start, end in sorted(found):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)


_APART = 4  # maximum number of characters between two words of a program: blanks and quotes, but no other program


def _place(command: str, words: tuple[str, ...], after: int) -> tuple[int, int] | None:
    """Return the position of consecutive words after a position, or None without the first one."""
    if not words or not words[0]:
        return None
    start = command.find(words[0], after)
    if start < 0:
        return None
    end = start + len(words[0])
    for word in words[1:MOST_WORDS]:
        # A window keeps the cost of missing words as low as that of found ones.
        next_ = command.find(word, end, end + len(word) + _APART)
        if next_ < 0:
            break
        end = next_ + len(word)
    return start, end


def _shown(program: Program, command: str) -> ReadProgram:
    words = program.argv[:MOST_WORDS]
    if "[masked:" in command:
        # Without quotes and line ends, a secret is not recognized: only show words of the masked line.
        words = tuple([word if word in command else "…" for word in words])
    text = " ".join(words)
    return ReadProgram(
        text=shown(mask(text), LONGEST_TEXT),
        categories=program.categories,
        depth=program.depth,
        risky=is_risky(program),
    )


def _edits(given: Mapping[str, Any]) -> Iterator[EditDiff]:
    path = _first(given, _PATHS)
    many = given.get("edits")
    edits = [given, *(one for one in many if isinstance(one, Mapping))] if isinstance(many, list) else [given]
    room = LONGEST_DIFF
    for one in edits[:MOST_PROGRAMS]:
        old, new = _first(one, _OLD), _first(one, _NEW)
        if (old or new) and (path or _first(one, _PATHS)):
            diff = _unified(old, new) if len(old) + len(new) <= room else ""
            room -= len(diff)
            yield EditDiff(path=visible(_first(one, _PATHS) or path), diff=visible(diff))
    yield from _more(len(edits) - MOST_PROGRAMS, lambda text: EditDiff(path=text, diff=""))


def _unified(old: str, new: str) -> str:
    before, after = old.splitlines(), new.splitlines()
    if max(len(before), len(after)) > MOST_DIFF_LINES:
        return ""
    return "\n".join(difflib.unified_diff(before, after, "a", "b", lineterm=""))


def _first(given: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((value for name in names if isinstance(value := given.get(name), str) and value), "")
