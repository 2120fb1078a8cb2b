"""Which rows a query returns, by how far the permission of the principal who asks reaches."""

from typing import Any

import msgspec
from sqlalchemy import Select, Table

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden
from baton.kernel.base.storable import storable
from baton.people.permissions import require


class RowScope(msgspec.Struct, frozen=True, kw_only=True):
    """The user's own rows and their team's; with both empty, everybody's."""

    user: str = ""
    team: str = ""

    def limit(self, query: Select[Any], table: Table) -> Select[Any]:
        """Restrict a query to the rows in scope, by the table's columns `user` and `team`."""
        if self.team:
            return query.where((table.c.team == storable(self.team)) | (table.c.user == storable(self.user)))
        return query.where(table.c.user == storable(self.user)) if self.user else query

    def covers(self, user: str, team: str) -> bool:
        """Return whether something of a user in a team is in scope."""
        return not self.user or user == storable(self.user) or (self.team != "" and team == storable(self.team))


def row_scope(principal: Principal, action: str) -> RowScope:
    """Return the rows that a principal may do an action on.

    Raises:
        Forbidden: The role may never do this, or never to more than one object.
    """
    match require(principal, action):
        case "organisation":
            return RowScope()
        case "team":
            return RowScope(user=principal.user, team=principal.team)
        case "own":
            return RowScope(user=principal.user)
        case "job":
            raise Forbidden(f"the token is for job `{principal.job}` alone; it lists nothing")
