"""A prompt to route."""

import msgspec

from baton.context.enrichment.handler import EnrichmentPrompt
from baton.machines.inventory import Inventory


class InlineRoster(msgspec.Struct, frozen=True):
    """A roster sent with the prompt: its raw JSON, and the digest of it."""

    raw: bytes
    digest: str


class Prompt(EnrichmentPrompt, frozen=True, kw_only=True):
    """A prompt: its sender, its origin, and the requested roster's name ("" for none)."""

    agent_id: str = ""  # the sub-agent that it was written for, "" if a person wrote to the agent itself
    roster: str = ""
    inline: InlineRoster | None = None
    agents: Inventory | None = None  # the agents that the session's client has, None if they are not known
    agents_missing: bool = False  # whether it has some that cannot be read now
