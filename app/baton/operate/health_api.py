"""`GET /healthz` and `/readyz` for load balancers, `/status` for people."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, Field

from baton.clients.installed_hooks import InstalledHooks
from baton.clients.last_heard import ClientActivity, silent
from baton.context.utilization.usage import ContextUsage
from baton.delegate.runners.api import RunnerModel
from baton.delegate.runners.service import Runners
from baton.events.stats import EventCounts, EventStats
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.http.features import of
from baton.operate.health import Health
from baton.operate.metrics import Metrics
from baton.people.callers import PROTOCOL, CallerOf
from baton.people.directory import Token
from baton.people.permissions import reach
from baton.people.tokens import Tokens
from baton.policies.bodies import PolicyProblemModel
from baton.policies.in_force import Policies
from baton.policies.unlocks_api import UnlockModel, UnlocksOf
from baton.records.pipeline.recorder import Recorder
from baton.records.review.decisions import Decisions
from baton.route.llm.breakers import Breakers
from baton.route.llm.breakers_api import BreakerModel
from baton.route.pipeline.models import Models
from baton.route.rosters.indexes import Indexes, WordTableState

router = APIRouter(tags=["health"])
BreakersOf = Annotated[Breakers, Depends(of(Breakers))]
ClientActivityOf = Annotated[ClientActivity, Depends(of(ClientActivity))]
DecisionsOf = Annotated[Decisions, Depends(of(Decisions))]
EventStatsOf = Annotated[EventStats, Depends(of(EventStats))]
ContextUsageOf = Annotated[ContextUsage, Depends(of(ContextUsage))]
HealthOf = Annotated[Health, Depends(of(Health))]
InstalledHooksOf = Annotated[InstalledHooks, Depends(of(InstalledHooks))]
IndexesOf = Annotated[Indexes, Depends(of(Indexes))]
MetricsOf = Annotated[Metrics, Depends(of(Metrics))]
ModelsOf = Annotated[Models, Depends(of(Models))]
PoliciesOf = Annotated[Policies, Depends(of(Policies))]
RecorderOf = Annotated[Recorder, Depends(of(Recorder))]
RunnersOf = Annotated[Runners, Depends(of(Runners))]
TokensOf = Annotated[Tokens, Depends(of(Tokens))]


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    """Whether the server takes calls; a dependency that is down degrades it but does not make it unready."""

    status: Literal["ready", "starting", "draining"]
    redis: Literal["up", "down"]
    database: Literal["up", "down"]
    policy_revision: str
    policy_problems: list[PolicyProblemModel]


class ClientModel(BaseModel):
    """A user's client: when it last sent something, and when its hooks were installed, as far as the server was told."""

    user: str
    client: str
    last_seen: datetime | None = Field(
        default=None, description="Absent for a client whose hooks are installed and that was never heard of."
    )
    installed_at: datetime | None = None
    protocol: str | None = None
    silent: bool = False
    """True if it went silent within the last week while its user goes on working: its hook may be broken."""


class TokenSeenModel(BaseModel):
    """A token that is not revoked, and when it was last used."""

    id: str
    user: str
    role: str
    last_used_at: datetime | None = None
    expires_at: datetime | None = None


class ModelModel(BaseModel):
    """The model that routing asks when it is unsure, as of this server's last check."""

    url: str
    model: str
    up: bool | None = None
    detail: str
    checked_at: datetime | None = None


class StatusModel(BaseModel):
    """The server at a glance: counts of all workers of this machine since the start, and of all stored decisions."""

    version: str
    protocol: str
    """The version of the headers between hooks and server."""
    started_at: datetime
    status: Literal["ready", "degraded", "starting", "draining"]
    """`degraded` while Redis or the database is down: calls are decided without it."""
    redis: Literal["up", "down"]
    database: Literal["up", "down"]
    policy_revision: str
    policy_loaded_at: datetime
    policy_problems: list[PolicyProblemModel]
    policy_unlocks: list[UnlockModel]
    """Locked rules that an admin freed for a time; those for you, for admins and auditors all."""
    decisions: dict[str, int] | None = None
    """Decisions by effect; absent while the database is down."""
    degraded: dict[str, int]
    hook_failures: dict[str, int]
    disobeyed: dict[str, int]
    """Calls that ran otherwise than they were decided, by `client version outcome`; since the start of the server."""
    context_proposals: list[str]
    """Sources of context that agents hardly use, and how to switch them off; for leads, admins and auditors."""
    records: dict[str, int]
    events: dict[str, int]
    """Events that wait (`queued` in memory, `waiting` in the outbox), and that found no room (`dropped`, `refused`)."""
    refused: dict[str, int]
    """Hook calls with a refused token, by the token's id or the address they came from; for admins and auditors."""
    breakers: list[BreakerModel]
    model: ModelModel | None = None
    """The model that routing may ask; absent if none is set."""
    word_table: WordTableState
    """The table by which routing compares meanings; while it is `missing`, words alone are compared."""
    clients: list[ClientModel]
    """Empty while the database is down, like `tokens` and `runners`."""
    tokens: list[TokenSeenModel]
    runners: list[RunnerModel]


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", operation_id="get_healthz")
async def healthz() -> Alive:
    """Answer that the process is alive; nothing else is checked."""
    return Alive()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", operation_id="get_readyz", responses={503: {"model": Ready}})
async def readyz(health: HealthOf, policies: PoliciesOf, response: Response) -> Ready:
    """Show whether the server takes calls, and the state of its dependencies."""
    found = await health.check()
    response.status_code = 200 if found.phase == "ready" else 503
    return Ready(
        status=found.phase,
        redis=found.redis,
        database=found.database,
        policy_revision=policies.active.revision,
        policy_problems=[PolicyProblemModel.of(one) for one in policies.problems_for(None)],
    )


@router.get("/status", operation_id="get_status", response_model_exclude_none=True)
async def status(
    caller: CallerOf,
    policies: PoliciesOf,
    unlocks: UnlocksOf,
    metrics: MetricsOf,
    health: HealthOf,
    clients_seen: ClientActivityOf,
    installed_hooks: InstalledHooksOf,
    indexes: IndexesOf,
    decisions: DecisionsOf,
    models: ModelsOf,
    recorder: RecorderOf,
    breakers: BreakersOf,
    tokens: TokensOf,
    runners: RunnersOf,
    events: EventStatsOf,
    usage: ContextUsageOf,
) -> StatusModel:
    """Show counts, dependencies, and when each client last sent something."""
    found = await health.check()
    in_force = policies.status
    totals = metrics.totals()
    clients = await clients_seen.find(caller.principal)
    held = [token for token in await _tokens(tokens, caller) if token.revoked_at is None]
    used: dict[str, datetime] = {}
    for token in held:
        if token.last_used_at is not None:
            used[token.user] = max(token.last_used_at, used.get(token.user, token.last_used_at))
    quiet = silent(clients, used, datetime.now(UTC))
    installed = {(one.user, one.client): one.installed_at for one in await installed_hooks.find(caller.principal)}
    return StatusModel(
        version=health.version,
        protocol=PROTOCOL,
        started_at=health.started_at,
        status="degraded" if found.degraded else found.phase,
        redis=found.redis,
        database=found.database,
        policy_revision=in_force.revision,
        policy_loaded_at=in_force.loaded_at,
        policy_problems=[PolicyProblemModel.of(one) for one in policies.problems_for(caller.principal)],
        policy_unlocks=[
            UnlockModel.model_validate(one, from_attributes=True) for one in unlocks.find(caller.principal)
        ],
        decisions=await _decisions(decisions, caller),
        degraded=totals.degraded,
        hook_failures=totals.failures,
        disobeyed=totals.disobeyed,
        context_proposals=await _proposals(usage, caller),
        records=await recorder.stats() | totals.records,
        events=_waiting(await events.read()),
        refused=totals.refused if reach(caller.principal, "tokens.refused") else {},
        breakers=[BreakerModel.of(one) for one in breakers.statuses()],
        model=ModelModel.model_validate(model, from_attributes=True) if (model := models.status) else None,
        word_table=indexes.words,
        clients=[
            ClientModel(
                user=c.user,
                client=c.client,
                last_seen=c.last_seen,
                protocol=c.protocol or None,
                installed_at=installed.pop((c.user, c.client), None),
                silent=(c.user, c.client) in quiet,
            )
            for c in clients
        ]
        + [ClientModel(user=user, client=client, installed_at=at) for (user, client), at in installed.items()],
        tokens=[
            TokenSeenModel(id=t.id, user=t.user, role=t.role, last_used_at=t.last_used_at, expires_at=t.expires_at)
            for t in held
        ],
        runners=await _runners(runners, caller),
    )


def _waiting(counts: EventCounts) -> dict[str, int]:
    return {name: getattr(counts, name) for name in ("queued", "waiting", "dropped", "refused")}


async def _decisions(decisions: Decisions, caller: Caller) -> dict[str, int] | None:
    """Count the caller's decisions; None while the database is down."""
    try:
        return await decisions.counts(caller.principal)
    except StoreUnavailable:
        return None


async def _proposals(usage: ContextUsage, caller: Caller) -> list[str]:
    """Return which sources should be switched off; nothing for those who may not, and while the database is down."""
    if reach(caller.principal, "analytics.read") not in {"team", "organisation"}:
        return []
    try:
        return [one.proposal for one in await usage.find(caller.principal) if one.proposal]
    except StoreUnavailable:
        return []


async def _tokens(tokens: Tokens, caller: Caller) -> list[Token]:
    """List the caller's tokens; none while the database is down, and none for a role that may not see tokens."""
    if reach(caller.principal, "tokens.read") is None:
        return []
    try:
        return await tokens.find(caller.principal)
    except StoreUnavailable:
        return []


async def _runners(runners: Runners, caller: Caller) -> list[RunnerModel]:
    """List the caller's runners; none while the database is down."""
    try:
        return [RunnerModel.of(one) for one in await runners.find(caller.principal)]
    except StoreUnavailable:
        return []
