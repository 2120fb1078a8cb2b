"""What an enrichment handler is asked, what it answers, and what every handler is."""

from typing import Protocol

import msgspec

from baton.engine.call.principal import Principal


class EnrichmentPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt that is to be enriched. `text` is as the client sent it, secrets included."""

    text: str
    principal: Principal
    project: str = ""
    session_id: str = ""
    client: str = ""


class Enrichment(msgspec.Struct, frozen=True, kw_only=True):
    """What a handler adds to a prompt; nothing while `text` is "".

    `relevance` is from 0 to 1. `fallback_used` is True where the handler wanted to ask something else than it did, such as
    a model. `tokens_saved` is how many tokens the text is shorter than what it was made of.
    """

    text: str = ""
    relevance: float = 0.0
    model_used: str = ""
    fallback_used: bool = False
    tokens_saved: int = 0
    prompt_version: str = ""


class HandlerFailed(Exception):
    """A handler has nothing that can be used, for a reason that is no fault of this program."""


class Handler(Protocol):
    """Adds one kind of knowledge to a prompt."""

    name: str
    heading: str
    """The heading of its section, in plain text."""

    async def enrich(self, prompt: EnrichmentPrompt) -> Enrichment:
        """Return what is known for a prompt. Whatever it raises counts as nothing."""
        ...
