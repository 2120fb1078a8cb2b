"""The settings that a server runs with, as an admin may see them: without any secret."""

import json
from pathlib import Path

import msgspec
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from baton.engine.text.masking import mask
from baton.kernel.base.oidc_settings import OidcSettings
from baton.kernel.base.settings import Settings


class SettingInForce(msgspec.Struct, frozen=True, kw_only=True):
    """One setting by its variable. `value` is as one would write it in the environment, and empty for a secret.

    `is_default` is False where the value is not the one that Baton has by itself.
    """

    name: str
    value: str
    is_default: bool
    is_secret: bool
    description: str


def settings_in_force(settings: Settings) -> list[SettingInForce]:
    """Return all settings, in the order in which docs/operations.md lists them."""
    given = settings.model_fields_set
    return [
        SettingInForce(
            name="PORT" if name == "port" else f"BATON_{name.upper()}",
            value=shown(value := getattr(settings, name)),
            is_default=name not in given or value == field.default,
            is_secret=isinstance(value, SecretStr) and value.get_secret_value() != "",
            description=field.description or "",
        )
        for name, field in listed(type(settings))
    ]


def listed(settings: type[Settings]) -> list[tuple[str, FieldInfo]]:
    """Return all settings by their fields' names, in the order in which people read them.

    The group that `Settings` inherits comes last: few need it, and pydantic has it first.
    """
    return sorted(settings.model_fields.items(), key=lambda one: one[0] in OidcSettings.model_fields)


def shown(value: object) -> str:
    """Return a value as text; secrets and passwords in it are masked."""
    if isinstance(value, SecretStr) or value is None:
        return ""
    if isinstance(value, (str, Path)):
        return mask(str(value))
    return mask(json.dumps(_plain(value)))


def _plain(value: object) -> object:
    """Return a value as JSON has it; models show their secrets as stars."""
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json", exclude_defaults=True)
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return value
