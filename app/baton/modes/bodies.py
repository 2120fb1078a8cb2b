"""The HTTP models of the orchestrator mode."""

from datetime import datetime
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from baton.engine.call.modes import Mode, ModeSetting, Scope
from baton.kernel.http.moments import Moment

Level = Literal["strict", "guidance"]


class ModeBody(BaseModel):
    """A mode to set at a scope."""

    model_config = ConfigDict(
        extra="forbid",
        str_max_length=1_024,
        json_schema_extra={
            "examples": [
                {
                    "scope": "project",
                    "id": "github.com/acme/shop",
                    "enabled": True,
                    "level": "strict",
                    "reason": "release week",
                    "expires_at": "2100-01-05T09:30:00Z",
                }
            ]
        },
    )

    scope: Scope
    id: str = Field("", description="The team, project, user or session; organisation has none.")
    user: str = Field("", description="With scope user_project: whose; the caller when absent.")
    project: str = Field("", description="With scope user_project: which; the caller's when absent.")
    enabled: bool
    level: Level = Field("guidance", validation_alias=AliasChoices("level", "enforcement_level"))
    locked: bool = Field(False, description="With scope organisation: narrower settings count only where stricter.")
    reason: str = ""
    expires_at: Moment | None = None


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


class ListedModeModel(ModeSettingModel):
    """One setting, and what `PUT /mode` takes in `If-Match`."""

    etag: str


class ModePage(BaseModel):
    """A page of settings by scope and name; `next_cursor` is absent on the last one."""

    items: list[ListedModeModel]
    next_cursor: str | None = None
