"""The HTTP models of `/patterns`."""

from typing import Annotated, Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from baton.context.patterns.pattern import (
    LONGEST_EXPRESSION,
    LONGEST_GLOB,
    LONGEST_MESSAGE,
    LONGEST_NAME,
    LONGEST_SIGNATURE,
    LONGEST_TEXT,
    MOST_GLOBS,
    NewPattern,
    Pattern,
)
from baton.context.patterns.service import Match
from baton.kernel.http.fields import PROJECT, ApiModel, request_body
from baton.kernel.http.paging import PageQuery, Text

Confidence = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Expression = Annotated[str, Field(max_length=LONGEST_EXPRESSION)]
_Name = Annotated[str, Field(max_length=LONGEST_NAME)]
_Reason = Annotated[str, Field(max_length=1_000, description="The reason, for the audit log.")]


class CheckBody(BaseModel):
    """The built-in evaluator's check of edited text, as RE2 expressions."""

    model_config = ConfigDict(extra="forbid", from_attributes=True)

    when: _Expression = ""
    """Only texts with a match of this are judged."""
    forbidden: _Expression = ""
    """Must not match."""
    wanted: _Expression = ""
    """Must match; without `when` it applies only to whole files."""
    message: str = Field("", max_length=LONGEST_MESSAGE)
    """The message to the agent; by default the pattern's text."""


class NewPatternBody(BaseModel):
    """A proposal."""

    model_config = request_body(
        {"signature": "Give every HTTP call a timeout",
        "text": "Calls of `requests` without `timeout` hang for ever when the other side does.", "language": "python",
        "confidence": 0.9, "check": {"when": "requests\\.(get|post)\\(", "wanted": "timeout="}}
    )  # fmt: skip

    signature: str = Field(min_length=1, max_length=LONGEST_SIGNATURE)
    """The advice in one line."""
    text: str = Field("", max_length=LONGEST_TEXT)
    team: _Name = ""
    """The pattern's team, by default your own; only admins may name another."""
    project: Annotated[Text, PROJECT] = ""
    """The pattern's project, by default every project of the team."""
    domain: _Name = ""
    language: _Name = ""
    """The language of the checked files, such as `python`; by default every language."""
    globs: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=LONGEST_GLOB)]], Field(max_length=MOST_GLOBS)
    ] = []
    """The checked files, relative to the project; by default every file."""
    confidence: Confidence = 0.8
    """Patterns below 0.7 are stored but not used."""
    check: CheckBody = CheckBody()
    reason: _Reason = ""

    def proposal(self) -> NewPattern:
        """Return the proposal in the service's form."""
        return msgspec.convert(self.model_dump(exclude={"team"}), NewPattern)


class ApproveBody(BaseModel):
    """An approval."""

    model_config = request_body({"confidence": 0.9, "reason": "agreed in the retrospective"})

    confidence: Confidence | None = None
    """The new confidence; by default the stated one stays."""
    reason: _Reason = ""


class RetireBody(BaseModel):
    """A retirement."""

    model_config = request_body({"reason": "the library is gone"})

    reason: _Reason = ""


class MergeBody(BaseModel):
    """The target of a merge."""

    model_config = request_body({"into": "019b8d5e-3f00-7000-8000-000000000001", "reason": "says the same"})

    into: str = Field(min_length=1, max_length=100)
    reason: _Reason = ""


ShownPattern = Annotated[Pattern, ApiModel(check=CheckBody, in_force=bool)]
ShownMatch = Annotated[Match, ApiModel("PatternMatchModel", pattern=ShownPattern)]


class PatternPage(BaseModel):
    """A page of patterns, newest first; `next_cursor` is absent on the last one."""

    items: list[ShownPattern]
    next_cursor: str | None = None


class PatternMatches(BaseModel):
    """The results of a search, the best first."""

    items: list[ShownMatch]
    index: Literal["built-in"]
    """The search method: an exact index in the server's memory."""
    degraded: list[str]
    """`embeddings` if the word table is missing: then only words are compared."""


class ProposedPatterns(BaseModel):
    """The proposals just made from the records."""

    items: list[ShownPattern]


class PatternQuery(PageQuery):
    """Filters of a list of patterns; all given ones must match."""

    status: Literal["", "proposed", "validated", "retired"] = ""
    project: Annotated[Text, PROJECT] = ""
    domain: Text = ""
    source: Literal["", "person", "agent", "records"] = ""
    team: Text = ""
    words: Text = Field("", description="Words required in the signature or the text.")


class PatternSearch(BaseModel):
    """A search."""

    text: str = Field(min_length=1, max_length=2_000, description="A prompt, or any text.")
    project: Annotated[Text, PROJECT] = ""
    team: Text = ""
    limit: int = Field(10, ge=1, le=50)
