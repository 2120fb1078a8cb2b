"""The webhook sink: each event as a signed POST, in the form of Standard Webhooks."""

import base64
import hashlib
import hmac
import html
import time
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import httpx2
import msgspec

from baton.events.sinks.runner import SinkEvent, SinkFailed
from baton.kernel.http.outbound_guard import OutboundRefused, destination, outbound_tls

TIMEOUT_S = 10.0
"""Longest wait for a receiver, in seconds."""
ATTEMPTS = 12
"""How often an event is sent before it is given up: with the pauses between, for about seven minutes."""
SECRET_PREFIX = "whsec_"  # noqa: S105 - how secrets begin
CONTENT_TYPE = "application/cloudevents+json"
Format = Literal["cloudevents", "slack"]


class Webhook(msgspec.Struct, frozen=True, kw_only=True):
    """A registered receiver. `secret` signs its deliveries; a message for Slack links to `console`."""

    id: str
    url: str
    topics: tuple[str, ...]
    secret: str
    format: Format = "cloudevents"
    console: str = ""

    def __repr__(self) -> str:
        return f"Webhook({self.id})"


class _Head(msgspec.Struct, frozen=True):
    id: str


_head = msgspec.json.Decoder(_Head).decode


class WebhookSink:
    """Posts to one receiver, one event after the other; redirects are not followed."""

    attempts = ATTEMPTS

    def __init__(self, webhook: Webhook, allowed: Sequence[str]) -> None:
        self.name = f"webhook:{webhook.id}"
        self._webhook = webhook
        self._allowed = tuple(allowed)
        self._client = httpx2.AsyncClient(
            verify=outbound_tls(), timeout=TIMEOUT_S, trust_env=False, follow_redirects=False
        )
        self._sent: set[str] = set()

    async def send(self, events: Sequence[SinkEvent]) -> None:
        """Post events; see `Sink`. Events of a batch already taken are not posted again."""
        for one in events:
            event_id = _head(one.event).id
            if event_id not in self._sent:
                await self._post(event_id, one.event)
                self._sent.add(event_id)
        self._sent.clear()

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _post(self, event_id: str, event: bytes) -> None:
        try:
            # Resolved each time: a name public at registration may resolve to an internal address today.
            to = await destination(self._webhook.url, self._allowed)
            kind = CONTENT_TYPE
            if self._webhook.format == "slack":
                event, kind = slack_message(event, self._webhook.console), "application/json"
            headers = {"host": to.host, "content-type": kind, "user-agent": "baton"}
            headers |= signed(self._webhook.secret, event_id, int(time.time()), event)
            async with self._client.stream(
                "POST", to.url, content=event, headers=headers, extensions={"sni_hostname": to.name}
            ) as answer:
                status = answer.status_code  # the body is not read: it may have no end
        except OutboundRefused as error:
            raise SinkFailed(f"the URL's {error}") from error
        except httpx2.HTTPError as error:
            raise SinkFailed(f"{type(error).__name__}: {error}"[:200]) from error
        if not 200 <= status < 300:  # noqa: PLR2004 - HTTP's word for success
            raise SinkFailed(f"the receiver answered {status}")


def slack_message(event: bytes, console: str) -> bytes:
    """Return an event as a message that Slack's incoming webhooks accept: a line of text, and a link to the console."""
    whole = msgspec.json.decode(event)
    data: dict[str, Any] = whole.get("data") or {}
    user, question = whole.get("user", ""), str(data.get("question_id") or "")
    shown = ("tool_name", "agent", "project", "state", "reason")
    facts = ", ".join(f"{name.replace('_', ' ')} {data[name]}" for name in shown if data.get(name))
    what = f"{user}: {data.get('event_type', whole.get('type', ''))}" + f" ({facts})" * bool(facts)
    text = html.escape(_asked(user, data, question) if question else what, quote=False)  # no link or mention in it
    screen = "modes?tab=exceptions" if question.startswith("exc_") else f"waiting/{question}"
    link = f" <{console}/ui/{screen}|Open>" if question and console else ""
    return msgspec.json.encode({"text": text + link})


def _asked(user: str, data: Mapping[str, Any], question: str) -> str:
    """Return a request for a person's answer, or its end, as a sentence."""
    act = " in ".join(filter(None, (data.get("tool_name") or question, data.get("project"))))
    match data.get("state"):
        case "answered":
            said = {"allow": "allowed", "deny": "denied"}.get(data.get("answer", ""), "answered")
            return f"{data.get('answered_by') or 'a rule'} {said} what {user}'s agent asked: {act}"
        case "expired":
            return f"Nobody answered {user}'s agent in time: {act}"
    whom = f" (for {' or '.join(data['approvers'].split())})" if data.get("approvers") else ""
    if question.startswith("exc_"):
        return f"{user} asks for an exception: {act}{whom}"
    return f"{user}'s agent waits for an answer: {act}{whom}"


def signed(secret: str, event_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the headers of Standard Webhooks: HMAC-SHA256 over id, timestamp (Unix seconds) and body, joined by dots."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    digest = hmac.new(key, f"{event_id}.{timestamp}.".encode() + body, hashlib.sha256).digest()
    return {
        "webhook-id": event_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }
