"""Builds the orchestrator mode."""

import msgspec

from baton.events.emission import Emitter
from baton.kernel.kernel import Kernel
from baton.modes.freezes import Freezes
from baton.modes.listing import ModeList
from baton.modes.service import Modes
from baton.people.users import Users


class ModesFeature(msgspec.Struct, frozen=True, kw_only=True):
    """The mode in force, and its settings as people see them."""

    modes: Modes
    freezes: Freezes
    listing: ModeList


async def build(kernel: Kernel, users: Users, events: Emitter) -> ModesFeature:
    """Build the services and read every setting. Raise DatabaseUnavailable."""
    modes = Modes(
        kernel.database,
        kernel.changes,
        organisation=kernel.organisation,
        auto_level=kernel.settings.auto_level,
        events=events,
    )
    await modes.load()
    freezes = Freezes(kernel.database, kernel.changes, users, organisation=kernel.organisation)
    await freezes.load()
    return ModesFeature(modes=modes, freezes=freezes, listing=ModeList(modes, users))
