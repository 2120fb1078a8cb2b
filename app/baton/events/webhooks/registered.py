"""A webhook as an admin registered it."""

from datetime import datetime

import msgspec


class RegisteredWebhook(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook as it is stored; `secret` is shown once, when it is made."""

    id: str
    url: str
    topics: tuple[str, ...]
    secret: str
    description: str
    created_at: datetime
    created_by: str
