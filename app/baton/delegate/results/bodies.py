"""What is asked of a job's result, and what became of it, as HTTP shows it."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from baton.delegate.results.diff_pages import LONGEST_PAGE, DiffPage
from baton.delegate.results.service import ResultAction, State, Verb

LONGEST_BRANCH = 200
LONGEST_TITLE = 200
LONGEST_REASON = 2_000
LONGEST_PATH = 4_096
MOST_REASONS = 200
LONGEST_WAIT_S = 8.0
"""Longest wait for a runner in one request, in seconds; ask again for an action that goes on."""
Reason = Annotated[str, Field(max_length=LONGEST_REASON)]
Branch = Annotated[str, Field(max_length=LONGEST_BRANCH, pattern=r"^[^-\s][^\s~^:?*\[\\\x00-\x1f]*$")]
"""A branch's name; git checks the rest of its rules."""


class ResultBody(BaseModel):
    """Nothing more needs to be said; the answer may be waited for."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"wait_s": 5}]})

    wait_s: float = Field(
        LONGEST_WAIT_S, ge=0, le=LONGEST_WAIT_S, description="How long to wait for the runner, in seconds."
    )


class BranchBody(ResultBody):
    """The branch to make."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"branch": "cart"}]})

    branch: Branch = Field(description="The new branch.")


class PullRequestBody(ResultBody):
    """The request to open; everything may be left out."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"branch": "cart", "title": "Add a cart", "draft": True}]}
    )

    branch: Branch | None = Field(None, description="The new branch; `baton/` and the job's id if absent.")
    title: str = Field("", max_length=LONGEST_TITLE, description="The job's title if absent.")
    body: str = Field("", max_length=65_536, description="A line that names the job if absent.")
    target: Branch | None = Field(None, description="The branch to merge into; the repository's usual one if absent.")
    draft: bool = Field(False, description="Open it as a draft.")


class ResultActionModel(BaseModel):
    """Something that was asked of a job's result, and what became of it.

    `asked` waits for the runner, `taken` is being done, `done` is done; `refused` names its `reasons`, such as conflicts, and
    nothing was changed; `failed` and `expired` say why in `code` and `detail`.
    """

    id: str
    job: str
    verb: Verb
    state: State
    by: str
    code: str
    detail: str
    reasons: list[str]
    changed: int
    branch: str
    url: str

    @classmethod
    def of(cls, action: ResultAction) -> "ResultActionModel":
        """Return an action as the API shows it."""
        return cls.model_validate(action, from_attributes=True)


class ResultActionsModel(BaseModel):
    """What was asked of a job's result, the oldest first."""

    items: list[ResultActionModel]


class DiffPageQuery(BaseModel):
    """Which part of a difference is read."""

    path: str = Field("", max_length=LONGEST_PATH, description="One changed file, as the list names it; all if absent.")
    offset: int = Field(0, ge=0, le=2**53, description="`next_offset` of the page before.")


class DiffPageModel(BaseModel):
    """A part of what a job changed, as git's patch: of all its files, or of the one at `path`.

    It ends between two files, two hunks or two lines, whichever its 96 KiB allow. `next_offset` is absent on the last page.
    """

    job: str
    path: str
    offset: int
    text: str
    next_offset: int | None = None

    @classmethod
    def of(cls, job: str, page: DiffPage) -> "DiffPageModel":
        """Return a page as the API shows it."""
        return cls(job=job, path=page.path, offset=page.offset, text=page.text, next_offset=page.next_offset)


class DiffPageBody(BaseModel):
    """A page of a difference, as a runner sends it, or an `error` that says why there is none."""

    model_config = ConfigDict(extra="forbid")

    path: str = Field("", max_length=LONGEST_PATH)
    offset: int = Field(0, ge=0, le=2**53)
    text: str = Field("", max_length=LONGEST_PAGE)
    next_offset: int | None = Field(None, ge=0, le=2**53)
    error: str = Field("", max_length=LONGEST_REASON)


class OutcomeBody(BaseModel):
    """What became of an action, as its runner says it."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"state": "refused", "code": "conflict", "reasons": ["a.txt: patch does not apply"]}]
        },
    )

    state: Literal["done", "refused", "failed"]
    code: str = Field("", max_length=100)
    detail: str = Field("", max_length=10_000)
    reasons: list[Reason] = Field([], max_length=MOST_REASONS)
    changed: int = Field(0, ge=0, le=2**31 - 1)
    branch: str = Field("", max_length=LONGEST_BRANCH)
    url: str = Field("", max_length=2_000)
    page: DiffPageBody | None = Field(None, description="With the verb `diff`: the page that was asked for.")
