"""Whose rows a query gives. It does not know who asks: services work it out from a permission's reach."""

from typing import Any

import msgspec
from sqlalchemy import Select, Table

from baton.kernel.base.sql import storable


class Whose(msgspec.Struct, frozen=True, kw_only=True):
    """Whose rows a query may give: the user's own and their team's; both "" for everybody's."""

    user: str = ""
    team: str = ""

    def limit(self, query: Select[Any], table: Table) -> Select[Any]:
        """Leave out what is not theirs, by the table's `user` and `team`."""
        if self.team:
            return query.where((table.c.team == storable(self.team)) | (table.c.user == storable(self.user)))
        return query.where(table.c.user == storable(self.user)) if self.user else query
