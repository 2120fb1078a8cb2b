"""Every router of FastAPI's endpoints, in one list. The endpoints of agents are not among them: `baton.main` mounts those."""

from fastapi import APIRouter

from baton.clients import installed_hooks_api, inventory_api
from baton.context.codemap import api as codemap
from baton.context.compliance import api as compliance
from baton.context.enrichment import api as enrichment
from baton.context.patterns import api as patterns
from baton.context.utilization import api as utilization
from baton.decide import explanation_api
from baton.delegate.jobs import api as jobs
from baton.delegate.jobs import replies_api, stream_api, submit_api
from baton.delegate.jobs.costs import api as costs_api
from baton.delegate.results import api as results
from baton.delegate.runners import api as runners
from baton.delegate.runners import permissions_api
from baton.events import api as events
from baton.events.webhooks import api as webhooks_api
from baton.modes import api as modes
from baton.operate import console_pages, health_api, metrics_api, servers_api
from baton.operate.costs import api as agent_costs_api
from baton.operate.live import api as live
from baton.operate.openapi import docs_api
from baton.operate.retention import api as retention_api
from baton.operate.user_data import api as user_data_api
from baton.people import teams_api, terminal_codes_api, tokens_api, users_api
from baton.people.browser_sessions import api as browser_sessions_api
from baton.people.oidc import api as account_sign_in
from baton.policies import agent_tables_api, drafts_api, layers_api, unlocks_api
from baton.policies import api as policies
from baton.records.analytics import latency_api
from baton.records.replay import api as replay
from baton.records.review import audit_api, decisions_api
from baton.records.review import stream_api as decision_stream_api
from baton.records.review.decision_counts import api as decision_counts_api
from baton.records.review.delegation_share import api as delegation_share_api
from baton.records.review.wrong_blocks import api as wrong_blocks_api
from baton.route.feedback import api as route_feedback
from baton.route.feedback import quality_api
from baton.route.llm import breakers_api
from baton.route.pipeline import local_answers_api
from baton.route.rosters import api as rosters
from baton.route.rosters import catalogue_api
from baton.sessions import inspection_api
from baton.sessions.overrides import api as overrides
from baton.sessions.timeline import api as timeline_api
from baton.spawn import api as spawn
from baton.spawn.graphs import api as graphs

ROUTERS: tuple[APIRouter, ...] = tuple(
    module.router
    for module in (
        health_api,
        servers_api,
        docs_api,
        console_pages,
        metrics_api,
        modes,
        live,
        decision_stream_api,  # these two before the decision of any id
        decision_counts_api,
        decisions_api,
        explanation_api,
        policies,
        drafts_api,
        layers_api,
        unlocks_api,
        agent_tables_api,
        replay,
        rosters,
        catalogue_api,
        installed_hooks_api,
        inventory_api,
        codemap,
        webhooks_api,
        events,
        utilization,
        enrichment,
        route_feedback,
        quality_api,
        patterns,
        compliance,
        tokens_api,
        terminal_codes_api,
        browser_sessions_api,
        account_sign_in,
        users_api,
        user_data_api,
        teams_api,
        audit_api,
        wrong_blocks_api,
        overrides,
        inspection_api,
        timeline_api,
        retention_api,
        delegation_share_api,
        latency_api,
        breakers_api,
        local_answers_api,
        submit_api,
        jobs,
        replies_api,
        results,
        stream_api,
        permissions_api,
        runners,
        costs_api,
        agent_costs_api,
        spawn,
        graphs,
    )
)
