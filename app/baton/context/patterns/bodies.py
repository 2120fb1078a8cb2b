"""The HTTP models of `/patterns`."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from baton.context.patterns.pattern import (
    LONGEST_EXPRESSION,
    LONGEST_GLOB,
    LONGEST_MESSAGE,
    LONGEST_NAME,
    LONGEST_SIGNATURE,
    LONGEST_TEXT,
    MOST_GLOBS,
    Check,
    NewPattern,
    Pattern,
    Source,
    Status,
)
from baton.context.patterns.service import Match
from baton.kernel.http.paging import PageQuery, Text

Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Expression = Annotated[str, Field(max_length=LONGEST_EXPRESSION)]
_Name = Annotated[str, Field(max_length=LONGEST_NAME)]
_Reason = Annotated[str, Field(max_length=1_000, description="The reason, for the audit log.")]


class CheckBody(BaseModel):
    """What the built-in evaluator looks for in edited text: RE2 expressions."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    when: _Expression = ""
    """Only texts in which this is found are judged."""
    forbidden: _Expression = ""
    """Must not be found."""
    wanted: _Expression = ""
    """Must be found; without `when` it is asked of whole files alone."""
    message: str = Field("", max_length=LONGEST_MESSAGE)
    """What the agent is told; the pattern's text if it is empty."""


class NewPatternBody(BaseModel):
    """A proposal."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "signature": "Give every HTTP call a timeout",
                    "text": "Calls of `requests` without `timeout` hang for ever when the other side does.",
                    "language": "python",
                    "confidence": 0.9,
                    "check": {"when": r"requests\.(get|post)\(", "wanted": "timeout="},
                }
            ]
        },
    )

    signature: str = Field(min_length=1, max_length=LONGEST_SIGNATURE)
    """The advice in one line."""
    text: str = Field("", max_length=LONGEST_TEXT)
    team: _Name = ""
    """The team that it is for, your own if it is empty; only admins may name another."""
    project: Text = ""
    """The project that it holds in; every project of the team if it is empty."""
    domain: _Name = ""
    language: _Name = ""
    """The language of the files that edits are checked in, such as `python`; every language if it is empty."""
    globs: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=LONGEST_GLOB)]], Field(max_length=MOST_GLOBS)
    ] = []
    """The files that edits are checked in, relative to the project; every file if it is empty."""
    confidence: Confidence = 0.8
    """Patterns of less than 0.7 are kept and not used."""
    check: CheckBody = CheckBody()
    reason: _Reason = ""

    def proposal(self) -> NewPattern:
        """Return the proposal as the service takes it."""
        return NewPattern(
            signature=self.signature,
            text=self.text,
            project=self.project,
            domain=self.domain,
            language=self.language,
            globs=tuple(self.globs),
            confidence=self.confidence,
            check=Check(**self.check.model_dump()),
            reason=self.reason,
        )


class ApproveBody(BaseModel):
    """An approval."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"confidence": 0.9, "reason": "agreed in the retrospective"}]}
    )

    confidence: Confidence | None = None
    """The confidence from now on; the stated one stays if it is absent."""
    reason: _Reason = ""


class RetireBody(BaseModel):
    """A retirement."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "the library is gone"}]})

    reason: _Reason = ""


class MergeBody(BaseModel):
    """The pattern that another one goes into."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"into": "019b8d5e-3f00-7000-8000-000000000001", "reason": "says the same"}]},
    )

    into: str = Field(min_length=1, max_length=100)
    reason: _Reason = ""


class PatternModel(BaseModel):
    """A pattern; `version` is its `ETag`."""

    id: str
    team: str
    signature: str
    text: str
    project: str
    domain: str
    language: str
    globs: list[str]
    check: CheckBody
    status: Status
    source: Source
    """Who proposed it: a person, an agent, or Baton from what the records repeat."""
    stated: float
    """The confidence that a person stated."""
    confidence: float
    """The confidence that holds: edits that follow or violate the pattern move it."""
    in_force: bool
    """Whether it is validated and its confidence is 0.7 or more."""
    shown: int
    """Prompts and sessions that it was put into."""
    followed: int
    """Edits that were checked and followed it."""
    violated: int
    merged_into: str
    reason: str
    created_at: datetime
    created_by: str
    decided_at: datetime | None = None
    decided_by: str
    version: int

    @classmethod
    def of(cls, pattern: Pattern) -> "PatternModel":
        """Show a pattern as the API does."""
        return cls.model_validate(pattern, from_attributes=True)


class PatternPage(BaseModel):
    """A page of patterns, newest first; `next_cursor` is absent on the last one."""

    items: list[PatternModel]
    next_cursor: str | None = None


class PatternMatchModel(BaseModel):
    """A pattern that a search found, and how well it fits, from 0 to 1."""

    score: float
    pattern: PatternModel

    @classmethod
    def of(cls, match: Match) -> "PatternMatchModel":
        """Show a match as the API does."""
        return cls(score=match.score, pattern=PatternModel.of(match.pattern))


class PatternMatches(BaseModel):
    """What a search found, the best first."""

    items: list[PatternMatchModel]
    index: Literal["built-in"]
    """What compared meanings: an exact index in the server's memory."""
    degraded: list[str]
    """`embeddings` if the word table is missing: then words alone are compared."""


class ProposedPatterns(BaseModel):
    """The proposals that were made of the records just now."""

    items: list[PatternModel]


class PatternQuery(PageQuery):
    """Which patterns to list; all filters given must hold."""

    status: Literal["", "proposed", "validated", "retired"] = ""
    project: Text = ""
    domain: Text = ""
    source: Literal["", "person", "agent", "records"] = ""
    team: Text = ""
    words: Text = Field("", description="Words that must all stand in the signature or the text.")


class PatternSearch(BaseModel):
    """What to search for."""

    text: str = Field(min_length=1, max_length=2_000, description="A prompt, or any text.")
    project: Text = ""
    team: Text = ""
    limit: int = Field(10, ge=1, le=50)
