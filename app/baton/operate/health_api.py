"""`GET /healthz` and `/readyz` for load balancers, `/status` for people."""

import asyncio
from collections.abc import Awaitable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Literal, TypeVar

import msgspec
from fastapi import APIRouter, Depends, Response
from pydantic import BaseModel, Field

from baton.decide.approvals import ApprovalsOf
from baton.delegate.core.job import Runner
from baton.delegate.runners.api import ShownRunner
from baton.delegate.runners.service import Runners
from baton.kernel.base.errors import StoreUnavailable
from baton.kernel.http.features import of
from baton.kernel.http.fields import ApiModel, Shown
from baton.lib.text.yaml_lines import Fault
from baton.machines.client_processes import ClientProcesses, UncheckedClient
from baton.machines.installed_hooks import HooksInstalled, InstalledHooks
from baton.machines.session_projects import ClientActivity, LastContact, silent
from baton.modes.freezes import Freezes
from baton.operate.health import Dependency, Health, UpDown
from baton.operate.metrics import Metrics
from baton.people.callers import CallerOf
from baton.people.directory import Token
from baton.people.tokens import Tokens
from baton.people.users import reach
from baton.policies.in_force import Policies
from baton.policies.unlocks_api import ShownUnlock, UnlocksOf
from baton.records.pipeline.recorder import Recorder
from baton.records.review.decisions import Decisions
from baton.route.llm.breakers import BreakerModel, Breakers
from baton.route.llm.health import ModelStatus
from baton.route.pipeline.models import Models
from baton.route.rosters.indexes import Indexes, WordTableState
from baton.shared.caller import PROTOCOL

T = TypeVar("T")
router = APIRouter(tags=["health"])
BreakersOf = Annotated[Breakers, Depends(of(Breakers))]
ClientActivityOf = Annotated[ClientActivity, Depends(of(ClientActivity))]
DecisionsOf = Annotated[Decisions, Depends(of(Decisions))]
HealthOf = Annotated[Health, Depends(of(Health))]
InstalledHooksOf = Annotated[InstalledHooks, Depends(of(InstalledHooks))]
IndexesOf = Annotated[Indexes, Depends(of(Indexes))]
MetricsOf = Annotated[Metrics, Depends(of(Metrics))]
ModelsOf = Annotated[Models, Depends(of(Models))]
PoliciesOf = Annotated[Policies, Depends(of(Policies))]
RecorderOf = Annotated[Recorder, Depends(of(Recorder))]
RunnersOf = Annotated[Runners, Depends(of(Runners))]
TokenSeen = Annotated[
    Token, ApiModel("TokenSeenModel", without=("digest", "created_at", "created_by", "revoked_at", "machine"))
]
TokensOf = Annotated[Tokens, Depends(of(Tokens))]


class Alive(BaseModel):
    """The process answers."""

    status: Literal["ok"] = "ok"


class Ready(BaseModel):
    """Whether the server accepts calls; an unavailable dependency degrades it but does not make it unready."""

    status: Literal["ready", "starting", "draining"]
    redis: UpDown
    database: UpDown
    causes: dict[Dependency, str] = {}
    """Why a dependency accepts no writes: `redis`, `database`, or `disk`, the home folder's."""
    policy_revision: str
    policy_problems: list[Shown[Fault]]


class ClientModel(BaseModel):
    """A user's client: its last message, and the installation of its hooks, as far as reported to the server."""

    user: str
    client: str
    last_seen: datetime | None = Field(
        default=None, description="Absent for a client whose hooks are installed and that was never heard of."
    )
    installed_at: datetime | None = None
    protocol: str | None = None
    silent: bool = False
    """True if it became silent within the last week while its user keeps working: its hook may be broken."""


class StatusModel(BaseModel):
    """The server's summary: counts of all workers of this machine since the start, and of all stored decisions."""

    version: str
    protocol: str
    """The version of the headers between hooks and server."""
    started_at: datetime
    status: Literal["ready", "degraded", "starting", "draining"]
    """`degraded` while a dependency is down: calls are decided without it."""
    redis: UpDown
    database: UpDown
    causes: dict[Dependency, str]
    """Why a dependency accepts no writes."""
    clock_ahead_s: float
    """Seconds by which this machine's clock is ahead of its stores; 0 for less than half a minute."""
    policy_revision: str
    policy_loaded_at: datetime
    policy_problems: list[Shown[Fault]]
    guardrails_off: list[str]
    """Shipped guardrails that are off, in shadow or looser than shipped for everybody, with the change:
    `guardrails/x: off`.
    """
    policy_unlocks: list[ShownUnlock]
    """Locked rules temporarily unlocked by an admin: yours, or all for admins and auditors."""
    freezes: list[str]
    """Freezes in force and visible to you: scope, id, author, reason."""
    unreached: list[str]
    """Waiting requests visible to you of which nobody who may answer was told: id, user, approvers."""
    decisions: dict[str, int] | None = None
    """Decisions by effect; absent while the database is down."""
    degraded: dict[str, int]
    hook_failures: dict[str, int]
    disobeyed: dict[str, int]
    """Calls that ran differently than decided, by `client version outcome`; since the start of the server."""
    records: dict[str, int]
    refused: dict[str, int]
    """Hook calls with a refused token, by the token's id or the sender's address; for admins and auditors."""
    breakers: list[BreakerModel]
    model: Shown[ModelStatus] | None = None
    """The model available to routing; absent if none is configured."""
    word_table: WordTableState
    """The table for comparing meanings in routing; while it is `missing`, only words are compared."""
    clients: list[ClientModel]
    """Empty while the database is down, like `tokens` and `runners`."""
    unchecked: list[Shown[UncheckedClient]]
    """Clients running on this machine without working hooks; empty on a server for other machines."""
    tokens: list[TokenSeen]
    runners: list[ShownRunner]


class Stored(msgspec.Struct, frozen=True, kw_only=True):
    """What a status shows from the database; nothing before it was ever read."""

    clients: Sequence[LastContact] = ()
    tokens: Sequence[Token] = ()
    installed: Sequence[HooksInstalled] = ()
    unchecked: Sequence[UncheckedClient] = ()
    decisions: dict[str, int] | None = None
    runners: list[Runner] = []
    unreached: list[str] = []


@router.head("/healthz", include_in_schema=False)
@router.get("/healthz", operation_id="get_healthz")
async def healthz() -> Alive:
    """Answer that the process is alive, without further checks."""
    return Alive()


@router.head("/readyz", include_in_schema=False)
@router.get("/readyz", operation_id="get_readyz", responses={503: {"model": Ready}})
async def readyz(health: HealthOf, policies: PoliciesOf, response: Response) -> Ready:
    """Show whether the server accepts calls, and the state of its dependencies."""
    found = health.state
    response.status_code = 200 if found.phase == "ready" else 503
    return Ready(
        status=found.phase,
        redis=found.state("redis"),
        database=found.state("database"),
        causes=found.causes,
        policy_revision=policies.active.revision,
        policy_problems=list(policies.problems_for(None)),
    )


@router.get("/status", operation_id="get_status", response_model_exclude_none=True)
async def status(
    caller: CallerOf,
    policies: PoliciesOf,
    unlocks: UnlocksOf,
    freezes: Annotated[Freezes, Depends(of(Freezes))],
    approvals: ApprovalsOf,
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
    processes: Annotated[ClientProcesses, Depends(of(ClientProcesses))],
) -> StatusModel:
    """Show counts, dependencies, and the last message of each client."""
    whose, found = caller.principal, health.state
    in_force = policies.status
    totals = metrics.totals()

    async def read() -> Stored:
        return Stored(
            clients=await clients_seen.list_contacts(whose),
            tokens=await _unless_down(tokens.list_tokens(whose), []) if reach(whose, "tokens.read") else [],
            installed=await installed_hooks.list_hooks(whose),
            unchecked=await processes.unchecked(),
            decisions=await _unless_down(decisions.counts(whose), None),
            runners=await _unless_down(runners.visible(whose), []),
            unreached=[f"{a.id} of {a.user}, for {a.approvers}" for a in await approvals.unreached(whose)],
        )

    known, records = await asyncio.gather(health.recent(("status", whose), read), recorder.stats())
    stored = known or Stored()
    held = [token for token in stored.tokens if token.revoked_at is None]
    used: dict[str, datetime] = {}
    for token in held:
        if token.last_used_at is not None:
            used[token.user] = max(token.last_used_at, used.get(token.user, token.last_used_at))
    quiet = silent(stored.clients, used, datetime.now(UTC))
    installed = {(one.user, one.client): one.installed_at for one in stored.installed}
    return StatusModel(
        version=health.version,
        protocol=PROTOCOL,
        started_at=health.started_at,
        status="degraded" if found.degraded else found.phase,
        redis=found.state("redis"),
        database=found.state("database"),
        causes=found.causes,
        clock_ahead_s=found.clock_ahead_s,
        policy_revision=in_force.revision,
        policy_loaded_at=in_force.loaded_at,
        policy_problems=list(policies.problems_for(whose)),
        guardrails_off=list(in_force.loosened),
        policy_unlocks=unlocks.list_unlocks(whose),
        freezes=[
            f"{one.scope} {one.id} by {one.set_by}: {one.reason}".replace("  ", " ") for one in freezes.visible(whose)
        ],
        unreached=stored.unreached,
        decisions=stored.decisions,
        degraded=totals.degraded,
        hook_failures=totals.failures,
        disobeyed=totals.disobeyed,
        records=records | totals.records,
        refused=totals.refused if reach(whose, "tokens.refused") else {},
        breakers=[BreakerModel.build(one) for one in breakers.statuses()],
        model=model if (model := models.status) else None,
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
            for c in stored.clients
        ]
        + [ClientModel(user=user, client=client, installed_at=at) for (user, client), at in installed.items()],
        unchecked=list(stored.unchecked),
        tokens=held,
        runners=stored.runners,
    )


async def _unless_down(read: Awaitable[T], absent: T) -> T:
    """Return what is read, or what stands for it while the database is down."""
    try:
        return await read
    except StoreUnavailable:
        return absent
