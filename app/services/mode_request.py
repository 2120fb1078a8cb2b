"""Which setting a request about the mode means. It does not read or change any."""

import msgspec

from app.engine.modes import Scope
from app.errors import Invalid
from app.services.caller import Caller


class Target(msgspec.Struct, frozen=True, kw_only=True):
    """The place of one setting, in the terms of `app.engine.modes.ModeSetting`."""

    scope: Scope
    id: str = ""
    user: str = ""
    project: str = ""


def target(caller: Caller, scope: Scope, id: str, user: str, project: str) -> Target:  # noqa: A002 - the field's name
    """Tell which setting is meant; what the request leaves out is the caller's own.

    Raises:
        Invalid: naming the field that the scope needs or does not take.
    """
    own = caller.principal
    _refuse_unused(scope, id, user, project)
    match scope:
        case "organisation":
            return Target(scope=scope)
        case "user_project":
            if not (project or caller.project):
                raise Invalid("project", "is missing; scope `user_project` is one user in one project")
            return Target(scope=scope, user=_user(caller, user or own.user), project=project or caller.project)
        case "session":
            if not id:
                raise Invalid("id", "is missing; scope `session` needs the session's id")
            user = _user(caller, user) if own.sees_all() else own.user
            return Target(scope=scope, id=id, user=user, project=caller.project)
        case "user":
            return Target(scope=scope, id=_user(caller, id or own.user))
        case "team":
            return Target(scope=scope, id=id or own.team)
        case "project":
            if not (id or caller.project):
                raise Invalid("id", "is missing; scope `project` needs the project")
            return Target(scope=scope, id=id or caller.project)


def refuse_lock(scope: Scope, *, locked: bool) -> None:
    """Raise Invalid where a setting below the organisation would be locked."""
    if locked and scope != "organisation":
        raise Invalid("locked", f"is for scope `organisation`; this is scope `{scope}`")


def _refuse_unused(scope: Scope, id: str, user: str, project: str) -> None:  # noqa: A002 - the field's name
    if scope in {"organisation", "user_project"} and id:
        raise Invalid("id", f"is not used with scope `{scope}`")
    if scope not in {"user_project", "session"} and user:
        raise Invalid("user", f"is not used with scope `{scope}`; the scope's name goes into `id`")
    if scope != "user_project" and project:
        raise Invalid("project", f"is not used with scope `{scope}`; the scope's name goes into `id`")


def _user(caller: Caller, user: str) -> str:
    if user not in {"", caller.principal.user} and not caller.principal.sees_all():
        raise Invalid("user", f"is `{user}`; you may set your own mode", [caller.principal.user])
    return user
