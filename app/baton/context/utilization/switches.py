"""Which sources of context are switched off, for a team or for everybody. Leads switch for their team, admins for all."""

from collections.abc import Callable, Iterable
from difflib import get_close_matches

import msgspec

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden, NotFound
from baton.kernel.base.sql import Database
from baton.kernel.changes import organisation_settings
from baton.kernel.changes.announce import Changes
from baton.people.permissions import require

KIND = "context-sources"
BUILT_IN = frozenset({"summarization", "code_analysis", "similarity", "patterns", "advisories"})
"""The sources that Baton has; handlers by URL are named by who registers them."""
EVERYBODY = ""
"""The key of what is off for all teams."""


class SourceSwitch(msgspec.Struct, frozen=True, kw_only=True):
    """A source, whether it is off for everybody, and the teams that it is off for."""

    source: str
    off: bool
    off_for_teams: list[str]


class SourceSwitches:
    """The switches in force, in memory; every server reads a change at once."""

    def __init__(
        self, database: Database, changes: Changes, organisation: str, known: Callable[[], frozenset[str]]
    ) -> None:
        self._known = known
        self._database = database
        self._changes = changes
        self._organisation = organisation
        self._off: dict[str, frozenset[str]] = {}
        changes.on(KIND, self.load)

    async def load(self) -> None:
        """Read the switches from SQL. Raise DatabaseUnavailable."""
        async with self._changes.turn(KIND):
            value, _ = await organisation_settings.get(self._database, self._organisation, KIND)
            self._off = {team: frozenset(names) for team, names in msgspec.convert(value, dict[str, list[str]]).items()}

    def on(self, principal: Principal, source: str) -> bool:
        """Return whether a source may add to a principal's prompts."""
        return source not in self._off.get(EVERYBODY, ()) and source not in self._off.get(principal.team, ())

    def find(self, principal: Principal) -> list[SourceSwitch]:
        """List the sources, and for whom they are off, as far as a principal may see. Raise Forbidden."""
        reach = require(principal, "context.read")
        teams = [team for team in self._off if team and (reach == "organisation" or team == principal.team)]
        known = sorted(self._known().union(*self._off.values()))
        return [self._switch(source, teams) for source in known]

    async def switch(self, principal: Principal, source: str, *, enabled: bool, team: str, reason: str) -> SourceSwitch:
        """Switch a source on or off for a team, or for everybody where the team is "".

        Raises:
            Forbidden: If the role may not, or not for everybody.
            NotFound: If it is another team than the lead's, or there is no such source.
            StoreUnavailable: If the database is away; nothing was changed.
        """
        reach = require(principal, "context.write")
        if reach != "organisation" and team != principal.team:
            if team == EVERYBODY:
                raise Forbidden(f"role `{principal.role}` may not switch for everybody; name your own team")
            raise NotFound(f"there is no team `{team}` that you may switch sources for")
        self._require_known(source)
        async with self._changes.write(KIND, principal, "context.switch") as change:
            value, version = await organisation_settings.get_with(change.connection, self._organisation, KIND)
            stored = msgspec.convert(value, dict[str, list[str]])
            before = set(stored.get(team, ()))
            after = before - {source} if enabled else before | {source}
            if after == before:
                change.unchanged()
            else:
                stored[team] = sorted(after)
                await organisation_settings.put(change.connection, self._organisation, KIND, stored, version + 1)
                await change.audit(
                    f"{source} of {f'team {team}' if team else 'everybody'}",
                    before={"enabled": not enabled},
                    after={"enabled": enabled},
                    reason=reason,
                )
        return self._switch(source, [one for one in self._off if one and one in {team, principal.team}])

    def _require_known(self, source: str) -> None:
        known = self._known().union(*self._off.values())
        if source not in known:
            near = get_close_matches(source, known, n=1)
            listed = ", ".join(f"`{one}`" for one in sorted(known))
            raise NotFound(
                f"there is no source `{source}`"
                + (f"; did you mean `{near[0]}`?" if near else f"; there are: {listed}")
            )

    def _switch(self, source: str, teams: Iterable[str]) -> SourceSwitch:
        return SourceSwitch(
            source=source,
            off=source in self._off.get(EVERYBODY, ()),
            off_for_teams=sorted(team for team in teams if source in self._off[team]),
        )
