"""A pattern: one piece of advice of one team, and an optional check for edits."""

from datetime import datetime
from functools import lru_cache
from typing import Literal, Protocol

import msgspec
import re2

from baton.kernel.base.errors import Invalid
from baton.lib.text.masking import mask
from baton.lib.text.quoting import harmless, visible

Status = Literal["proposed", "validated", "retired"]
Use = Literal["shown", "followed", "violated"]
Source = Literal["person", "agent", "records"]
"""Origin of a pattern: a person, an agent, or Baton itself from repetitions in the team's records."""

LEAST_CONFIDENCE = 0.7
"""Minimum confidence of a validated pattern for its use in prompts and checks of edits."""
LONGEST_SIGNATURE, LONGEST_TEXT, LONGEST_NAME = 200, 1_000, 100
LONGEST_EXPRESSION, LONGEST_MESSAGE = 500, 300
MOST_GLOBS, LONGEST_GLOB = 20, 200


class PatternCheck(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The built-in evaluator's check of edited text. The three expressions are RE2; "" for none.

    `when` limits the check to texts with a match. `forbidden` must not match there. `wanted` must match; without a
    `when` it applies only to whole files, since a fragment lacks parts of the file. `message` is for the agent, by
    default the pattern's text.
    """

    when: str = ""
    forbidden: str = ""
    wanted: str = ""
    message: str = ""

    def __bool__(self) -> bool:
        return bool(self.forbidden or self.wanted)


class NewPattern(msgspec.Struct, frozen=True, kw_only=True):
    """A proposal. `project` is "" for every project of the team, `language` and `globs` for every file."""

    signature: str
    text: str = ""
    project: str = ""
    domain: str = ""
    language: str = ""
    globs: tuple[str, ...] = ()
    confidence: float = 0.8
    check: PatternCheck = PatternCheck()
    reason: str = ""


class Pattern(NewPattern, frozen=True, kw_only=True):
    """A pattern; `version` counts its changes, and is its `ETag`.

    `stated` is the confidence stated by a person, `confidence` the effective one: `followed` and `violated` edits
    change it. `in_force`: it is validated, and its confidence is 0.7 or more. `shown` counts the prompts and sessions
    with it. `merged_into` is the id of the merge's target.
    """

    id: str
    team: str
    status: Status
    source: Source
    stated: float
    created_at: datetime
    created_by: str
    decided_at: datetime | None = None
    decided_by: str = ""
    merged_into: str = ""
    shown: int = 0
    followed: int = 0
    violated: int = 0
    version: int = 1

    @property
    def in_force(self) -> bool:
        """Return whether it is used in prompts and checks of edits."""
        return self.status == "validated" and self.confidence >= LEAST_CONFIDENCE


class PatternFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filters of patterns; all set ones must match. All `words` must occur in the signature or the text."""

    team: str = ""
    status: str = ""
    project: str = ""
    domain: str = ""
    source: str = ""
    words: str = ""


def clean(new: NewPattern) -> NewPattern:
    """Return a proposal safe to store and show: secrets masked, markup kept inside its place in a prompt.

    The expressions of a check stay unchanged: they are compiled, never shown to agents.
    """
    return msgspec.structs.replace(
        new,
        signature=one_line(new.signature, LONGEST_SIGNATURE),
        text=harmless(mask(visible(new.text)), LONGEST_TEXT),
        domain=one_line(new.domain, LONGEST_NAME),
        language=one_line(new.language, LONGEST_NAME).lower(),
        reason=mask(new.reason),
        check=msgspec.structs.replace(new.check, message=one_line(new.check.message, LONGEST_MESSAGE)),
    )


def one_line(text: str, longest: int) -> str:
    """Return a string as one line for a list in a prompt: masked and harmless, its code in backticks kept."""
    # Remove invisible characters before searching for secrets: one could be inside a secret.
    shown = " ".join(harmless(" ".join(mask(visible(text)).split()), longest).replace("**", "").split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"


# Compile the RE2 expressions of a pattern's check: any expression takes linear time.

MEMORY = 1 << 20
"""Maximum bytes of one compiled expression; RE2 refuses a larger one."""
REMEMBERED = 2_000


class Expression(Protocol):
    """A compiled expression."""

    def search(self, text: bytes) -> object | None:
        """Return the first match in a string, or None."""


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


def require_expressions(check: PatternCheck) -> None:
    """Raise Invalid if an expression of a check cannot be compiled, or has no effect."""
    for name in ("when", "forbidden", "wanted"):
        expression = getattr(check, name)
        try:
            found = compiled(expression) if expression else None
        except ValueError as error:
            raise Invalid(f"check.{name}", f"is no RE2 expression: {error}") from None
        if found is not None and name != "when" and found.search(b"") is not None:
            raise Invalid(f"check.{name}", "matches an empty string, so it is no check")
    if check.when and not check:
        raise Invalid("check", "has `when` alone; give `forbidden` or `wanted` too")
