"""The most that an expression of `when:` can cost, estimated before it is evaluated.

CEL cannot be interrupted, so the cost must be known beforehand. It follows from the expression's text and from the size
of the call. The weights are measured worst cases (`bench/when_cost.py`); most expressions cost a thousandth of theirs.
"""

import ast
import re

import msgspec
import re2

BUDGET = 300_000
"""Units of work, about 60 ns each, that all expressions of one call may take together: at worst 20 ms."""
MAX_LOOPS = 2
MAX_ROUNDS = 10_000
"""Rounds of loops that CEL itself allows."""

_ASKING = 500
"""Units that every evaluation costs, whatever the expression."""
_SMALL = 20
"""Size of a compiled pattern up to which RE2 never falls back to its slowest algorithm."""
_LOOPS = frozenset({"all", "exists", "exists_one", "map", "filter"})
_RAW = r"""[bB]?[rR][bB]?(?:\"{3}.*?\"{3}|'{3}.*?'{3}|"[^"]*"|'[^']*')"""
_TEXT = r"""[bB]?(?:\"{3}(?:\\.|.)*?\"{3}|'{3}(?:\\.|.)*?'{3}|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_TOKEN = re.compile(rf"{_RAW}|{_TEXT}|[A-Za-z_]\w*|[\d.]+|//[^\n]*|==|!=|<=|>=|&&|\|\||\S", re.DOTALL)


class CostError(ValueError):
    """An expression whose cost cannot be estimated, or is too high for any call."""


class InputSize(msgspec.Struct):
    """The size of what an expression reads: items and characters in all, the largest list, the longest text."""

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
        """Count what in an expression's text costs time.

        Raises:
            CostError: If it has too many loops, or a pattern that is not written out.
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
        """Return the most that evaluating the expression on input of this size costs, in units of about 60 ns."""
        longest: int = max(given.longest, self._longest) * self._growth
        rounds = min((max(given.largest, self._literals) * self._growth) ** self.loops, MAX_ROUNDS)
        each = 2 * self._operators + self._calls * (60 + longest // 8) + self._searches * (longest**2 // 8_192)
        each += sum(size * (20 + longest // (6 if size <= _SMALL else 2)) for size in self._patterns)
        each += self._compared * (given.items + given.characters // 1_000)
        return int(_ASKING + 4 * given.items + given.characters // 50 + rounds * each)


def _is_text(token: str) -> bool:
    return token[-1] in "\"'"


def _program_size(tokens: list[str], at: int) -> int:
    """Return the size of a compiled pattern; times the length of a text, this is the worst cost of matching."""
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
    """Return the text of a string literal as CEL reads it: raw, or with escapes much like Python's."""
    raw, quoted = re.match(r"([A-Za-z]*)(.*)", token, re.DOTALL).groups()  # type: ignore[union-attr]
    if "r" in raw.lower():
        return str(quoted.strip(quoted[0]))
    return str(ast.literal_eval(quoted))
