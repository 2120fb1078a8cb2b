"""Compile and evaluate `when:`, a rule's expression in CEL.

Three kinds of limits keep an expression from holding up a call: CEL's own (10,000 rounds, nesting of 32, patterns in
linear time), those on the size of a call below, and a budget for all expressions of a call (`when_cost`).
"""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from baton.engine.policy.matching.context import Context
from baton.engine.policy.matching.when_cost import BUDGET, Cost, CostError, InputSize
from baton.engine.text.yaml_lines import did_you_mean

MAX_TEXT = 65_536
"""Characters of one text of a call that an expression may read."""
MAX_ITEMS = 64
"""Items of one list or mapping of a call that an expression may read."""
MAX_ALL_ITEMS = 2_048
MAX_ALL_TEXT = 262_144
"""The same for all lists and mappings together, and characters of all texts together."""

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
}
"""The variables of an expression: the type of each, and where its value comes from."""


class WhenError(ValueError):
    """An expression that is not accepted; the message says what is wrong with it."""


class TooMuchError(ValueError):
    """A call is larger than an expression may read."""


class When:
    """One expression. `text` is as written; `on_error` is its value where it fails."""

    __slots__ = ("_cost", "_expression", "_inputs", "_used", "name", "on_error", "text")

    def __init__(self, text: str, rule_id: str, *, on_error: bool) -> None:
        """Compile an expression.

        Raises:
            WhenError: If CEL does not accept it, or if it may cost too much.
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
            pass  # whatever CEL stumbles over in a call, the rule must still have an answer
        context.errors |= {self.name}
        return self.on_error

    def _plain(self, value: Any, given: InputSize) -> Any:
        """Return the value in the form that CEL takes; of a tool's input only the keys that the expression names."""
        if isinstance(value, dict) and self._inputs is not None:
            value = {key: value[key] for key in self._inputs if key in value}
        return _bounded(value, given, _MAX_DEPTH)


def _bounded(value: Any, given: InputSize, depth: int) -> Any:
    """Copy a value, add its size to `given`, and stop if it is above the limits."""
    given.items += 1
    if isinstance(value, str):
        size = len(value)
        given.characters += size
        given.longest = max(given.longest, size)
        if size > MAX_TEXT or given.characters > MAX_ALL_TEXT:
            raise TooMuchError
        # CEL refuses half a surrogate pair, which JSON allows; one such character must not make the rule fail.
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
    """Return the keys of `call.input` that an expression names; None if it may read any.

    Copying only these keeps a large file content in the input from counting against the limits.
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
    """Return the first error of CEL's compiler, reworded."""
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
