"""Turns how far a permission reaches into whose rows a query may give. It grants nothing: `permissions` does."""

from baton.engine.call.principal import Principal
from baton.people.permissions import require
from baton.people.row_scope import Whose


def whose(principal: Principal, action: str) -> Whose:
    """Tell whose rows an action covers.

    Raises:
        Forbidden: the role may never do this.
    """
    match require(principal, action):
        case "organisation":
            return Whose()
        case "team":
            return Whose(user=principal.user, team=principal.team)
        case "own":
            return Whose(user=principal.user)
