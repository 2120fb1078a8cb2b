"""Parse YAML with line numbers, for hand-written files.

Plain scalars follow YAML 1.2's core rules: `true`, `false`, `null`, `~`, numbers. `on`, `yes`, dates and all keys are
strings. Anchors, aliases, tags, duplicate keys and a second document are refused.
"""

import re
from difflib import get_close_matches
from typing import Any, TypeVar

import msgspec
import yaml
from msgspec import inspect

T = TypeVar("T")
Path = tuple[str | int, ...]
Lines = dict[Path, int]

_INT = re.compile(r"[-+]?[0-9]{1,18}\Z")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]{1,3})?\Z")
_WORDS = {"true": True, "True": True, "false": False, "False": False, "null": None, "~": None, "": None}
_STEP = re.compile(r"\.([^.\[\]]+)|\[([0-9]+|\.{3})\]")
_AT = re.compile(r" - at `(?:key in )?\$?([^`]*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")
_VALUE = re.compile(r"Invalid enum value '?(.*?)'?\Z", re.DOTALL)
_MAX_DEPTH = 64
_MOST_COMPARED = 200_000
"""Maximum length of a wrong name times the length of all allowed names: comparing takes 20 ms at most."""

_LONG_NAME = 8  # minimum length of a name with two tolerated slips; two slips in a shorter one make another name


class Fault(msgspec.Struct, frozen=True):
    """A fault in a file. `line` is 1-based, 0 if the problem belongs to no line."""

    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.text}"


class YamlError(Exception):
    """Invalid YAML, or YAML with a refused feature. `line` is 1-based."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line
        self.text = text


class ProblemError(Exception):
    """One problem, for callers in need of only the first."""

    def __init__(self, problem: Fault) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _Builder:
    """Collects events into data; `path` is the next value's place."""

    def __init__(self) -> None:
        self.root: Any = None
        self.lines: Lines = {}
        self.stack: list[tuple[Path, Any]] = []
        self.key: str | None = None
        self.documents = 0

    def feed(self, event: Any) -> None:
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise YamlError(line, "anchors and aliases are not allowed")
        if getattr(event, "tag", None):
            raise YamlError(line, f"the tag `{event.tag}` is not allowed")
        if isinstance(event, yaml.ScalarEvent):
            self.scalar(event, line)
        elif isinstance(event, yaml.MappingStartEvent):
            self.open(line, {})
        elif isinstance(event, yaml.SequenceStartEvent):
            self.open(line, [])
        elif isinstance(event, yaml.CollectionEndEvent):
            self.stack.pop()
        elif isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise YamlError(line, "a second document is not allowed")

    def open(self, line: int, value: Any) -> None:
        if len(self.stack) >= _MAX_DEPTH:
            raise YamlError(line, f"nested deeper than {_MAX_DEPTH} levels")
        self.stack.append((self.add(line, value), value))

    def add(self, line: int, value: Any) -> Path:
        path: Path = ()
        if not self.stack:
            self.root = value
        else:
            above, holder = self.stack[-1]
            if isinstance(holder, list):
                path = (*above, len(holder))
                holder.append(value)
            elif self.key is None:
                raise YamlError(line, "a key must be plain text")
            else:
                path = (*above, self.key)
                holder[self.key] = value
                self.key = None
        self.lines.setdefault(path, line)
        return path

    def scalar(self, event: yaml.ScalarEvent, line: int) -> None:
        if self.stack and isinstance(self.stack[-1][1], dict) and self.key is None:
            above, holder = self.stack[-1]
            if event.value in holder:
                first = self.lines[(*above, event.value)]
                raise YamlError(line, f"duplicate key `{event.value}`; it already stands in line {first}")
            self.key = event.value
            self.lines[*above, event.value] = line
            return
        self.add(line, _plain(event.value) if event.style in (None, "") else event.value)


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    if _INT.match(text):
        return int(text)
    return float(text) if _FLOAT.match(text) else text


def parse(text: str) -> tuple[Any, Lines]:
    """Read one YAML document: its data, and the 1-based line of each path such as `("match", 0, "tools")`.

    A mapping value's line is its key's. An empty string is None. Raises YamlError.
    """
    built = _Builder()
    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            built.feed(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlError(mark.line + 1 if mark else 1, f"not valid YAML: {error.problem or error.context}") from error
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(1, "not valid YAML: a character that YAML does not allow") from error
    return built.root, built.lines


def fit(path: str, data: Any, lines: Lines, kind: type[T], at: Path = ()) -> T:
    """Convert parsed data into a msgspec type; `at` is the path of `data` in the file.

    Raises:
        ProblemError: with file, line and a likely spelling.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        message = str(error)
        # msgspec names the place only in its message: `… - at `$.rules[0].id``.
        found = _AT.search(message)
        steps = _steps(found.group(1)) if found else ()
        text = message[: found.start()] if found else message
        kinds = _kinds(inspect.type_info(kind), steps)
        if unknown := _UNKNOWN.match(text):
            name = unknown[1]
            fields = next((one.fields for one in kinds if isinstance(one, inspect.StructType)), ())
            text = f"unknown key `{name}`" + did_you_mean(name, [field.encode_name for field in fields])
            steps = (*steps, name)
        else:
            key = next((f"`{step}`: " for step in reversed(steps) if isinstance(step, str) and step != "..."), "")
            text = key + _misfit(text, kinds)
        raise ProblemError(Fault(path, line_of(lines, (*at, *steps)), text)) from error


def line_of(lines: Lines, path: Path) -> int:
    """Return the line of a path, or of its nearest ancestor with one."""
    while path and path not in lines:
        path = path[:-1]
    return lines.get(path, 1)


def did_you_mean(wrong: str, allowed: list[str]) -> str:
    """Return the end of a message: the likely spelling, otherwise all allowed names, or "" if those are too many."""
    if len(wrong) * sum(map(len, allowed)) > _MOST_COMPARED:
        return ""
    near = get_close_matches(wrong, allowed, 1, 0.6)
    if near:
        return f"; did you mean `{near[0]}`?"
    return f"; allowed: {', '.join(f'`{name}`' for name in sorted(allowed))}" if allowed else ""


def nearly(wrong: str, right: str) -> bool:
    """Return whether names differ by one slip (missing, extra, changed, swapped letter), from 8 letters by two."""
    slips = 2 if len(right) >= _LONG_NAME else 1
    if abs(len(wrong) - len(right)) > slips:
        return False
    # Damerau-Levenshtein distance with adjacent swaps: three rows of the table are enough.
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, letter in enumerate(wrong, 1):
        row = [i]
        for j, other in enumerate(right, 1):
            cost = min(row[-1] + 1, last[j] + 1, last[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == right[j - 2] and wrong[i - 2] == other:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
    return last[-1] <= slips


def _steps(text: str) -> Path:
    """Return the steps of msgspec's path; `...` is any key of a mapping."""
    return tuple(int(index) if index.isdecimal() else key or index for key, index in _STEP.findall(text))


def _misfit(text: str, kinds: list[Any]) -> str:
    """Return msgspec's message with the allowed values instead of its regular expression or none."""
    if wrong := _VALUE.match(text):
        allowed = [str(value) for one in kinds if isinstance(one, inspect.LiteralType) for value in one.values]
        return f"`{wrong[1]}` is not allowed" + did_you_mean(wrong[1], allowed)
    schemas = [one.extra_json_schema or {} for one in kinds if isinstance(one, inspect.Metadata)]
    described = " matching regex " in text and next((one["description"] for one in schemas if "description" in one), "")
    text = text.replace("Object missing required field", "missing key")
    return f"expected {described}" if described else text[0].lower() + text[1:]


def _kinds(info: Any, steps: Path) -> list[Any]:
    """Return the types allowed at a path."""
    if isinstance(info, inspect.UnionType):
        return [kind for one in info.types for kind in _kinds(one, steps)]
    if isinstance(info, inspect.StructType) and steps:
        below = [field.type for field in info.fields if field.encode_name == steps[0]]
    elif isinstance(info, inspect.ListType | inspect.VarTupleType) and steps:
        below = [info.item_type]
    elif isinstance(info, inspect.DictType) and steps:
        below = [info.value_type]
    else:
        return [] if steps else [info]
    return [kind for one in below for kind in _kinds(one, steps[1:])]
