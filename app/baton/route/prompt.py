"""A prompt that is to be routed."""

import msgspec

from baton.clients.inventory import Inventory
from baton.engine.call.principal import Principal


class InlineRoster(msgspec.Struct, frozen=True):
    """A roster that came with the prompt: its JSON as it was sent, and the digest of that."""

    raw: bytes
    digest: str


class Prompt(msgspec.Struct, frozen=True, kw_only=True):
    """A prompt: who sent it, from where, and the name of the roster that was asked for ("" for none).

    `text` is the prompt as the client sent it: any length, any characters, secrets included.
    """

    text: str
    principal: Principal
    client: str = ""
    session_id: str = ""
    agent_id: str = ""
    """The sub-agent that it was written for, "" if a person wrote to the agent itself."""
    project: str = ""
    roster: str = ""
    inline: InlineRoster | None = None
    agents: Inventory | None = None
    """The agents that the session's client has, None if they are not known."""
    agents_missing: bool = False
    """Whether it has some that cannot be read now."""
