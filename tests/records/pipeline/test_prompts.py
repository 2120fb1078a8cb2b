"""Prompts are stored only at a team's choice, as documented in docs/privacy.md; on both databases."""

import asyncio
from datetime import UTC, datetime, timedelta

import msgspec
import pytest
from sqlalchemy import select

from baton.clients.event import HookEvent
from baton.context.advisories import Advisories, PromptAdvisories
from baton.context.compliance.service import Compliance
from baton.context.compliance.store import ComplianceStore
from baton.context.patterns.in_force import PatternsInForce
from baton.context.patterns.index import Meanings
from baton.context.patterns.injection import PatternInjection
from baton.context.patterns.store import PatternCounts
from baton.decide.approvals import Approvals
from baton.decide.hooks import Hooks, StartPatterns
from baton.decide.service import Installation, PreToolUse
from baton.events.catalogue import TopicCatalogue
from baton.events.emission import NO_EVENTS
from baton.events.log import Log
from baton.events.personal_events import PersonalEvents
from baton.kernel.base.errors import Forbidden, NotFound, PreconditionFailed
from baton.kernel.base.settings import Settings
from baton.kernel.changes import audit_store
from baton.kernel.changes.announce import Changes
from baton.machines.inventories import Inventories
from baton.machines.session_projects import SessionProjects
from baton.modes.freezes import Freezes
from baton.modes.service import Modes
from baton.operate import retention as retention_store
from baton.operate import user_data
from baton.operate import user_data as user_data_store
from baton.operate.retention import Retention, RetentionDays
from baton.operate.user_data import UserData
from baton.people.users import Users, version_of
from baton.policies.in_force import Policies
from baton.records.pipeline import store as decisions
from baton.records.pipeline.recorder import Counters
from baton.records.pipeline.store import Filters
from baton.records.replay.rule_hits import RuleHits
from baton.records.review.decisions import Decisions
from baton.records.tables import DECISIONS
from baton.route.feedback.service import RouteTraces
from baton.route.pipeline.context import Detect
from baton.route.pipeline.pipeline import Routing
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.verdict import RuleHit
from baton.sessions.exceptions.service import Exceptions
from baton.sessions.history import History, LateAdvice, Outcomes
from baton.sessions.installations import Installations
from baton.sessions.service import Sessions
from baton.sessions.session_events import SessionEvents
from baton.sessions.subagent_brackets import SubagentBrackets
from baton.shared.caller import Caller
from tests.support.records import id_at, record

ADMIN = Principal(user="ada", role="admin")
LEAD = Principal(user="lea", role="lead", team="red")
DORA = Principal(user="dora", team="red")
SECRET = "sk-" + "a1" * 12
ASKED = f"mend the login; the key is {SECRET}"


class World:
    """One server's parts from the hook to the database."""

    def __init__(self, database, redis, recorder, folder):
        self.database, self.recorder, self.changes = database, recorder, Changes(redis, database, "default")
        self.personal_events = PersonalEvents(Log(redis), TopicCatalogue(Settings()))
        self.users = Users(database, self.changes, organisation="default", team="default")
        self.policies = Policies(folder, folder / "none", database, "default")
        self.modes = Modes(database, self.changes, organisation="default", auto_level="strict")
        self.history = History(redis, ttl_s=60)
        self.inventories = Inventories(redis, ttl_s=60)
        sessions = Sessions(
            modes=self.modes,
            history=self.history,
            recorder=recorder,
            policies=self.policies,
            users=self.users,
            projects=SessionProjects(redis, ttl_s=60),
            installations=Installations(redis, Counters()),
            counters=Counters(),
            inventories=self.inventories,
            events=SessionEvents(redis, NO_EVENTS, self.users.keeps_prompts),
        )
        exceptions = Exceptions(
            database,
            self.changes,
            self.users,
            self.policies,
            Decisions(database),
            RuleHits(database, self.policies),
            organisation="default",
        )
        outcomes = Outcomes(redis, recorder, Counters(), SessionEvents(redis, NO_EVENTS, self.users.keeps_prompts))
        self.decides = PreToolUse(
            freezes=Freezes(database, self.changes, self.users, organisation="default"),
            approvals=(approvals := Approvals(database, self.changes, redis)),
            policies=self.policies,
            modes=self.modes,
            sessions=sessions,
            history=self.history,
            recorder=recorder,
            counters=Counters(),
            exceptions=exceptions,
            users=self.users,
            installation=Installation(Settings(home=folder), is_worker=False),
            outcomes=outcomes,
        )
        counters, traces = Counters(), RouteTraces(redis)
        routing = Routing(((Detect(),),), sessions=sessions, traces=traces, counters=counters)
        self.hooks = Hooks(
            pre_tool_use=self.decides,
            approvals=approvals,
            sessions=sessions,
            brackets=SubagentBrackets(redis),
            advice=LateAdvice(redis),
            outcomes=outcomes,
            routing=routing,
            route_prompts=False,
            **self.context(sessions, redis),
        )

    def context(self, sessions, redis):
        """Return what prompts are told beside their route: of a team that has no patterns, nothing."""
        in_force = PatternsInForce(self.database, self.changes, "default")
        counts, advisories = PatternCounts(self.database, "default"), Advisories(redis)
        injection = PatternInjection(
            database=self.database, redis=redis, in_force=in_force, meanings=Meanings(), counts=counts, lifetime_s=60
        )
        compliance = Compliance(
            database=self.database,
            store=ComplianceStore(redis),
            in_force=in_force,
            advisories=advisories,
            counts=counts,
            counters=Counters(),
            emitter=NO_EVENTS,
            organisation="default",
            enabled=False,
            external=False,
        )
        return {
            "start_patterns": StartPatterns(sessions, injection),
            "advisories": PromptAdvisories(advisories, in_force, lambda _: None),
            "compliance": compliance,
        }

    async def prompt(self, who=DORA, text=ASKED, **more):
        event = HookEvent(
            client="codex", name="UserPromptSubmit", native_name="UserPromptSubmit", session_id="s", prompt=text
        )
        await self.hooks.handle(Caller(principal=who, **more), event)

    async def spawn(self, who=DORA, tool="Task", **more):
        call = ToolCall(
            client="codex", session_id="s", tool_name=tool, tool_input={"prompt": ASKED, "subagent_type": "explore"}
        )
        return (await self.decides.decide(Caller(principal=who, **more), call)).id

    async def stored(self, count):
        """Wait until so many records are stored, and give them whole, the oldest first."""
        query = select(DECISIONS).order_by(DECISIONS.c.id)
        async with asyncio.timeout(60):
            while True:
                async with self.database.transaction() as connection:
                    rows = (await connection.execute(query)).all()
                if len(rows) == count:
                    return rows
                await asyncio.sleep(0.01)


@pytest.fixture
async def world(make, database, redis, empty_valkey, tmp_path):
    recorder = make()
    await recorder.start()
    (tmp_path / "config.yaml").write_text("agent_tools: [Task, Agent]\n")
    yield World(database, redis, recorder, tmp_path)
    await recorder.stop()


async def asks_for_prompts(world, who=LEAD, *, keep=True, **more):
    return await world.users.set_up_team(who, "red", keep_prompts=keep, if_match=None, **more)


@pytest.fixture
async def red(world):
    """Team red, which keeps prompts, with its people."""
    await world.users.put_team(ADMIN, "red")
    for name in ("dora", "lea"):
        await world.users.put_user(ADMIN, name, team="red", disabled=False)
    await asks_for_prompts(world)


async def test_nothing_of_a_prompt_is_kept_by_default(world):
    await world.prompt()
    await world.spawn()
    (row,) = await world.stored(1)
    assert (row.event, row.prompt) == ("PreToolUse", "")
    assert "mend" not in str(row)


async def test_where_the_team_asks_for_it_prompts_are_kept_with_their_event_masked(world, red):
    await world.prompt()
    decision = await world.spawn()
    submitted, spawned = await world.stored(2)
    assert (submitted.event, submitted.user, submitted.session_id) == ("UserPromptSubmit", "dora", "s")
    assert submitted.prompt == spawned.prompt == "mend the login; the key is [masked:sk-key]"
    assert spawned.id == decision
    listed, _ = await decisions.find_records(world.database, "default", Filters())
    assert {one.prompt for one in listed} == {""}
    assert (await decisions.get(world.database, "default", decision)).prompt == spawned.prompt


async def test_a_prompt_outside_the_team_is_not_recorded(world, red):
    await world.prompt(Principal(user="bob", team="blue"))
    await world.prompt(disabled=True)
    await world.prompt(text="")
    await world.spawn(DORA, tool="WebFetch")
    await world.spawn(DORA, disabled=True)
    rows = await world.stored(2)
    assert [(row.event, row.prompt) for row in rows] == [("PreToolUse", "")] * 2


async def test_at_most_32_kib_of_a_prompt_are_kept(world, red):
    for letter in ("x", "é", "\0", "\ud800", "x y "):
        await world.prompt(text=letter * 40_000)
    for row in await world.stored(5):
        assert 30_000 < len(row.prompt.encode()) <= 32 << 10
        assert row.prompt.endswith("…")


async def test_a_secret_on_the_border_does_not_escape(world, red):
    await world.prompt(text="x" * ((32 << 10) - 10) + " " + SECRET)
    (row,) = await world.stored(1)
    assert SECRET[:6] not in row.prompt


async def test_prompts_are_exported_deleted_and_purged_with_the_rest(world, red):
    await world.prompt()
    (row,) = await world.stored(1)
    kept = await decisions.get(world.database, "default", row.id)
    exported = [row async for row in user_data_store.rows(world.database, "default", "dora", "decisions")]
    assert [row["prompt"] for row in exported] == ["mend the login; the key is [masked:sk-key]"]
    data = UserData(world.database, world.changes, world.users, world.history, world.inventories, world.personal_events)
    assert (await data.delete(DORA, "dora"))["decisions"] == 1

    long_ago = datetime.now(UTC) - timedelta(days=31)
    await decisions.add(world.database, [msgspec.structs.replace(kept, id=id_at(long_ago), at=long_ago)])
    keeping = Retention(world.database, world.changes, "default")
    await keeping.put(ADMIN, RetentionDays(decisions_days=30), version="0", reason="r")
    assert (await keeping.purge(asyncio.Event()))["decisions"] == 1


async def test_many_decisions_of_a_person_are_deleted_a_batch_at_a_time(world, monkeypatch):
    for module in (retention_store, user_data):
        monkeypatch.setattr(module, "LARGEST_BATCH", 2)
    hit = (RuleHit("a/b", "deny"),)
    theirs = [record(user="dora", rules=hit) for _ in range(4)]
    other = record(user="bob", rules=hit)
    await decisions.add(world.database, [*theirs, other])
    data = UserData(world.database, world.changes, world.users, world.history, world.inventories, world.personal_events)
    assert (await data.delete(DORA, "dora"))["decisions"] == 4
    (entry,) = await audit_store.find_entries(world.database, "default", kind="user")
    assert (entry.action, entry.after["decisions"]) == ("user.delete-data", 4)
    async with world.database.transaction() as connection:
        left = (await connection.execute(DECISIONS.select())).all()
    assert [row.id for row in left] == [other.id]


async def test_a_lead_or_an_admin_sets_it_and_that_is_in_the_audit_log(world, red):
    stays = version_of(world.users.team(LEAD, "red"))
    for who, error in (
        (Principal(user="leo", role="lead", team="blue"), NotFound),
        (DORA, Forbidden),
        (Principal(user="ava", role="auditor", team="red"), Forbidden),
        (Principal(user="run", role="runner", team="red"), Forbidden),
    ):
        with pytest.raises(error):
            await asks_for_prompts(world, who, keep=False)
    with pytest.raises(NotFound):
        await world.users.set_up_team(ADMIN, "nobody's", keep_prompts=True, if_match=None)
    assert world.users.keeps_prompts("red")
    await asks_for_prompts(world, ADMIN, keep=False, reason="no more")
    assert not world.users.keeps_prompts("red")
    entry = (await audit_store.find_entries(world.database, "default", kind="team", limit=1))[0]
    assert (entry.actor, entry.before, entry.after, entry.reason) == (
        "ada",
        {"name": "red", "keep_prompts": True},
        {"name": "red", "keep_prompts": False},
        "no more",
    )
    with pytest.raises(PreconditionFailed):
        await world.users.set_up_team(LEAD, "red", keep_prompts=True, if_match=stays)


@pytest.mark.slow
async def test_entering_a_team_again_leaves_its_settings_and_other_servers_learn_of_them(world, red, redis, tmp_path):
    await world.users.put_team(ADMIN, "red")
    other = World(world.database, redis, world.recorder, tmp_path)
    await other.changes.catch_up()
    assert other.users.keeps_prompts("red")
