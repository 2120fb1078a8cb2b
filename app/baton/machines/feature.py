"""Builds the machines feature: last contacts of clients, and the projects of sessions."""

import msgspec

from baton.kernel.kernel import Kernel, PeriodicTask
from baton.machines.client_processes import ClientProcesses
from baton.machines.installed_hooks import InstalledHooks
from baton.machines.inventories import Inventories
from baton.machines.session_projects import ClientActivity, SessionProjects
from baton.people.users import Users


class MachinesFeature(msgspec.Struct, frozen=True, kw_only=True):
    """Reports from people's machines about their clients."""

    seen: ClientActivity
    installed: InstalledHooks
    projects: SessionProjects
    processes: ClientProcesses
    inventories: Inventories


def build(kernel: Kernel, users: Users) -> MachinesFeature:
    """Build the feature. Contacts are written to SQL in the background."""
    seen = ClientActivity(kernel.database, users, kernel.organisation)
    kernel.every(PeriodicTask("contacts of clients", 5, lambda _: seen.flush(), at_stop=True))
    processes = ClientProcesses(kernel.redis, has_socket=not kernel.settings.auth_on)
    kernel.peers.known_clients = processes.known
    ttl_s = kernel.settings.history_ttl_s
    return MachinesFeature(
        seen=seen,
        installed=InstalledHooks(kernel.database, users, kernel.organisation),
        projects=SessionProjects(kernel.redis, ttl_s),
        processes=processes,
        inventories=Inventories(kernel.redis, ttl_s),
    )
