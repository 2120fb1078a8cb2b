"""All FastAPI routers. `baton.main` mounts the hook endpoints separately."""

from fastapi import APIRouter

from baton.context.codemap import api as codemap
from baton.context.compliance import api as compliance
from baton.context.patterns import api as patterns
from baton.decide import approvals, bundle, explanation_api
from baton.delegate.jobs import api as jobs
from baton.delegate.jobs import costs as costs_api
from baton.delegate.jobs import replies, stream_api, submit_api
from baton.delegate.results import api as results
from baton.delegate.runners import api as runners
from baton.events import api as events
from baton.events import webhooks as webhooks_api
from baton.machines import installed_hooks, inventory_api
from baton.modes import api as modes
from baton.operate import console_pages, health_api, live, metrics, servers
from baton.operate import costs as agent_costs_api
from baton.operate import retention as retention_api
from baton.operate import user_data as user_data_api
from baton.operate.openapi import docs_api
from baton.people import teams_api, tokens_api, users_api
from baton.people.browser_sessions import api as browser_sessions_api
from baton.people.oidc import api as account_sign_in
from baton.policies import agent_tables, drafts_api, layers_api, unlocks_api
from baton.policies import api as policies
from baton.records import latency
from baton.records.replay import api as replay
from baton.records.review import audit, decisions_api
from baton.records.review import decision_counts as decision_counts_api
from baton.records.review import stream_api as decision_stream_api
from baton.records.review import wrong_blocks as wrong_blocks_api
from baton.records.review.delegation_share import api as delegation_share_api
from baton.route.feedback import quality
from baton.route.feedback import service as route_feedback
from baton.route.llm import breakers
from baton.route.pipeline import local_answers_api
from baton.route.rosters import api as rosters
from baton.route.rosters import catalogue_api
from baton.sessions import inspection_api
from baton.sessions.exceptions import api as exceptions
from baton.sessions.timeline import api as timeline_api
from baton.spawn import api as spawn
from baton.spawn.graphs import api as graphs

ROUTERS: tuple[APIRouter, ...] = tuple(
    module.router
    for module in (
        health_api,
        servers,
        docs_api,
        console_pages,
        metrics,
        modes,
        bundle,
        live,
        decision_stream_api,  # these two before the decision of any id
        decision_counts_api,
        decisions_api,
        explanation_api,
        approvals,
        policies,
        drafts_api,
        layers_api,
        unlocks_api,
        agent_tables,
        replay,
        rosters,
        catalogue_api,
        installed_hooks,
        inventory_api,
        codemap,
        webhooks_api,
        events,
        route_feedback,
        quality,
        patterns,
        compliance,
        tokens_api,
        browser_sessions_api,
        account_sign_in,
        users_api,
        user_data_api,
        teams_api,
        audit,
        wrong_blocks_api,
        exceptions,
        inspection_api,
        timeline_api,
        retention_api,
        delegation_share_api,
        latency,
        breakers,
        local_answers_api,
        submit_api,
        jobs,
        replies,
        results,
        stream_api,
        runners,
        costs_api,
        agent_costs_api,
        spawn,
        graphs,
    )
)
