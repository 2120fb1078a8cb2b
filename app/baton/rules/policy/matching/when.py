"""Compile and evaluate `when:`, a rule's expression in CEL.

Three kinds of limits bound an expression's time: CEL's own (10,000 rounds, nesting of 32, patterns in linear time),
those on the size of a call below, and a budget for all expressions of a call (`when_cost`).
"""

import ast
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
import re2

from baton.lib.text.yaml_lines import did_you_mean
from baton.rules.policy.matching.context import Context

# The maximum cost of an expression of `when:`, estimated before evaluation. CEL is not interruptible, so the cost must
# be known beforehand. It follows from the expression's text and the size of the call. The weights are measured worst
# cases (`bench/engine.py`); most expressions cost a thousandth of theirs.

BUDGET = 300_000  # work budget of one call's expressions, in units of about 60 ns each: at worst 20 ms
MAX_LOOPS = 2
MAX_ROUNDS = 10_000  # CEL's own limit on rounds of loops

_ASKING = 500  # fixed units of every evaluation
_SMALL = 20  # maximum size of a compiled pattern for which RE2 never falls back to its slowest algorithm
_LOOPS = frozenset({"all", "exists", "exists_one", "map", "filter"})
_RAW = r"""[bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"]*"|'[^']*')"""
_TEXT = r"""[bB]?(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_TOKEN = re.compile(rf"{_RAW}|{_TEXT}|[A-Za-z_]\w*|[\d.]+|//[^\n]*|==|!=|<=|>=|&&|\|\||\S", re.DOTALL)


class CostError(ValueError):
    """An expression with an unknown cost, or too expensive for any call."""


class InputSize(msgspec.Struct):
    """The size of an expression's input: total items and characters, the largest list, the longest text."""

    items: int = 0
    largest: int = 0
    characters: int = 0
    longest: int = 0


class Cost:
    """The cost of one expression, as a function of the size of its input."""

    __slots__ = (
        "_calls",
        "_compared",
        "_growth",
        "_literals",
        "_longest",
        "_operators",
        "_patterns",
        "_searches",
        "loops",
    )

    def __init__(self, text: str) -> None:
        """Count the costly parts of an expression's text.

        Raises:
            CostError: If it has too many loops, or a computed pattern.
        """
        tokens = [one for one in _TOKEN.findall(text) if not one.startswith("//")]
        called = [(at, one) for at, one in enumerate(tokens[:-1]) if tokens[at + 1] == "(" and one[0].isidentifier()]
        self.loops = sum(name in _LOOPS for _, name in called)
        if self.loops > MAX_LOOPS:
            raise CostError(f"{self.loops} loops (`all`, `exists`, `map` …); allowed: {MAX_LOOPS}")
        self._operators = len(tokens)
        self._calls = len(called) - self.loops
        self._compared = sum(one in {"==", "!=", "in"} for one in tokens)
        # Each `+` may join a text with itself, and so double it.
        self._growth = 2 ** tokens.count("+")
        self._literals = tokens.count(",") + 1
        self._longest = max((len(one) for one in tokens if _is_text(one)), default=0)
        self._patterns = [_program_size(tokens, at) for at, name in called if name == "matches"]
        self._searches = sum(name == "contains" and not _is_text(tokens[at + 2]) for at, name in called)

    def units(self, given: InputSize) -> int:
        """Return the maximum cost of evaluating the expression on input of this size, in units of about 60 ns."""
        longest: int = max(given.longest, self._longest) * self._growth
        rounds = min((max(given.largest, self._literals) * self._growth) ** self.loops, MAX_ROUNDS)
        each = 2 * self._operators + self._calls * (60 + longest // 8) + self._searches * (longest**2 // 8_192)
        each += sum(size * (20 + longest // (6 if size <= _SMALL else 2)) for size in self._patterns)
        each += self._compared * (given.items + given.characters // 1_000)
        return int(_ASKING + 4 * given.items + given.characters // 50 + rounds * each)


def _is_text(token: str) -> bool:
    return token[-1] in "\"'"


def _program_size(tokens: list[str], at: int) -> int:
    """Return the size of a compiled pattern; times the length of a string, this is the worst cost of matching."""
    if at == 0 or tokens[at - 1] != "." or not _is_text(tokens[at + 2]) or tokens[at + 3 : at + 4] != [")"]:
        raise CostError('`matches` needs a pattern that is written out, as in `call.tool.matches("^mcp__")`')
    options = re2.Options()
    options.log_errors = False
    try:
        return int(re2.compile(_literal_text(tokens[at + 2]), options).programsize)
    except (re2.error, ValueError, SyntaxError) as error:
        detail = error.args[0]
        said = detail.decode() if isinstance(detail, bytes) else str(detail)
        raise CostError(f"`matches` has a pattern that RE2 refuses: {said}") from None


def _literal_text(token: str) -> str:
    """Return the value of a CEL string literal: raw, or with escapes much like Python's."""
    raw, quoted = re.match(r"([A-Za-z]*)(.*)", token, re.DOTALL).groups()  # type: ignore[union-attr]
    if "r" in raw.lower():
        return str(quoted.strip(quoted[0]))
    return str(ast.literal_eval(quoted))


MAX_TEXT = 65_536  # maximum characters of one text of a call in an expression
MAX_ITEMS = 64  # maximum items of one list or mapping of a call in an expression
MAX_ALL_ITEMS = 2_048
MAX_ALL_TEXT = 262_144  # the same for all lists and mappings together, and characters of all texts together

_WORD = re.compile(r"[a-z_]+")
_AT = re.compile(r"<input>:(\d+):(-?\d+): (.*)")
_UNDECLARED = re.compile(r"undeclared reference to '([^']*)'")
_MAX_DEPTH = 8
_Read = Callable[[Context], Any]

VARIABLES: dict[str, tuple[str, _Read]] = {
    "call.tool": ("string", lambda c: c.call.tool_name),
    "call.client": ("string", lambda c: c.call.client),
    "call.session_id": ("string", lambda c: c.call.session_id),
    "call.agent_id": ("string", lambda c: c.call.agent_id),
    "call.agent_type": ("string", lambda c: c.call.agent_type),
    "call.cwd": ("string", lambda c: c.call.cwd),
    "call.project": ("string", lambda c: c.call.project),
    "call.permission_mode": ("string", lambda c: c.call.permission_mode),
    "call.input": ("input", lambda c: c.call.tool_input),
    "shell.programs": ("lists", lambda c: [list(one.argv) for one in c.shell.programs] if c.shell else []),
    "shell.categories": ("list", lambda c: list(c.shell.categories) if c.shell else []),
    "shell.writes": ("list", lambda c: [write.target for write in c.shell.writes] if c.shell else []),
    "shell.unparsed": ("bool", lambda c: bool(c.shell and c.shell.unparsed)),
    "mode.level": ("string", lambda c: c.facts.level),
    "mode.enabled": ("bool", lambda c: c.facts.level != "off"),
    "principal.organisation": ("string", lambda c: c.facts.principal.organisation),
    "principal.team": ("string", lambda c: c.facts.principal.team),
    "principal.user": ("string", lambda c: c.facts.principal.user),
    "principal.role": ("string", lambda c: c.facts.principal.role),
}  # the variables of an expression: the type of each, and its source


class WhenError(ValueError):
    """A rejected expression; the message names the fault."""


class TooMuchError(ValueError):
    """A call is too large for an expression."""


class When:
    """One expression. `text` is as written; `on_error` is its value after a failure."""

    __slots__ = ("_cost", "_expression", "_inputs", "_used", "name", "on_error", "text")

    def __init__(self, text: str, rule_id: str, *, on_error: bool) -> None:
        """Compile an expression.

        Raises:
            WhenError: If CEL rejects it, or if it may cost too much.
        """
        try:
            self._cost = Cost(text)
        except CostError as error:
            raise WhenError(str(error)) from None
        self.text = text
        self.name = f"when:{rule_id}"
        self.on_error = on_error
        self._expression = _compile(text)
        names = frozenset(_WORD.findall(text))
        self._used = [(name, read) for name, (_, read) in VARIABLES.items() if name.partition(".")[2] in names]
        self._inputs = _input_keys(text)

    def holds(self, context: Context) -> bool:
        """Return whether the expression holds. A failure is noted in the context's `errors`, and yields `on_error`."""
        given = InputSize()
        try:
            data = {name: self._plain(read(context), given) for name, read in self._used}
            units = self._cost.units(given)
            if context.spent + units > BUDGET:
                raise TooMuchError
            context.spent += units
            value = self._expression.eval(data=data)
            if value.type().name() == "BOOL":
                return bool(value.value())
        except (RuntimeError, ValueError, TypeError, OverflowError):
            pass  # whatever failure a call causes in CEL, the rule must still have an answer
        context.errors |= {self.name}
        return self.on_error

    def _plain(self, value: Any, given: InputSize) -> Any:
        """Return the value in CEL's form; of a tool's input only the keys used in the expression."""
        if isinstance(value, dict) and self._inputs is not None:
            value = {key: value[key] for key in self._inputs if key in value}
        return _bounded(value, given, _MAX_DEPTH)


def _bounded(value: Any, given: InputSize, depth: int) -> Any:
    """Copy a value, add its size to `given`, and stop above the limits."""
    given.items += 1
    if isinstance(value, str):
        size = len(value)
        given.characters += size
        given.longest = max(given.longest, size)
        if size > MAX_TEXT or given.characters > MAX_ALL_TEXT:
            raise TooMuchError
        # CEL rejects a lone surrogate, allowed in JSON; one such character must not make the rule fail.
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    if isinstance(value, list | dict):
        size = len(value)
        given.largest = max(given.largest, size)
        if size > MAX_ITEMS or given.items + size > MAX_ALL_ITEMS or depth == 0:
            raise TooMuchError
        if isinstance(value, list):
            return [_bounded(item, given, depth - 1) for item in value]
        return {_bounded(key, given, 0): _bounded(item, given, depth - 1) for key, item in value.items()}
    return value


def _input_keys(text: str) -> frozenset[str] | None:
    """Return the keys of `call.input` named in an expression; None if it may read any.

    Only these are copied, so a large file content in the input does not count against the limits.
    """
    named = re.findall(r"\bcall\s*\.\s*input\s*\.\s*(\w+)\b(?!\s*\()", text)
    named += re.findall(r"""\bcall\s*\.\s*input\s*\[\s*["'](\w+)["']\s*\]""", text)
    named += re.findall(r"""["'](\w+)["']\s+in\s+call\s*\.\s*input\b(?!\s*[.\[])""", text)
    return frozenset(named) if len(named) == len(re.findall(r"\binput\b", text)) else None


@lru_cache(maxsize=1)
def _environment() -> Any:
    from cel_expr_python import cel  # noqa: PLC0415 - takes 16 MB, which a set without `when` saves

    kinds = {
        "string": cel.Type.STRING,
        "bool": cel.Type.BOOL,
        "list": cel.Type.List(cel.Type.STRING),
        "lists": cel.Type.List(cel.Type.List(cel.Type.STRING)),
        "input": cel.Type.Map(cel.Type.STRING, cel.Type.DYN),
    }
    return cel.NewEnv(variables={name: kinds[kind] for name, (kind, _) in VARIABLES.items()})


def _compile(text: str) -> Any:
    try:
        expression = _environment().compile(text)
    except RuntimeError as error:
        raise WhenError(_message(str(error))) from None
    kind = expression.return_type().name()
    if kind != "BOOL":
        raise WhenError(f'its value is a `{kind.lower()}`; it must be a bool, as in `call.tool == "Bash"`')
    return expression


def _message(error: str) -> str:
    found = _AT.search(error)
    if found is None:
        return error.splitlines()[0]
    line, column, text = found.groups()
    undeclared = _UNDECLARED.match(text)
    if undeclared:
        name = undeclared.group(1)
        text = f"unknown name `{name}`{did_you_mean(name, list(VARIABLES))}"
    where = "" if int(column) < 0 else f" (line {line}, column {column})"
    return text.removesuffix(" (in container '')") + where
