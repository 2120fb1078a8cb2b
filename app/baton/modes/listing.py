"""Lists the mode settings visible to a person."""

import msgspec

from baton.modes.service import Modes
from baton.people.users import Users, covers, require
from baton.rules.call.call import Principal
from baton.rules.call.modes import ModeSetting


class ModeFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Filters for settings, all of which must match. `user` is a setting's owner."""

    scope: str = ""
    id: str = ""
    user: str = ""
    project: str = ""
    enabled: bool | None = None


class ModeList:
    """The settings of the organisation, as far as each principal's permission reaches."""

    def __init__(self, modes: Modes, users: Users) -> None:
        self._modes = modes
        self._users = users

    def find(
        self, principal: Principal, wanted: ModeFilter, *, after: tuple[str, ...], limit: int
    ) -> list[ModeSetting]:
        """List settings by scope and name; `after` continues after the key of a page's last one. Raise Forbidden."""
        require(principal, "modes.read")
        found = [
            setting
            for setting in sorted(self._modes.settings, key=lambda setting: setting.key)
            if setting.key > after and _is(setting, wanted) and self.visible(principal, setting)
        ]
        return found[:limit]

    def visible(self, principal: Principal, setting: ModeSetting) -> bool:
        """Return whether a principal may see a setting.

        Everybody sees the settings of the organisation, their own team, and projects owned by no other team.
        """
        match setting.scope:
            case "organisation":
                return True
            case "team":
                return setting.id == principal.team or covers(principal, "modes.read", user="", team=setting.id)
            case "project":
                team = self._users.project_team(setting.id)
                return team in {"", principal.team} or covers(principal, "modes.read", user="", team=team)
            case _:
                user = _owner(setting)
                return covers(principal, "modes.read", user=user, team=self._users.team_of(user))


def _owner(setting: ModeSetting) -> str:
    return setting.id if setting.scope == "user" else setting.user or setting.set_by


def _is(setting: ModeSetting, wanted: ModeFilter) -> bool:
    return (
        wanted.scope in {"", setting.scope}
        and wanted.id in {"", setting.id}
        and (
            not wanted.user or (setting.scope in {"user", "user_project", "session"} and wanted.user == _owner(setting))
        )
        and wanted.project in {"", setting.project, setting.id if setting.scope == "project" else ""}
        and wanted.enabled in {None, setting.enabled}
    )
