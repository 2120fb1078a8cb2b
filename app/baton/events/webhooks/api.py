"""`/events/webhooks`: receivers of signed events, registered by admins."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, Field

from baton.events.sinks.runner import SinkCounts
from baton.events.sinks.webhook import Format
from baton.events.webhooks.service import RegisteredWebhook, Webhooks
from baton.kernel.http.features import of
from baton.kernel.http.fields import request_body
from baton.people.callers import CallerOf
from baton.people.rate_limits import ADMIN

router = APIRouter(tags=["events"], prefix="/events/webhooks")
WebhooksOf = Annotated[Webhooks, Depends(of(Webhooks))]


class WebhookBody(BaseModel):
    """A webhook to register."""

    model_config = request_body(
        {"url": "https://8.8.8.8/baton", "topics": ["decisions", "jobs"], "reason": "the on-call board"}, longest=1_000
    )

    url: str = Field(min_length=1, description="Destination of the events; it must be a public address.")
    topics: list[str] = Field(min_length=1, max_length=100, description="Short names of open topics.")
    description: str = ""
    format: Format = Field(
        "cloudevents", description="`slack`: a `text` that Slack accepts, of a request with a link to the console."
    )
    reason: str = ""


class WebhookModel(BaseModel):
    """A registered webhook, and the results of its deliveries."""

    id: str
    url: str
    topics: list[str]
    description: str
    format: Format
    created_at: datetime
    created_by: str
    sent: int = 0
    failures: int = 0
    given_up: int = 0
    """Events that it did not take after twelve attempts."""
    gaps: int = 0
    """How often events were removed before they could be sent."""
    error: str = ""
    error_at: datetime | None = None

    @classmethod
    def build(cls, webhook: RegisteredWebhook, counts: SinkCounts) -> "WebhookModel":
        """Return a webhook as the API shows it: without its secret."""
        return cls(
            id=webhook.id,
            url=webhook.url,
            topics=list(webhook.topics),
            description=webhook.description,
            format=webhook.format,
            created_at=webhook.created_at,
            created_by=webhook.created_by,
            sent=counts.sent,
            failures=counts.failures,
            given_up=counts.given_up,
            gaps=counts.gaps,
            error=counts.error,
            error_at=datetime.fromtimestamp(counts.error_at, UTC) if counts.error_at else None,
        )


class NewWebhookModel(WebhookModel):
    """A newly registered webhook with its signing secret, shown only this once."""

    secret: str


class WebhooksModel(BaseModel):
    """All webhooks, oldest first."""

    items: list[WebhookModel]


@router.get("", operation_id="list_event_webhooks", response_model_exclude_none=True)
async def list_webhooks(caller: CallerOf, webhooks: WebhooksOf) -> WebhooksModel:
    """List the webhooks, with their delivery counts."""
    return WebhooksModel(items=[WebhookModel.build(*one) for one in await webhooks.find(caller.principal)])


@router.post(
    "", operation_id="create_event_webhook", status_code=201, response_model_exclude_none=True, dependencies=[ADMIN]
)
async def create_webhook(
    request: Request, caller: CallerOf, webhooks: WebhooksOf, body: WebhookBody
) -> NewWebhookModel:
    """Register a webhook. It receives events published from now on, signed in the form of Standard Webhooks.

    Links of messages begin with the address to which this request is sent.
    """
    console = str(request.base_url).rstrip("/")
    made = await webhooks.add(caller.principal, **body.model_dump(), console=console)
    return NewWebhookModel(**WebhookModel.build(made, SinkCounts()).model_dump(), secret=made.secret)


@router.delete("/{webhook_id}", operation_id="delete_event_webhook", status_code=204, dependencies=[ADMIN])
async def delete_webhook(
    caller: CallerOf, webhooks: WebhooksOf, webhook_id: str, reason: Annotated[str, Query(max_length=1_000)] = ""
) -> None:
    """Remove a webhook; nothing more is sent to it."""
    await webhooks.remove(caller.principal, webhook_id, reason)
