"""The HTTP models of the orchestrator mode."""

from datetime import datetime
from typing import Annotated, Literal

import msgspec
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from baton.kernel.http.fields import PROJECT, Moment
from baton.rules.call.modes import Freeze, FreezeScope, Mode, ModeSetting, Scope

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
    project: Annotated[str, PROJECT] = Field(
        "", description="With scope user_project: which; the caller's when absent."
    )
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
    def build(cls, setting: ModeSetting) -> "ModeSettingModel":
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
    """The mode in force, and its chain of settings from wide to narrow. The last one decides."""

    enabled: bool
    level: Level
    scope: str
    activated_at: datetime | None = None
    auto_activated: bool
    chain: list[ModeSettingModel]

    @classmethod
    def build(cls, mode: Mode) -> "ModeModel":
        """Show a mode as the API does."""
        return cls(
            enabled=mode.enabled,
            level=mode.level,
            scope=mode.scope,
            activated_at=mode.activated_at,
            auto_activated=mode.auto_activated,
            chain=[ModeSettingModel.build(setting) for setting in mode.chain],
        )


class FreezeBody(BaseModel):
    """A scope to freeze."""

    model_config = ConfigDict(
        extra="forbid",
        str_max_length=1_024,
        json_schema_extra={
            "examples": [
                {"scope": "project", "id": "github.com/acme/shop", "reason": "incident 4711", "read_only": True}
            ]
        },
    )

    scope: FreezeScope
    id: str = Field("", description="The team, project, user or session; organisation has none.")
    read_only: bool = Field(False, description="Allow calls that only read.")
    reason: str = Field(min_length=1, description="Shown to the agent with each refusal.")
    expires_at: Moment | None = Field(None, description="When it ends by itself; never when absent.")


class FreezeModel(BaseModel):
    """A freeze in force."""

    scope: FreezeScope
    id: str | None = None
    user: str | None = None
    read_only: bool
    reason: str
    expires_at: datetime | None = None
    set_by: str
    set_at: datetime | None = None

    @classmethod
    def build(cls, freeze: Freeze) -> "FreezeModel":
        """Show a freeze as the API does."""
        return cls(**{name: value for name, value in msgspec.structs.asdict(freeze).items() if value != ""})


class FreezePage(BaseModel):
    """All freezes visible to the caller."""

    items: list[FreezeModel]


class ListedModeModel(ModeSettingModel):
    """One setting, and the `If-Match` value for `PUT /mode`."""

    etag: str


class ModePage(BaseModel):
    """A page of settings by scope and name; `next_cursor` is absent on the last one."""

    items: list[ListedModeModel]
    next_cursor: str | None = None
