"""What a team's sessions repeat, from the table of decisions."""

from datetime import datetime

import msgspec
from sqlalchemy import func, select

from baton.kernel.base.sql import Database
from baton.kernel.base.storable import storable
from baton.kernel.base.uuid7 import least_id
from baton.records.pipeline.tables import DecisionRow

MOST_COMMANDS = 200
_decisions = DecisionRow.__table__


class RepeatedCommand(msgspec.Struct, frozen=True):
    """A command, and in how many sessions of how many people it ran in a project."""

    project: str
    command: str
    sessions: int
    users: int


async def commands(
    database: Database, organisation: str, team: str, since: datetime, *, least_sessions: int
) -> list[RepeatedCommand]:
    """Return the commands that ran in so many sessions of a team, the most repeated first. Raise DatabaseUnavailable."""
    sessions = func.count(_decisions.c.session_id.distinct())
    query = (
        select(_decisions.c.project, _decisions.c.command, sessions, func.count(_decisions.c.user.distinct()))
        .where(
            _decisions.c.organisation == organisation,
            _decisions.c.team == storable(team),
            _decisions.c.id >= least_id(since),  # the index of teams is by id
            _decisions.c.event == "PreToolUse",
            _decisions.c.outcome == "ran",
            _decisions.c.command != "",
        )
        .group_by(_decisions.c.project, _decisions.c.command)
        .having(sessions >= least_sessions)
        .order_by(sessions.desc(), _decisions.c.command)
        .limit(MOST_COMMANDS)
    )
    async with database.transaction() as connection:
        return [RepeatedCommand(*row) for row in (await connection.execute(query)).all()]
