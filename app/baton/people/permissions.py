"""The one table of who may do what, and how far it reaches."""

from typing import Literal

from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden, PersonRequired

Reach = Literal["job", "own", "team", "organisation"]
"""What a permission covers: a delegated agent's one job, the caller's own things, those of their team, of everybody."""
Role = Literal["developer", "lead", "admin", "runner", "auditor", "observer", "hook"]
ROLES: tuple[Role, ...] = ("developer", "lead", "admin", "runner", "auditor", "observer", "hook")
"""A token of role `hook` is for hooks: its user counts as a developer, and only `FOR_AGENTS` is allowed. One of role
`observer` is for a system that reads events, and changes nothing."""

_OWN: dict[str, Reach] = {"developer": "own", "runner": "own"}
_EVERY_OWN: dict[str, Reach] = {**_OWN, "lead": "own", "admin": "own"}
_READ: dict[str, Reach] = {**_OWN, "lead": "team", "admin": "organisation", "auditor": "organisation"}
"""Developers see their own, leads their team's, admins and auditors everybody's."""
_READ_BY_LEADS: dict[str, Reach] = {"lead": "team", "admin": "organisation", "auditor": "organisation"}
_OF_PRINCIPALS = ("developer", "lead", "admin", "runner", "auditor")
_READ_BY_ALL: dict[str, Reach] = dict.fromkeys(_OF_PRINCIPALS, "organisation")
_READ_BY_TEAM: dict[str, Reach] = {
    **dict.fromkeys(_OF_PRINCIPALS, "team"),
    "admin": "organisation",
    "auditor": "organisation",
}
_WRITE: dict[str, Reach] = {"developer": "own", "lead": "team", "admin": "organisation"}
_WRITE_BY_LEADS: dict[str, Reach] = {"lead": "team", "admin": "organisation"}
_ADMIN: dict[str, Reach] = {"admin": "organisation"}
# Not in ROLES: nobody makes a token of these, they come with a lease. Whatever is not named here, they may not do.
_AGENTS: dict[str, Reach] = {"agent": "job", "delegating-agent": "job"}
_DELEGATING: dict[str, Reach] = {"delegating-agent": "job"}

ASK_A_PERSON = (
    "the person runs `baton` in a terminal of their own on the server's machine, or sends a token of their own"
)
"""How somebody gets past `PersonRequired`; an agent reads it too, and knows then what to tell the person."""

TABLE: dict[str, dict[str, Reach]] = {
    "analytics.read": _READ,
    "audit.read": {"admin": "organisation", "auditor": "organisation"},
    "breakers.read": _READ_BY_ALL,
    "breakers.write": _ADMIN,
    "calls.make": {"developer": "own", "lead": "own", "admin": "own", "runner": "own", **_AGENTS},
    "clients.read": _READ,
    "clients.report": {"developer": "own", "lead": "own", "admin": "own"},  # whose hooks are installed
    "codemap.read": {**_EVERY_OWN, "auditor": "own"},
    "codemap.write": _EVERY_OWN,
    "context.handlers.read": {"admin": "organisation", "auditor": "organisation"},
    "context.handlers.write": _ADMIN,
    "context.read": _READ_BY_TEAM,
    "context.write": _WRITE_BY_LEADS,
    "console.open": {"developer": "own", "lead": "own", "admin": "own", "auditor": "own"},
    "compliance.report": {"admin": "organisation", "observer": "organisation"},  # who may read the request, too
    "decisions.read": _READ,
    "delegation.try": _READ_BY_ALL,
    "events.read": {**_READ, "observer": "organisation"},
    "events.restricted": {"observer": "organisation"},  # content of prompts and files: nobody has it by another office
    "events.webhooks": _ADMIN,
    "graphs.read": _READ,
    "graphs.write": _EVERY_OWN,
    "inventory.read": {**_EVERY_OWN, "auditor": "own"},
    "jobs.apply": {"developer": "own", "lead": "own", "admin": "own"},  # into files of their own machines
    "jobs.decide": _WRITE,
    "jobs.read": {**_READ, **_AGENTS},
    "jobs.run": _EVERY_OWN,
    "jobs.submit": {**_EVERY_OWN, **_DELEGATING},
    "jobs.write": {**_WRITE, "runner": "own", **_DELEGATING},
    "metrics.read": {"admin": "organisation", "auditor": "organisation"},
    "modes.read": _READ,
    "modes.write": _WRITE,
    "overrides.read": _READ,
    "overrides.write": _WRITE_BY_LEADS,  # of rules that they may write: `baton.policies.layer_rights`
    "patterns.decide": _WRITE_BY_LEADS,
    "patterns.propose": {"developer": "team", "lead": "team", "runner": "team", "admin": "organisation"},
    "patterns.read": _READ_BY_TEAM,
    "policies.read": _READ_BY_ALL,
    "policies.replay": _READ_BY_LEADS,
    "policies.unlock": _ADMIN,
    "policies.write": _WRITE,
    "projects.read": _READ_BY_ALL,
    "projects.write": _ADMIN,
    "reports.read": _READ,
    "reports.resolve": _WRITE_BY_LEADS,
    "reports.write": _WRITE,
    "retention.read": {"admin": "organisation", "auditor": "organisation"},
    "retention.write": _ADMIN,
    "runners.read": _READ,
    "rosters.read": _READ_BY_TEAM,
    "rosters.write": _WRITE_BY_LEADS,
    "routes.feedback": _WRITE,
    "routes.fit": _WRITE_BY_LEADS,
    "routes.fits": _READ_BY_LEADS,
    "routes.make": {"developer": "own", "lead": "own", "admin": "own", "runner": "own"},
    "sessions.read": _READ,
    "sessions.write": _WRITE,
    "spawns.make": {**_EVERY_OWN, **_DELEGATING},
    "teams.read": _READ_BY_ALL,
    "teams.settings": _WRITE_BY_LEADS,
    "teams.write": _ADMIN,
    "tokens.create": _ADMIN,
    "tokens.hook": {"developer": "own", "lead": "own", "admin": "own"},  # for hooks of their own machines
    "tokens.read": {"developer": "own", "lead": "own", "runner": "own", "admin": "organisation",
                    "auditor": "organisation"},
    "tokens.refused": {"admin": "organisation", "auditor": "organisation"},
    "tokens.revoke": {"developer": "own", "lead": "own", "runner": "own", "admin": "organisation"},
    "users.delete-data": {"developer": "own", "lead": "own", "admin": "organisation"},
    "users.export": {"developer": "own", "lead": "own", "admin": "organisation", "auditor": "organisation"},
    "users.read": _READ,
    "users.write": _ADMIN,
}  # fmt: skip

CONSOLE_ROLES = tuple(TABLE["console.open"])
"""Roles that a person can have at the console."""

_WRITES_OF_AGENTS = frozenset(
    {
        "calls.make", "clients.report", "codemap.write", "graphs.write", "jobs.apply", "jobs.submit", "jobs.write",
        "modes.write", "patterns.propose", "reports.write", "routes.feedback", "routes.make", "spawns.make",
    }
)  # fmt: skip
"""What agents do while they work. Of `modes.write` they have one direction only: on, and stricter."""
FOR_AGENTS = _WRITES_OF_AGENTS | {
    action
    for action in TABLE
    if (action.endswith(".read") and action != "events.read")
    or action in {"delegation.try", "policies.replay", "routes.fits"}
}
"""What the credential of hooks and agents may do; a person does the rest, so that no agent can weaken what guards it.

Events are no part of it: an agent that acknowledged them would take them from the systems of its user.
"""


def reach(principal: Principal, action: str) -> Reach | None:
    """Return how far a principal's permission for an action reaches; None where their role may never do it."""
    found = TABLE[action].get(principal.role)
    if not principal.agent or found is None:
        return found
    if action in _WRITES_OF_AGENTS:
        return "own"
    return found if action in FOR_AGENTS else None


def require(principal: Principal, action: str) -> Reach:
    """Return how far the permission reaches.

    Raises:
        Forbidden: The role may never do this.
        PersonRequired: The role may, but the request comes with the credential of hooks and agents.
    """
    found = reach(principal, action)
    if found is None:
        if principal.agent and action not in FOR_AGENTS:
            raise PersonRequired(f"`{action}` needs a person; {ASK_A_PERSON}")
        allowed = ", ".join(f"`{role}`" for role in TABLE[action])
        raise Forbidden(f"role `{principal.role}` may not do `{action}`; allowed: {allowed}")
    return found


def covers(principal: Principal, action: str, *, user: str, team: str) -> bool:
    """Return whether a principal may do this to what belongs to a user of a team ("" for a user without one)."""
    match reach(principal, action):
        case "organisation":
            return True
        case "team":
            return user == principal.user or (team != "" and team == principal.team)
        case "own":
            return user == principal.user
        case "job" | None:  # which job, the room of jobs knows
            return False
