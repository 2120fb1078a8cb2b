"""Every router of FastAPI's endpoints, in one list. The endpoints of agents are not among them: `app.main` mounts those."""

from fastapi import APIRouter

from app.api import (
    analytics,
    audit,
    breakers,
    decisions,
    graphs,
    health,
    job_routes,
    local_delegation,
    metrics,
    mode,
    modes,
    overrides,
    policies,
    policy_layers,
    replay,
    reports,
    retention,
    roster_pushes,
    rosters,
    route_feedback,
    sessions,
    spawn,
    teams,
    tokens,
    users,
)

ROUTERS: tuple[APIRouter, ...] = tuple(
    module.router
    for module in (
        health,
        metrics,
        mode,
        decisions,
        policies,
        policy_layers,
        replay,
        rosters,
        roster_pushes,
        route_feedback,
        tokens,
        users,
        teams,
        modes,
        audit,
        reports,
        overrides,
        sessions,
        retention,
        analytics,
        breakers,
        local_delegation,
        job_routes,
        spawn,
        graphs,
    )
)
