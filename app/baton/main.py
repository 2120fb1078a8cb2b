"""The composition root: builds every feature once, from the lowest floor up. Only `serve` imports it."""

import contextlib
import gc
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI

from baton.context.feature import build as build_context
from baton.decide.feature import build as build_decide
from baton.decide.feature import hot_routes as decide_routes
from baton.delegate.feature import build as build_delegate
from baton.delegate.runners.agent_tokens import PREFIX
from baton.events.feature import build as build_events
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.base.settings import Settings
from baton.kernel.base.sql import Database
from baton.kernel.http import problems
from baton.kernel.http.features import Features, Lifecycle
from baton.kernel.http.peer import PeerLooks
from baton.kernel.http.serving.hot_routes import Guard, HotFastAPI, HotRoute, RouteIndex, StartFailed
from baton.kernel.kernel import Kernel
from baton.kernel.redis.client import Redis
from baton.machines.feature import build as build_machines
from baton.modes.feature import build as build_modes
from baton.operate.backing import MENDABLE, backing
from baton.operate.feature import build as build_operate
from baton.operate.openapi import document
from baton.people.browser_sessions.api import SIGN_IN_CALL, SIGN_IN_PATH
from baton.people.browser_sessions.service import BrowserSessions
from baton.people.feature import build as build_people
from baton.people.oidc.api import BEGIN_CALL, FINISH_CALL
from baton.people.rate_limits import RateLimits
from baton.policies.feature import build as build_policies
from baton.records.feature import build as build_records
from baton.route.feature import build as build_route
from baton.route.feature import hot_routes as route_routes
from baton.routers import ROUTERS
from baton.rules.call.call import Principal
from baton.rules.policy.load import PolicyProblems
from baton.sessions.feature import build as build_sessions
from baton.spawn.feature import build as build_spawn
from baton.spawn.graphs.store import owns

_DESCRIPTION = "One server that a team shares, and that every coding agent asks before it acts."
_MENDABLE = (*MENDABLE, PolicyProblems)  # failures to start other than bugs
_GC_THRESHOLDS = (50_000, 4, 1_000)
"""Objects from start-up are permanent, so `baton serve` collects no garbage until then. A busy tick creates more than
5,000 objects: collecting that often costs 7 to 10 % more CPU per call."""
_SWITCH_S = 0.001  # maximum time of a compiling or replaying thread before the event loop's turn, in seconds


def create_app(
    settings: Settings,
    on_ready: Callable[[], None] = lambda: None,
    *,
    redis_url: str = "",
    show_link: Callable[[str], None] | None = None,
) -> HotFastAPI:
    """Build the application. Its lifespan starts and stops all services, and calls `on_ready` in between.

    With a `redis_url` it is one of several workers: the supervisor owns Redis, the schema and the drain. `show_link`
    writes the path for the first sign-in.
    """

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            try:
                url = redis_url or await stack.enter_async_context(backing(settings))
                kernel = await _kernel(settings, url, stack, app.peers)
                hot = await _build(kernel, app, is_worker=redis_url != "")
                kernel.begin()
                on_ready()
            except _MENDABLE as error:
                raise StartFailed(f"Baton cannot start: {error}") from error
            app.hot = {one.path: one for one in hot}
            gc.freeze()
            gc.set_threshold(*_GC_THRESHOLDS)
            gc.enable()
            sys.setswitchinterval(_SWITCH_S)
            app.lifecycle.phase = "ready"
            if show_link is not None:
                with contextlib.suppress(StoreUnavailable):  # `baton open` makes a link later
                    show_link(await _first_link(settings, app.state.features.get(BrowserSessions)))
            yield
            app.lifecycle.phase = "draining"

    app = HotFastAPI(
        title="Baton",
        version=version("baton"),
        description=_DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        generate_unique_id_function=lambda route: route.name,  # the `operationId`
    )
    app.guard = Guard(settings.allowed_hosts)
    app.admit = lambda _: None
    app.open_paths = frozenset({SIGN_IN_CALL, BEGIN_CALL, FINISH_CALL})
    app.hot = {}
    app.lifecycle = Lifecycle()
    app.peers = PeerLooks()
    app.state.features = Features()
    app.state.limits = RateLimits(settings)
    problems.install(app, ROUTERS)
    for router in ROUTERS:
        app.include_router(router)
    app.router.middleware_stack = RouteIndex(ROUTERS, app.router.app)
    app.openapi = lambda: document.document(app)  # type: ignore[method-assign]
    return app


async def _first_link(settings: Settings, browsers: BrowserSessions) -> str:
    """Return the sign-in link for the machine's own user, shown at the server's start."""
    person = Principal(organisation=settings.organisation, team=settings.team, user=settings.default_user, role="admin")
    return f"{SIGN_IN_PATH}#{(await browsers.link(person)).code}"


async def _kernel(settings: Settings, redis_url: str, stack: AsyncExitStack, peers: PeerLooks) -> Kernel:
    """Connect to Redis, in the background if it is unavailable. SQL connects with the first query."""
    redis = Redis(redis_url, timeout_s=settings.redis_timeout_ms / 1000)
    await redis.start()
    stack.push_async_callback(redis.close)
    database = Database(settings)
    stack.push_async_callback(database.close)
    return Kernel(settings, redis, database, stack, peers)


async def _build(kernel: Kernel, app: HotFastAPI, *, is_worker: bool) -> list[HotRoute]:
    """Build every feature, from the lowest floor up. Return the hook endpoints."""
    people = await build_people(kernel)
    events = await build_events(kernel)
    policies = await build_policies(kernel, people.users)
    machines = build_machines(kernel, people.users)
    records = await build_records(kernel, policies.policies, people.users, events.writer, events.feed)
    modes = await build_modes(kernel, people.users, events.emitter)
    sessions = await build_sessions(
        kernel,
        users=people.users,
        policies=policies.policies,
        modes=modes.modes,
        records=records,
        projects=machines.projects,
        inventories=machines.inventories,
        events=events.emitter,
    )
    context = await build_context(
        kernel, counters=records.counters, events=events.emitter, policies=policies.policies, recorder=records.recorder
    )
    route = await build_route(
        kernel,
        policies=policies.policies,
        tables=policies.agent_tables,
        sessions=sessions.sessions,
        counters=records.counters,
        context=context,
        events=events.emitter,
    )
    decide = build_decide(
        kernel,
        app.lifecycle,
        users=people.users,
        policies=policies.policies,
        records=records,
        modes=modes.modes,
        freezes=modes.freezes,
        sessions=sessions,
        routing=route.pipeline,
        context=context,
        limits=app.state.limits,
        events=events,
        is_worker=is_worker,
    )
    # Built after `decide`, although below it: delegated agents' permission requests are decided like any call.
    delegate = build_delegate(
        kernel,
        users=people.users,
        rules=decide.pre_tool_use,
        modes=modes.modes,
        freezes=modes.freezes,
        owns_graph=owns,
        events=events.emitter,
    )
    people.tokens.also(PREFIX, delegate.agent_tokens.check)
    spawn = build_spawn(
        kernel, users=people.users, policies=policies.policies, jobs=delegate.jobs, inventories=machines.inventories
    )
    operate = build_operate(
        kernel,
        app.lifecycle,
        users=people.users,
        policies=policies.policies,
        records=records,
        history=sessions.history,
        inventories=machines.inventories,
        jobs=delegate.counts,
        approvals=decide.approvals,
        events=events.personal,
        modes=modes.listing,
        is_worker=is_worker,
    )
    kernel.run(kernel.changes.run)
    features: Features = app.state.features
    for feature in (
        people,
        events,
        policies,
        machines,
        records,
        modes,
        sessions,
        context,
        route,
        decide,
        delegate,
        spawn,
        operate,
    ):
        features.add(feature)
    app.admit = people.callers.read
    return [
        *decide_routes(
            decide,
            callers=people.callers,
            records=records,
            sessions=sessions,
            context=context,
            seen=machines.seen,
            processes=machines.processes,
            limits=app.state.limits,
        ),
        *route_routes(route, callers=people.callers, sessions=sessions.sessions, seen=machines.seen),
    ]
