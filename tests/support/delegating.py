"""Delegation without a server: its services on a real database, and a runner scripted by the test."""

from contextlib import AsyncExitStack

from baton.decide.approvals import Approvals
from baton.delegate import feature
from baton.delegate.core.attempts import JobUsage
from baton.delegate.core.job import JobFilter, JobSpec
from baton.delegate.core.stores import events as events_store
from baton.delegate.core.stores import jobs
from baton.delegate.runners.permissions import PermissionRequest
from baton.delegate.runners.progress import Finish, RunnerEvent
from baton.delegate.runners.service import LeaseClaim, Poll
from baton.events.topics import BY_PAYLOAD
from baton.kernel.base.settings import Settings
from baton.kernel.http.peer import PeerLooks
from baton.kernel.kernel import Kernel
from baton.modes.freezes import Freezes
from baton.modes.service import Modes
from baton.people.users import Users
from baton.rules.call.call import Principal
from baton.rules.call.verdict import Verdict
from baton.shared.decided import Decision, ModeInForce
from baton.spawn.graphs.store import owns

ADA = Principal(user="ada", team="red")
BEA = Principal(user="bea", team="red")
BOB = Principal(user="bob", team="blue")
LEAD = Principal(user="lea", team="red", role="lead")
ADMIN = Principal(user="root", role="admin")


class Rules:
    """Stands in for the policies: gives one effect, and keeps what it was asked."""

    def __init__(self):
        self.effect = "abstain"
        self.asked = []

    async def decide(self, caller, call):
        self.asked.append((caller, call))
        verdict = Verdict(effect=self.effect, rule="a/b", reason="because")
        mode = ModeInForce(enabled=False, level="", scope="")
        return Decision(id=f"d{len(self.asked)}", verdict=verdict, mode=mode, revision="r")


class Emitted:
    """Keeps what is emitted, by topic and whose it is."""

    def __init__(self):
        self.found = []

    def emit(self, principal, payload, *, event_id=""):
        self.found.append((BY_PAYLOAD[type(payload)].name, principal.user, payload, event_id))

    def of(self, topic):
        return [payload for name, _, payload, _ in self.found if name == topic]


class Runner:
    """One runner that asks without waiting."""

    def __init__(self, world, who=ADA, name="laptop", boot="b1", **poll):
        self.world, self.who, self.name, self.boot = world, who, name, boot
        self.asked = {"slots": 1, "providers": ("codex", "claude_code"), "workspaces": ("shop",)} | poll
        self.held = {}

    async def poll(self, *, wait_s=0, acked=(), **more):
        held = tuple(map(claim, self.held.values()))
        poll = Poll(boot_id=self.boot, wait_s=wait_s, active=held, acked_commands=acked, **(self.asked | more))
        news = await self.world.runners.poll(self.who, self.name, poll, stays)
        for lost in news.lost:
            self.held.pop(lost, None)
        self.held |= {lease.job.id: lease for lease in news.jobs}
        return news

    async def lease(self, **more):
        """Take one job."""
        (lease,) = (await self.poll(**more)).jobs
        return lease

    async def tell(self, lease, *texts, first=1, finish=None, **ended):
        events = [
            RunnerEvent(seq=first + n, type="session.update", body={"update": chunk(text)})
            for n, text in enumerate(texts)
        ]
        if finish is not None:
            finish = Finish(state=finish, **ended)
        answer = await self.world.progress.record(self.who, self.name, claim(lease), events, finish)
        if finish is not None:
            self.held.pop(lease.job.id, None)
        return answer

    async def ask(self, lease, tool="Bash", confirm="by-rules", **given):
        return await self.ask_as(lease, {"tool_name": tool, "tool_input": given, "confirm": confirm})

    async def ask_as(self, lease, request):
        request = PermissionRequest(**request)
        return await self.world.permissions.ask(self.who, self.name, claim(lease), request)


async def stays():
    return False


def claim(lease, **other):
    return LeaseClaim(**{"job": lease.job.id, "attempt": lease.job.attempt, "token": lease.token} | other)


def chunk(text):
    return {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}


class World:
    """The services of one server on a database that others may share."""

    def __init__(self, database, redis, **settings):
        settings = Settings(database_url="sqlite:///unused", **settings)
        self.kernel = kernel = Kernel(settings, redis, database, AsyncExitStack(), PeerLooks())
        self.users = Users(database, kernel.changes, organisation="default", team="default")
        self.rules = Rules()
        self.database = database
        self.modes = Modes(database, kernel.changes, organisation="default", auto_level="strict")
        self.emitted = Emitted()
        self.approvals = Approvals(database, kernel.changes, redis)
        self.freezes = Freezes(database, kernel.changes, self.users, organisation="default")
        self.all = feature.build(
            kernel,
            users=self.users,
            rules=self.rules,
            modes=self.modes,
            freezes=self.freezes,
            owns_graph=owns,
            events=self.emitted,
        )
        for name in self.all.__struct_fields__:
            setattr(self, name, getattr(self.all, name))

    async def delegate(self, who=ADA, key="", **fields):
        new = JobSpec(**({"prompt": "list files", "session_id": "s"} | fields))
        return await self.jobs.submit(who, new, idempotency_key=key)

    async def get(self, job, who=ADA):
        return await self.jobs.get(who, job.id)

    async def state(self, job):
        return (await self.get(job, ADMIN)).state

    async def events(self, job):
        async with self.database.transaction() as connection:
            return await events_store.of_job(connection, job.id, 0)

    async def session_events(self, session="s", who=ADA):
        async with self.database.transaction() as connection:
            return await events_store.of_session(connection, "default", who.user, session, 0)

    async def mode(self, session="s", who=ADA):
        return (await self.agent_modes.get(who, session)).agent_mode

    async def found(self, who=ADA, **wanted):
        return await self.jobs.find(who, JobFilter(**wanted), before=("", ""), limit=200)

    async def change(self, job, **values):
        """Change a job behind the services' back: a lease that ran out, a start long ago."""
        async with self.database.transaction() as connection:
            await jobs.change(connection, job.id, values)


def told(event):
    """Return an event in a word, for lists of them."""
    body = event.body
    if event.type == "job.state":
        return body["state"]
    if event.type != "session.update":
        return event.type
    update = body["update"]
    match update["sessionUpdate"]:
        case "current_mode_update":
            return f"mode {update['currentModeId']}"
        case "agent_message_chunk":
            return update["content"]["text"]
        case "tool_call":
            return f"call {update['title']}"
        case _:
            return f"{update['sessionUpdate']} {update.get('status', '')}".strip()


__all__ = ["ADA", "ADMIN", "BEA", "BOB", "LEAD", "JobUsage", "Runner", "World", "chunk", "claim", "told"]


async def running(world, **fields):
    """Return a runner with a job that it has just leased."""
    runner, job = Runner(world), await world.delegate(**fields)
    return runner, await runner.lease(), job


async def report(world, lease, seqs, *, finish=None, who=ADA, runner="laptop", token=None, attempt=None):
    """Report so many chunks of a job, each by its number."""
    events = [RunnerEvent(seq=seq, type="session.update", body={"update": chunk(str(seq))}) for seq in seqs]
    held = claim(lease, attempt=attempt or lease.job.attempt, token=token or lease.token)
    return await world.progress.record(who, runner, held, events, None if finish is None else Finish(state=finish))


async def chunks(world, job):
    """Return what a runner told of a job, as it was stored."""
    return [told(event) for event in await world.events(job) if event.seq is not None]
