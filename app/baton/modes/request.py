"""Resolves the mode setting of a request."""

import msgspec

from baton.kernel.base.errors import Forbidden, Invalid, NotFound, PersonRequired
from baton.people.users import ASK_A_PERSON, Reach, Users, covers, require
from baton.people.users import reach as permitted
from baton.rules.call.call import Principal
from baton.rules.call.modes import Scope
from baton.shared.caller import Caller
from baton.shared.storable import project_name

_WIDTH: dict[Reach, int] = {"own": 0, "team": 1, "organisation": 2}
_NEEDED: dict[Scope, int] = {"session": 0, "user_project": 0, "user": 0, "project": 1, "team": 1, "organisation": 2}
"""How far a permission must reach to set the mode at a scope."""
_NEVER = ("freeze", "user_project")  # freezes have no such scope


class ModeTarget(msgspec.Struct, frozen=True, kw_only=True):
    """The place of one setting, in the terms of `baton.rules.call.modes.ModeSetting`."""

    scope: Scope
    id: str = ""
    user: str = ""
    project: str = ""


def target(
    caller: Caller,
    users: Users,
    scope: Scope,
    id: str,  # noqa: A002 - the field's name
    user: str = "",
    project: str = "",
    *,
    what: str = "set the mode",
) -> ModeTarget:
    """Return the setting named by a request to do `what`. Missing fields default to the caller's own.

    Raises:
        Invalid: Naming the missing or unexpected field.
        Forbidden: The caller's role sets nothing at this scope.
        NotFound: It belongs to a person outside the caller's role.
    """
    own = caller.principal
    reach = require(own, "modes.write")
    _refuse_unused(scope, id, user, project)
    _check_scope(own, reach, scope, what)
    match scope:
        case "organisation":
            return ModeTarget(scope=scope)
        case "user_project":
            if not (project or caller.project):
                raise Invalid("project", "is missing; scope `user_project` is one user in one project")
            return ModeTarget(
                scope=scope, user=_user(caller, users, user or own.user, what), project=project or caller.project
            )
        case "session":
            if not id:
                raise Invalid("id", "is missing; scope `session` needs the session's id")
            # A principal with access to everybody need not name the session's owner.
            user = _user(caller, users, user if reach == "organisation" else user or own.user, what)
            return ModeTarget(scope=scope, id=id, user=user, project=caller.project)
        case "user":
            return ModeTarget(scope=scope, id=_user(caller, users, id or own.user, what))
        case "team":
            _check_team(caller, id or own.team, f"there is no team `{id}` for which you may {what}")
            return ModeTarget(scope=scope, id=id or own.team)
        case "project":
            if not (id or caller.project):
                raise Invalid("id", "is missing; scope `project` needs the project")
            name = project_name(id) or caller.project
            _check_team(
                caller,
                users.project_team(name),
                f"`{name}` is no project of your team; an admin says whose: `baton team project set`",
            )
            return ModeTarget(scope=scope, id=name)


def principal_of(caller: Caller, users: Users, user: str) -> Principal:
    """Return the principal of a mode request, by default the caller.

    Raises:
        NotFound: The request is about another user, hidden from the caller.
    """
    principal = caller.principal
    if user in {"", principal.user}:
        return principal
    if not users.covers(principal, "modes.read", user):
        raise NotFound(f"there is no mode of `{user}` that you may see")
    return msgspec.structs.replace(principal, user=user, team=users.team_of(user) or principal.team)


def _check_scope(own: Principal, reach: Reach, scope: Scope, what: str) -> None:
    if _WIDTH[reach] < _NEEDED[scope]:
        person = permitted(msgspec.structs.replace(own, agent=False), "modes.write")
        if person is not None and _WIDTH[person] >= _NEEDED[scope]:
            raise PersonRequired(f"to {what} at scope `{scope}` needs a person; {ASK_A_PERSON}")
        scopes = [f"`{one}`" for one, least in _NEEDED.items() if least <= _WIDTH[reach] and (what, one) != _NEVER]
        raise Forbidden(f"role `{own.role}` may not {what} at scope `{scope}`; allowed: {', '.join(scopes)}")


def _check_team(caller: Caller, team: str, otherwise: str) -> None:
    if not covers(caller.principal, "modes.write", user="", team=team):
        raise NotFound(otherwise)


def refuse_lock(scope: Scope, *, locked: bool) -> None:
    """Raise Invalid if a request locks a setting below the organisation."""
    if locked and scope != "organisation":
        raise Invalid("locked", f"is for scope `organisation`; this is scope `{scope}`")


def _refuse_unused(scope: Scope, id: str, user: str, project: str) -> None:  # noqa: A002 - the field's name
    if scope in {"organisation", "user_project"} and id:
        raise Invalid("id", f"is not used with scope `{scope}`")
    if scope not in {"user_project", "session"} and user:
        raise Invalid("user", f"is not used with scope `{scope}`; the scope's name goes into `id`")
    if scope != "user_project" and project:
        raise Invalid("project", f"is not used with scope `{scope}`; the scope's name goes into `id`")


def _user(caller: Caller, users: Users, user: str, what: str) -> str:
    if user and not users.covers(caller.principal, "modes.write", user):
        raise NotFound(f"there is no user `{user}` for whom you may {what}")
    return user
