"""Compile the RE2 expressions of a pattern's check: they take time linear in the text, whatever somebody writes."""

from functools import lru_cache
from typing import Protocol

import re2

from baton.context.patterns.pattern import Check
from baton.kernel.base.errors import Invalid

MEMORY = 1 << 20
"""Bytes that one compiled expression may take; RE2 refuses a larger one."""
REMEMBERED = 2_000


class Expression(Protocol):
    """A compiled expression."""

    def search(self, text: bytes) -> object | None:
        """Return the first match in a text, None if there is none."""
        ...


@lru_cache(maxsize=REMEMBERED)
def compiled(expression: str) -> Expression:
    """Compile an expression; `^` and `$` mean a line's ends only with `(?m)`. Raise ValueError if RE2 refuses it."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = MEMORY
    try:
        found: Expression = re2.compile(expression.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        detail = error.args[0]
        raise ValueError(detail.decode("utf-8", "replace") if isinstance(detail, bytes) else str(detail)) from None
    return found


def require_expressions(check: Check) -> None:
    """Raise Invalid if an expression of a check cannot be compiled, or if it looks for nothing."""
    for name in ("when", "forbidden", "wanted"):
        expression = getattr(check, name)
        try:
            found = compiled(expression) if expression else None
        except ValueError as error:
            raise Invalid(f"check.{name}", f"is no RE2 expression: {error}") from None
        if found is not None and name != "when" and found.search(b"") is not None:
            raise Invalid(f"check.{name}", "is found in an empty text, so it tells nothing")
    if check.when and not check:
        raise Invalid("check", "has `when` alone; give `forbidden` or `wanted` too")
