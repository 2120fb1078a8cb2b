"""The bodies that FastAPI's routes take and give. They hold no behaviour but their own validation."""

from datetime import datetime
from typing import Any, Literal

from msgspec.structs import asdict
from pydantic import AliasChoices, AwareDatetime, BaseModel, ConfigDict, Field

from baton.engine.call.modes import Mode, ModeSetting, Scope
from baton.engine.call.record import Record
from baton.engine.text.yaml_lines import Problem

Level = Literal["strict", "guidance"]


class FieldErrorModel(BaseModel):
    """One field that was wrong."""

    field: str
    message: str
    allowed: list[str] = []


class ProblemModel(BaseModel):
    """The one shape of every error (RFC 9457)."""

    type: str
    title: str
    status: int
    code: str
    detail: str
    errors: list[FieldErrorModel] = []
    given: dict[str, Any] = Field({}, description="What a refused spawn gave.")
    allowed: list[str] = Field([], description="What a refused spawn could have given.")


class ModeBody(BaseModel):
    """A mode to set at a scope."""

    model_config = ConfigDict(extra="forbid", str_max_length=1_024)

    scope: Scope
    id: str = Field("", description="The team, project, user or session; organisation has none.")
    user: str = Field("", description="With scope user_project: whose; the caller when absent.")
    project: str = Field("", description="With scope user_project: which; the caller's when absent.")
    enabled: bool
    level: Level = Field("guidance", validation_alias=AliasChoices("level", "enforcement_level"))
    locked: bool = Field(False, description="With scope organisation: narrower settings count only where stricter.")
    reason: str = ""
    expires_at: AwareDatetime | None = None


class ModeSettingModel(BaseModel):
    """One setting."""

    scope: Scope
    id: str | None = None
    user: str | None = None
    project: str | None = None
    enabled: bool
    level: Level
    locked: bool | None = None
    reason: str | None = None
    expires_at: datetime | None = None
    activated_at: datetime | None = None
    auto_activated: bool
    set_by: str | None = None
    set_at: datetime | None = None

    @classmethod
    def of(cls, setting: ModeSetting) -> "ModeSettingModel":
        """Show a setting as the API does."""
        return cls(
            scope=setting.scope,
            id=setting.id or None,
            user=setting.user or None,
            project=setting.project or None,
            enabled=setting.enabled,
            level=setting.level,
            locked=setting.locked or None,
            reason=setting.reason or None,
            expires_at=setting.expires_at,
            activated_at=setting.activated_at,
            auto_activated=setting.auto_activated,
            set_by=setting.set_by or None,
            set_at=setting.set_at,
        )


class ModeModel(BaseModel):
    """The mode in force, and the chain of settings that led to it: from wide to narrow, the last one decides."""

    enabled: bool
    level: Level
    scope: str
    activated_at: datetime | None = None
    auto_activated: bool
    chain: list[ModeSettingModel]

    @classmethod
    def of(cls, mode: Mode) -> "ModeModel":
        """Show a mode as the API does."""
        return cls(
            enabled=mode.enabled,
            level=mode.level,
            scope=mode.scope,
            activated_at=mode.activated_at,
            auto_activated=mode.auto_activated,
            chain=[ModeSettingModel.of(setting) for setting in mode.chain],
        )


class RuleHitModel(BaseModel):
    """A rule that matched."""

    id: str
    effect: Literal["deny", "ask", "rewrite", "allow", "guidance", "shadow", "lifted"]


class DecisionModel(BaseModel):
    """A recorded decision. Secrets in it are masked and marked; file contents are never kept."""

    id: str
    at: datetime
    organisation: str
    team: str
    user: str
    role: str | None = None
    project: str | None = None
    session_id: str | None = None
    agent_id: str | None = None
    agent_type: str | None = None
    client: str
    event: str
    tool: str | None = None
    tool_use_id: str | None = None
    effect: str
    decision: Literal["allow", "ask", "block"]
    rules: list[RuleHitModel]
    mode_enabled: bool
    mode_level: str = ""
    mode_scope: str = ""
    revision: str = ""
    elapsed_ms: float
    degraded: list[str]
    command: str | None = None
    paths: list[str]
    model_injected: str | None = None
    prompt: str | None = Field(
        None, description="What was asked for, where the team keeps prompts; shown with one decision, not in lists."
    )
    overridden: bool
    routed_to: str | None = Field(None, description="The agent that a prompt was led to.")
    routed_by: str | None = Field(None, description="What decided where a prompt was led.")
    confidence: float | None = None

    @classmethod
    def of(cls, record: Record) -> "DecisionModel":
        """Show a record as the API does."""
        fields = {name: value for name, value in asdict(record).items() if value != ""}
        if not record.routed_by:
            del fields["confidence"]
        fields["rules"] = [RuleHitModel(id=hit.id, effect=hit.effect) for hit in record.rules]
        fields["elapsed_ms"] = fields.pop("elapsed_us") / 1000
        return cls(**fields)


class DecisionPage(BaseModel):
    """A page of decisions, newest first; `next_cursor` is absent on the last one."""

    items: list[DecisionModel]
    next_cursor: str | None = None


class RuleModel(BaseModel):
    """A rule of the active set."""

    id: str
    description: str
    decision: str
    modes: list[str]
    enabled: bool
    shadow: bool = Field(description="It is asked and recorded, and has no effect.")
    locked: bool = Field(description="Layers below the organisation may only tighten it.")


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
