"""A server's services around exceptions, without HTTP: the base of the tests of exceptions and wrong blocks."""

from datetime import UTC, datetime
from pathlib import Path

from uuid_utils import uuid7

from baton.kernel.changes.announce import Changes
from baton.people.users import Users
from baton.policies.in_force import KIND as POLICIES
from baton.policies.in_force import Policies
from baton.records.replay.rule_hits import RuleHits
from baton.records.review.decisions import Decisions
from baton.rules.call.record import Record
from baton.sessions.exceptions.service import Exceptions
from baton.shared import policy_folders


def record(**fields):
    given = {
        "at": datetime.now(UTC), "organisation": "default", "team": "red", "user": "dora", "client": "codex",
        "event": "PreToolUse", "session_id": "s", "tool": "Edit",
    }  # fmt: skip
    return Record(id=str(uuid7()), **(given | fields))


class Process:
    """One server's view of what all share."""

    def __init__(self, database, redis, folder: Path, **more):
        self.changes = Changes(redis, database, "default")
        self.users = Users(database, self.changes, organisation="default", team="default")
        self.policies = Policies(policy_folders.shipped(), folder, database, "default")
        self.changes.on(POLICIES, self.policies.load_layers, self.policies.load_some)
        self.exceptions = Exceptions(
            database,
            self.changes,
            self.users,
            self.policies,
            Decisions(database),
            RuleHits(database, self.policies),
            organisation="default",
            **more,
        )
