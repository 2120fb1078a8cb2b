"""The HTTP models of the policy set in force."""

from datetime import datetime

from pydantic import BaseModel, Field

from baton.engine.text.yaml_lines import Problem


class RuleModel(BaseModel):
    """A rule of the active set."""

    id: str
    description: str
    decision: str
    modes: list[str]
    enabled: bool
    shadow: bool = Field(description="It is asked and recorded, and has no effect.")
    locked: bool = Field(description="Uploaded layers may only tighten it.")
    lock: str = Field(description="The lock that covers it, as config.yaml has it: an id or a pattern; empty for none.")
    unlocked: str = Field(description="Who unlocked it for you, until when and why; empty if nobody has.")


class PolicyProblemModel(BaseModel):
    """What keeps a newer policy set from becoming active."""

    file: str
    line: int
    text: str

    @classmethod
    def of(cls, problem: Problem) -> "PolicyProblemModel":
        """Show a problem as the API does."""
        return cls(file=problem.file, line=problem.line, text=problem.text)


class PoliciesModel(BaseModel):
    """The active policy set."""

    revision: str
    loaded_at: datetime
    rules: list[RuleModel]
    problems: list[PolicyProblemModel]


class RevisionModel(BaseModel):
    """A policy revision that was active."""

    revision: str
    first_at: datetime
    activated_at: datetime
