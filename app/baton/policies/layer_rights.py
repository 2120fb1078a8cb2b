"""Who may read and change which policy layer; who may change a layer may also lift its rules for a session."""

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden, NotFound
from baton.people.permissions import reach, require


def may_read(principal: Principal, tier: str, name: str) -> bool:
    """Return whether a principal may see a layer: everybody sees the organisation's and projects', a team its own."""
    if principal.role in {"admin", "auditor"}:
        return True
    match tier:
        case "team":
            return name == principal.team
        case "user":
            return name == principal.user
    return reach(principal, "policies.read") is not None


def place_of(source: str) -> tuple[str, str]:
    """Return the tier and the name of the layer that a file of a revision comes from: `tier/name:path`."""
    place, colon, _ = source.rpartition(":")
    tier, _, name = place.partition("/")
    return (tier, name) if colon else ("shipped", "")


def may_write(principal: Principal, tier: str, name: str, *, team_of_project: str) -> bool:
    """Return whether a principal may change a layer, and so may lift its rules for a session.

    Developers change their own layer, leads also their team's and those of its projects, admins every one.
    """
    reach_of_role = reach(principal, "policies.write")
    if reach_of_role == "organisation":
        return True
    if tier == "user":
        return reach_of_role is not None and name == principal.user
    team = {"team": name, "project": team_of_project}.get(tier, "")
    return reach_of_role == "team" and team != "" and team == principal.team


def require_write(principal: Principal, tier: str, name: str, *, team_of_project: str) -> None:
    """Refuse a principal who may not change a layer.

    Raises:
        Forbidden: The role may not change it.
        NotFound: It is another user's or team's layer, which is as if it were not there.
    """
    found = require(principal, "policies.write")
    if may_write(principal, tier, name, team_of_project=team_of_project):
        return
    if not may_read(principal, tier, name):
        raise NotFound(f"there is no layer `{tier}/{name}` that you may change")
    allowed = "`user` (your own)" + (", `team` (your own), `project` (your team's)" if found == "team" else "")
    raise Forbidden(f"role `{principal.role}` may not change `{tier}/{name}`; allowed tiers: {allowed}")
