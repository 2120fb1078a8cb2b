"""Build the clients feature: when each agent client was last heard of."""

import msgspec

from baton.clients.last_heard import ClientActivity
from baton.kernel.kernel import Kernel
from baton.people.users import Users


class ClientsFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The clients that call this server."""

    seen: ClientActivity


def build(kernel: Kernel, users: Users) -> ClientsFeature:
    """Build the feature; contacts are written to SQL in the background."""
    seen = ClientActivity(kernel.database, users, kernel.organisation)
    kernel.run(seen.run)
    return ClientsFeature(seen=seen)
