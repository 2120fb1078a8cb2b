"""Build the clients feature: when each agent client was last heard of, and which project its sessions belong to."""

import msgspec

from baton.clients.client_processes import ClientProcesses
from baton.clients.installed_hooks import InstalledHooks
from baton.clients.inventories import Inventories
from baton.clients.last_heard import ClientActivity
from baton.clients.session_projects import SessionProjects
from baton.kernel.kernel import Kernel
from baton.people.users import Users


class ClientsFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The clients that call this server."""

    seen: ClientActivity
    installed: InstalledHooks
    projects: SessionProjects
    processes: ClientProcesses
    inventories: Inventories


def build(kernel: Kernel, users: Users) -> ClientsFeature:
    """Build the feature; contacts are written to SQL in the background."""
    seen = ClientActivity(kernel.database, users, kernel.organisation)
    kernel.run(seen.run)
    processes = ClientProcesses(kernel.redis, has_socket=not kernel.settings.auth_on)
    kernel.peers.known_clients = processes.find
    ttl_s = kernel.settings.history_ttl_s
    return ClientsFeature(
        seen=seen,
        installed=InstalledHooks(kernel.database, users, kernel.organisation),
        projects=SessionProjects(kernel.redis, ttl_s),
        processes=processes,
        inventories=Inventories(kernel.redis, ttl_s),
    )
