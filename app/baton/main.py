"""The composition root: builds every part once, wires it, and takes it down in order. Nothing imports it but `serve`."""

import asyncio
import gc
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from importlib.metadata import version

from fastapi import FastAPI

from baton.clients.last_heard import ClientsSeen
from baton.decide.api import MAX_BODY, PreToolUseEndpoint
from baton.decide.dry_run_api import EvaluateEndpoint
from baton.decide.hooks import Hooks
from baton.decide.hooks_api import MAX_BODY as MAX_HOOK_BODY
from baton.decide.hooks_api import PATH as HOOKS_PATH
from baton.decide.hooks_api import HooksEndpoint
from baton.decide.service import PreToolUse
from baton.decide.session_events_api import SessionEventsEndpoint
from baton.delegate.runners.exemption import DelegatedSessions
from baton.delegate.runners.parts import delegation
from baton.engine.policy.load import PolicyProblems
from baton.kernel.base.background import keep_up
from baton.kernel.base.call_rate import CallRate
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.changes.announce import Changes
from baton.kernel.http import problems
from baton.kernel.http.hot_routes import HotFastAPI, HotRoute, StartFailed
from baton.kernel.http.origin_guard import Guard
from baton.kernel.redis.client import Redis
from baton.modes.listing import ModeList
from baton.modes.service import Modes
from baton.operate.backing import MENDABLE, backing
from baton.operate.health import Health
from baton.operate.metrics import Metrics
from baton.operate.openapi import document as openapi
from baton.operate.retention import Retention
from baton.operate.user_data import UserData
from baton.people.callers import CallerReader
from baton.people.rate_limits import Limits
from baton.people.tokens import Tokens
from baton.people.users import Users
from baton.policies import folders
from baton.policies.in_force import KIND as POLICIES
from baton.policies.in_force import Policies
from baton.policies.layers import PolicyLayers
from baton.records.pipeline.counters import Counters
from baton.records.pipeline.recorder import Recorder
from baton.records.replay.rule_counts import RuleCounts
from baton.records.replay.service import Replay
from baton.records.review.audit import Audit
from baton.records.review.decisions import Decisions
from baton.records.review.delegation_share import Analytics
from baton.records.review.wrong_blocks import Reports
from baton.registry import Services
from baton.route.llm.breakers import Breakers
from baton.route.pipeline import parts as routing_parts
from baton.route.pipeline.api import MAX_BODY as MAX_ROUTE_BODY
from baton.route.pipeline.api import RouteEndpoint
from baton.route.pipeline.models import Models
from baton.route.rosters.rows import RosterRows
from baton.routers import ROUTERS
from baton.sessions.history import History
from baton.sessions.inspection import SessionAdmin
from baton.sessions.overrides.service import Overrides
from baton.sessions.service import Sessions
from baton.spawn.graphs.parts import spawning

_DESCRIPTION = "One server that a team shares, and that every coding agent asks before it acts."
_MENDABLE = (*MENDABLE, PolicyProblems)
"""What keeps a server from starting and is no bug of its own."""
_GC_THRESHOLDS = (50_000, 4, 1_000)
"""What start-up built stays. A busy tick makes more than 5,000 objects: collected so often, a call costs 7 to 10 % more CPU."""
_SWITCH_S = 0.001
"""Longest that a thread which compiles or replays policies keeps the loop waiting for its turn, in seconds."""


def create_app(settings: Settings, on_ready: Callable[[], None] = lambda: None, *, redis_url: str = "") -> HotFastAPI:
    """Build the application; its lifespan starts and stops everything that it needs, and tells when it is ready.

    With a Redis given, it is one of several workers: what stands behind them is another process's.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                services = await _start(settings, redis_url, stack)
            except _MENDABLE as error:
                raise StartFailed(f"Baton cannot start: {error}") from error
            app.state.services = services
            app.state.callers = CallerReader(settings, services.tokens)
            _mount(app, services)
            gc.collect()
            gc.freeze()
            gc.set_threshold(*_GC_THRESHOLDS)
            sys.setswitchinterval(_SWITCH_S)
            services.health.phase = "ready"
            on_ready()
            yield
            services.health.phase = "draining"

    app = HotFastAPI(
        title="Baton", version=version("baton"), description=_DESCRIPTION, lifespan=lifespan, redoc_url=None
    )
    app.guard = Guard(settings.allowed_hosts)
    app.admit = lambda _: None
    app.hot = {}
    app.state.limits = Limits(settings)
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router)
    app.openapi = lambda: openapi.document(app)  # type: ignore[method-assign]
    return app


async def _start(settings: Settings, redis_url: str, stack: AsyncExitStack) -> Services:
    redis_url = redis_url or await stack.enter_async_context(backing(settings))
    redis = Redis(redis_url, timeout_s=settings.redis_timeout_ms / 1000)
    await redis.start()
    stack.push_async_callback(redis.close)
    database = Database(settings)
    stack.push_async_callback(database.close)
    changes = Changes(redis, database, settings.organisation)

    counters = Counters()
    recorder = Recorder(settings, redis_url, database)
    await recorder.start()
    stack.push_async_callback(recorder.stop)
    users = Users(database, changes, organisation=settings.organisation, team=settings.team)
    tokens = Tokens(database, changes, users, organisation=settings.organisation)
    await users.load()
    await tokens.load()
    _in_background(tokens.run, stack)
    modes = Modes(database, changes, organisation=settings.organisation, auto_level=settings.auto_level)
    await modes.load()
    loaded = Policies(folders.shipped(), settings.policies, database, settings.organisation)
    await loaded.load_layers()
    changes.on(POLICIES, loaded.load_layers)
    layers = PolicyLayers(database, loaded, changes, users)
    _in_background(loaded.watch, stack)
    seen = ClientsSeen(database, users, settings.organisation)
    _in_background(seen.run, stack)
    rate = CallRate(settings.rate_per_minute, settings.rate_burst)
    history = History(redis, ttl_s=settings.history_ttl_s, rate=rate)
    sessions = Sessions(
        modes=modes,
        history=history,
        recorder=recorder,
        policies=loaded,
        users=users,
        delegated=DelegatedSessions(database, modes),
    )
    overrides = Overrides(database, changes, users, loaded, modes, organisation=settings.organisation)
    await overrides.load()
    kept = Retention(database, settings.organisation)
    _in_background(kept.run, stack)
    pre_tool_use = PreToolUse(
        rate=rate,
        policies=loaded,
        modes=modes,
        sessions=sessions,
        history=history,
        recorder=recorder,
        counters=counters,
        overrides=overrides,
        users=users,
    )
    guarded = Breakers(database, redis, changes, counters, organisation=settings.organisation)
    models = Models(settings, guarded)
    stack.push_async_callback(models.close)
    await guarded.load()
    _in_background(guarded.run, stack)
    _in_background(models.run, stack)
    routing = await routing_parts.build(
        settings,
        redis=redis,
        database=database,
        changes=changes,
        policies=loaded,
        sessions=sessions,
        counters=counters,
        models=models,
    )
    delegated = delegation(settings, database, redis, users, pre_tool_use, modes)
    _in_background(delegated.bell.run, stack)
    _in_background(delegated.sweeper.run, stack)
    spawned = spawning(settings.organisation, database, loaded, users, delegated.jobs)
    _in_background(spawned.graph_spawns.run, stack)
    decided = Decisions(database)
    checked = Health(redis, database)
    published = Metrics(counters=counters, recorder=recorder, policies=loaded, health=checked, jobs=delegated.counts)
    _in_background(published.run, stack)
    _in_background(changes.run, stack)
    return Services(
        analytics=Analytics(database, loaded),
        audit=Audit(database),
        breakers=guarded,
        clients_seen=seen,
        counters=counters,
        decisions=decided,
        delegation=delegated,
        health=checked,
        hooks=Hooks(
            pre_tool_use=pre_tool_use, sessions=sessions, routing=routing.pipeline, route_prompts=settings.route_prompts
        ),
        metrics=published,
        mode_list=ModeList(modes, users),
        models=models,
        modes=modes,
        overrides=overrides,
        policies=loaded,
        policy_layers=layers,
        pre_tool_use=pre_tool_use,
        recorder=recorder,
        replay=Replay(database, loaded),
        rosters=RosterRows(loaded, layers, routing.pushes),
        routing=routing,
        rule_counts=RuleCounts(database, loaded),
        reports=Reports(database, decided),
        retention=kept,
        session_admin=SessionAdmin(database, history, modes, overrides),
        sessions=sessions,
        spawning=spawned,
        tokens=tokens,
        user_data=UserData(database, changes, users, modes, history),
        users=users,
    )


def _in_background(work: Callable[[asyncio.Event], Coroutine[None, None, None]], stack: AsyncExitStack) -> None:
    stop = asyncio.Event()
    task = asyncio.create_task(keep_up(work, stop))

    async def end() -> None:
        stop.set()
        with suppress(asyncio.CancelledError):
            await task

    stack.push_async_callback(end)


def _mount(app: HotFastAPI, services: Services) -> None:
    callers: CallerReader = app.state.callers
    hooks = HooksEndpoint(callers, services.hooks, services.counters, services.clients_seen)
    events = SessionEventsEndpoint(services.sessions)
    evaluate = EvaluateEndpoint(services.pre_tool_use, services.policies)
    route = RouteEndpoint(services.routing, services.sessions, services.clients_seen)
    calls = PreToolUseEndpoint(services.pre_tool_use, services.clients_seen)
    anybody, agents = callers.read, callers.read_for_call
    app.admit = anybody
    app.hot = {
        route.path: route
        for route in (
            HotRoute(path=HOOKS_PATH, max_body=MAX_HOOK_BODY, admit=agents, answer=hooks.answer, failed=hooks.failed),
            HotRoute(path="/pre-tool-use", max_body=MAX_BODY, admit=agents, answer=calls.answer),
            HotRoute(path="/route", max_body=MAX_ROUTE_BODY, admit=agents, answer=route.answer),
            HotRoute(path="/route/explain", max_body=MAX_ROUTE_BODY, admit=anybody, answer=route.explain),
            HotRoute(path="/policies/evaluate", max_body=MAX_BODY, admit=anybody, answer=evaluate.answer),
            HotRoute(path="/session-start", max_body=MAX_BODY, admit=agents, answer=events.start),
            HotRoute(path="/session-end", max_body=MAX_BODY, admit=agents, answer=events.end),
            HotRoute(path="/post-tool-use", max_body=MAX_BODY, admit=agents, answer=events.tool_used),
        )
    }
