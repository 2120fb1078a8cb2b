"""A server's services around overrides, without HTTP: what the tests of overrides and of wrong blocks build on."""

from datetime import UTC, datetime
from pathlib import Path

from uuid_utils import uuid7

from baton.engine.call.record import Record
from baton.kernel.changes.announce import Changes
from baton.modes.service import Modes
from baton.people.users import Users
from baton.policies.in_force import KIND as POLICIES
from baton.policies.in_force import Policies
from baton.sessions.overrides.service import Overrides
from baton.shared import policy_folders


def record(**fields):
    given = {
        "at": datetime.now(UTC), "organisation": "default", "team": "red", "user": "dora", "client": "codex",
        "event": "PreToolUse", "session_id": "s", "tool": "Edit",
    }  # fmt: skip
    return Record(id=str(uuid7()), **(given | fields))


class Process:
    """One server's view of what all share."""

    def __init__(self, database, redis, folder: Path):
        self.changes = Changes(redis, database, "default")
        self.users = Users(database, self.changes, organisation="default", team="default")
        self.policies = Policies(policy_folders.shipped(), folder, database, "default")
        self.changes.on(POLICIES, self.policies.load_layers, self.policies.load_some)
        self.modes = Modes(database, self.changes, organisation="default", auto_level="strict")
        self.overrides = Overrides(
            database, self.changes, self.users, self.policies, self.modes, organisation="default"
        )
