"""Checks a model's service in the background, so that no prompt waits for the result."""

import logging
from datetime import UTC, datetime

import msgspec

from baton.route.llm.client import Endpoint, ModelClient, ModelFailed

log = logging.getLogger(__name__)

TIMEOUT_S = 2.0


class ModelStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The model used by routing for unclear prompts, as of this server's last check; `up` is None before the first."""

    url: str
    model: str
    up: bool | None = None
    detail: str = ""
    checked_at: datetime | None = None


class ModelHealth:
    """The health of one service, as this process sees it."""

    def __init__(self, client: ModelClient, endpoint: Endpoint) -> None:
        self._client = client
        self._endpoint = endpoint
        self.status = ModelStatus(url=endpoint.shown, model=endpoint.model)

    async def check(self) -> None:
        """Check now; a change is logged once."""
        detail = ""
        try:
            await self._client.alive(self._endpoint, TIMEOUT_S)
        except ModelFailed as error:
            detail = str(error)
        up = not detail
        if up != self.status.up:
            log.log(
                logging.INFO if up else logging.WARNING,
                "the model at %s is %s", self._endpoint.shown, "there" if up else f"not there: {detail}",
            )  # fmt: skip
        self.status = msgspec.structs.replace(self.status, up=up, detail=detail, checked_at=datetime.now(UTC))
