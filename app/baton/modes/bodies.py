"""The HTTP models of the orchestrator mode."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, BaseModel, Field
from pydantic_core import PydanticCustomError

from baton.kernel.http.fields import PROJECT, ApiModel, Moment, request_body
from baton.rules.call.modes import Freeze, FreezeScope, Mode, ModeSetting, Scope

Level = Literal["strict", "guidance"]


def _not_over(at: datetime) -> datetime:
    if at <= datetime.now(UTC):
        raise PydanticCustomError("over", "is over already; give a later time, or none")
    return at


End = Annotated[Moment, AfterValidator(_not_over)]


class ModeBody(BaseModel):
    """A mode to set at a scope."""

    model_config = request_body(
        {"scope": "project", "id": "github.com/acme/shop", "enabled": True, "level": "strict",
        "reason": "release week", "expires_at": "2100-01-05T09:30:00Z"}, longest=1_024
    )  # fmt: skip

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
    expires_at: End | None = None


class ListedMode(ModeSetting, frozen=True, kw_only=True, omit_defaults=True):
    """One setting, and the `If-Match` value for `PUT /mode`."""

    etag: str


_SETTING = ApiModel(without=("delegated",), blank=("id", "user", "project", "locked", "reason", "set_by"))
ShownSetting = Annotated[ModeSetting, _SETTING]
ShownMode = Annotated[Mode, ApiModel(chain=list[ShownSetting])]


class FreezeBody(BaseModel):
    """A scope to freeze."""

    model_config = request_body(
        {"scope": "project", "id": "github.com/acme/shop", "reason": "incident 4711", "read_only": True}, longest=1_024
    )

    scope: FreezeScope
    id: str = Field("", description="The team, project, user or session; organisation has none.")
    read_only: bool = Field(False, description="Allow calls that only read.")
    reason: str = Field(min_length=1, description="Shown to the agent with each refusal.")
    expires_at: End | None = Field(None, description="When it ends by itself; never when absent.")


ShownFreeze = Annotated[Freeze, ApiModel(blank=("id", "user"))]


class FreezePage(BaseModel):
    """All freezes visible to the caller."""

    items: list[ShownFreeze]


class ModePage(BaseModel):
    """A page of settings by scope and name; `next_cursor` is absent on the last one."""

    items: list[Annotated[ListedMode, _SETTING]]
    next_cursor: str | None = None
