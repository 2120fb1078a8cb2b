"""What a pattern is: one piece of advice of one team, and the check that an edit can be held to."""

from datetime import datetime
from typing import Literal

import msgspec

from baton.engine.text.masking import mask
from baton.engine.text.quoting import harmless, visible

Status = Literal["proposed", "validated", "retired"]
Use = Literal["shown", "followed", "violated"]
Source = Literal["person", "agent", "records"]
"""Who proposed a pattern: a person, an agent, or Baton itself from what the team's records repeat."""

LEAST_CONFIDENCE = 0.7
"""The confidence from which a validated pattern is put into prompts and edits are held to it. Seed 004."""
LONGEST_SIGNATURE, LONGEST_TEXT, LONGEST_NAME = 200, 1_000, 100
LONGEST_EXPRESSION, LONGEST_MESSAGE = 500, 300
MOST_GLOBS, LONGEST_GLOB = 20, 200


class Check(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the built-in evaluator looks for in edited text. The three expressions are RE2; "" for none.

    `when` limits the check to texts in which it is found. `forbidden` must not be found there. `wanted` must be found; without
    a `when` it is asked of whole files alone, since no fragment of a file has all that the file needs. `message` is what
    the agent is told, the pattern's text if it is "".
    """

    when: str = ""
    forbidden: str = ""
    wanted: str = ""
    message: str = ""

    def __bool__(self) -> bool:
        """Return whether there is anything to look for."""
        return bool(self.forbidden or self.wanted)


class NewPattern(msgspec.Struct, frozen=True, kw_only=True):
    """What somebody proposes. `project` is "" for every project of the team, `language` and `globs` for every file."""

    signature: str
    text: str = ""
    project: str = ""
    domain: str = ""
    language: str = ""
    globs: tuple[str, ...] = ()
    confidence: float = 0.8
    check: Check = Check()
    reason: str = ""


class Pattern(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern as it is stored.

    `stated` is the confidence that a person gave it, `confidence` that which holds: `followed` and `violated` edits move it
    (`learning.learned_confidence`). `shown` counts the prompts and sessions that it was put into. `merged_into` is the id of
    the pattern that it went into. `version` counts its changes.
    """

    id: str
    team: str
    signature: str
    text: str
    project: str
    domain: str
    language: str
    globs: tuple[str, ...]
    check: Check
    status: Status
    source: Source
    stated: float
    confidence: float
    created_at: datetime
    created_by: str
    decided_at: datetime | None = None
    decided_by: str = ""
    reason: str = ""
    merged_into: str = ""
    shown: int = 0
    followed: int = 0
    violated: int = 0
    version: int = 1

    @property
    def in_force(self) -> bool:
        """Return whether it is put into prompts and edits are held to it."""
        return self.status == "validated" and self.confidence >= LEAST_CONFIDENCE


class PatternFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which patterns to find; all that are set must hold. `words` must all stand in the signature or the text."""

    team: str = ""
    status: str = ""
    project: str = ""
    domain: str = ""
    source: str = ""
    words: str = ""


def clean(new: NewPattern) -> NewPattern:
    """Return a proposal as it may be stored and shown: secrets masked, and no markup that leaves its place in a prompt.

    The expressions of a check stay as they are: they are compiled, never shown to agents.
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
    """Return a text as one line for a list in a prompt: masked and harmless, its code in backticks kept."""
    # What cannot be seen goes before secrets are looked for: it could stand within one.
    shown = " ".join(harmless(" ".join(mask(visible(text)).split()), longest).replace("**", "").split())
    return shown if len(shown) <= longest else shown[: longest - 1] + "…"
