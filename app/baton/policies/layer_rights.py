"""Which policy layers a principal may read and change. It knows no layer's content and reads no table."""

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden, NotFound
from baton.people.permissions import reach, require


def may_read(principal: Principal, tier: str, name: str) -> bool:
    """Tell whether a layer may be seen: the organisation's and projects' by all, others by whom they concern."""
    if principal.role in {"admin", "auditor"}:
        return True
    match tier:
        case "team":
            return name == principal.team
        case "user":
            return name == principal.user
    return reach(principal, "policies.read") is not None


def place_of(source: str) -> tuple[str, str]:
    """Tell the tier and the name of the layer that a file of a revision comes from: `tier/name:path`."""
    place, colon, _ = source.rpartition(":")
    tier, _, name = place.partition("/")
    return (tier, name) if colon else ("shipped", "")


def require_write(principal: Principal, tier: str, name: str, *, team_of_project: str) -> None:
    """Refuse whom a layer is not for: developers set their own, leads their team's and its projects', admins all.

    Raises:
        Forbidden: the role may never do this.
        NotFound: another user's or team's layer, which is as if it were not there.
    """
    found = require(principal, "policies.write")
    own = tier == "user" and name == principal.user
    teams = found == "team" and principal.team != ""
    if found == "organisation" or own:
        return
    if not may_read(principal, tier, name):
        raise NotFound(f"there is no layer `{tier}/{name}` that you may change")
    if teams and tier == "team" and name == principal.team:
        return
    if teams and tier == "project" and team_of_project == principal.team:
        return
    allowed = "`user` (your own)" + (", `team` (your own), `project` (your team's)" if found == "team" else "")
    raise Forbidden(f"role `{principal.role}` may not change `{tier}/{name}`; allowed tiers: {allowed}")
