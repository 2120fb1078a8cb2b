"""Unlocks: creation, effect, end, and every server's knowledge."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from baton.kernel.base.errors import Forbidden, Invalid, NotFound, PoliciesRefused
from baton.kernel.changes import audit_store
from baton.kernel.changes.announce import Changes
from baton.people.users import Users
from baton.policies import store
from baton.policies.in_force import KIND, Policies
from baton.policies.layers import PolicyLayers, Where
from baton.policies.unlocks import Unlocks
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.verdict import Facts
from baton.rules.policy.evaluate import evaluate
from baton.shared import policy_folders
from tests.support.cases import every

ADMIN = Principal(user="ada", role="admin")
LEAD = Principal(user="lea", role="lead", team="red")
DORA = Principal(user="dora", team="red")
BOB = Principal(user="bob", team="blue")
RULE = "guardrails/force-push"
OFF = {"config.yaml": f"rules: {{{RULE}: off}}"}
LINE = "git push --force origin main"


class Process:
    """One server, with a clock of its own."""

    def __init__(self, database, redis, folder):
        self.ahead = timedelta()
        self.changes = Changes(redis, database, "default")
        self.users = Users(database, self.changes, organisation="default", team="default")
        self.policies = Policies(policy_folders.shipped(), folder, database, "default", now=self.now)
        self.changes.on(KIND, self.policies.load_layers)
        self.layers = PolicyLayers(database, self.policies, self.changes, self.users)
        self.unlocks = Unlocks(self.policies, self.changes, self.users, organisation="default", now=self.now)

    def now(self):
        return datetime.now(UTC) + self.ahead

    async def unlock(self, who=ADMIN, rule=RULE, team="", user="", hours=1.0):
        until = datetime.now(UTC) + timedelta(hours=hours)
        return await self.unlocks.make(who, rule=rule, team=team, user=user, reason="the archive", until=until)

    async def push(self, who, tier, name, files=OFF):
        where = Where(tier, name)
        return await self.layers.upload(who, where, files, reason="r", activate=True, if_match="*")

    async def effect(self, who):
        policies = (await self.policies.prepare(who, "", wait_s=None)).policies
        call = ToolCall(client="x", session_id="s", tool_name="Bash", tool_input={"command": LINE}, cwd="/repo")
        return evaluate(policies, Facts(call=call, principal=who)).effect


@pytest.fixture
async def process(database, redis, tmp_path):
    one = Process(database, redis, tmp_path / "policies")
    for name in ("red", "blue"):
        await one.users.put_team(ADMIN, name)
    for name, of in (("dora", "red"), ("lea", "red"), ("bob", "blue")):
        await one.users.put_user(ADMIN, name, team=of, disabled=False)
    yield one
    await asyncio.gather(*one.policies._beside)  # what it notes beside an answer must not outlive the database


async def test_an_unlock_is_stored_until_it_ends(database):
    now = datetime.now(UTC).replace(microsecond=0)
    given = {"team": "", "user": "", "reason": "r", "created_by": "ada", "created_at": now}
    made = [
        store.StoredUnlock(id=str(hours), rule=RULE, until=now + timedelta(hours=hours), **given) for hours in (1, 2)
    ]
    async with database.transaction() as connection:
        for one in made:
            await store.add_unlock(connection, "default", one)
    assert await store.load_unlocks(database, "default", now) == made
    assert await store.load_unlocks(database, "default", now + timedelta(hours=1)) == made[1:]
    assert await store.load_unlocks(database, "another", now) == []
    async with database.transaction() as connection:
        assert [await store.remove_unlock(connection, "default", "1") for _ in range(2)] == [True, False]
    assert await store.load_unlocks(database, "default", now) == made[1:]


@pytest.mark.parametrize(
    "who", [DORA, LEAD, Principal(user="aud", role="auditor"), Principal(user="run", role="runner")]
)
async def test_only_an_admin_unlocks(process, who):
    with pytest.raises(Forbidden, match=r"policies\.unlock"):
        await process.unlock(who)
    made = await process.unlock()
    with pytest.raises(Forbidden, match=r"policies\.unlock"):
        await process.unlocks.end(who, made.id)
    assert [one.id for one in process.policies.unlocks] == [made.id]


@every(
    ("given", "text"),
    [
        ({"rule": "guardrails/force-psh"}, "did you mean `guardrails/force-push`"),
        ({"rule": "orchestrator/direct-edit"}, "which is not locked"),
        ({"rule": "orchestrator/*"}, "nor a pattern of locked rules"),
        ({"rule": "guardrails/[a"}, "never closed"),
        ({"hours": -1.0}, "must be within the next 30 days"),
        ({"hours": 24 * 31.0}, "must be within the next 30 days"),
        ({"team": "rad"}, "red"),
        ({"team": "red", "user": "dora"}, "give one of them"),
    ],
)
async def test_an_unlock_that_makes_no_sense_is_refused(process, given, text):
    with pytest.raises(Invalid, match=text):
        await process.unlock(**given)
    assert process.policies.unlocks == ()


async def test_a_lead_loosens_an_unlocked_rule_for_the_team(process):
    with pytest.raises(PoliciesRefused, match="an admin may unlock"):
        await process.push(LEAD, "team", "red")
    await process.unlock(team="red")
    assert await process.effect(DORA) == "deny"  # an unlock loosens nothing by itself
    await process.push(LEAD, "team", "red")
    assert (await process.effect(DORA), await process.effect(BOB)) == ("abstain", "deny")
    with pytest.raises(PoliciesRefused):
        await process.push(ADMIN, "team", "blue")
    with pytest.raises(PoliciesRefused):
        await process.push(ADMIN, "organisation", "-")


async def test_a_developer_loosens_their_own_rules_where_they_are_unlocked_for_them(process):
    await process.unlock(user="dora", rule="guardrails/*")
    await process.push(DORA, "user", "dora")
    assert await process.effect(DORA) == "abstain"
    with pytest.raises(PoliciesRefused):
        await process.push(BOB, "user", "bob")
    with pytest.raises(PoliciesRefused):
        await process.push(LEAD, "team", "red")


async def test_the_organisations_upload_needs_an_unlock_for_everybody(process):
    await process.unlock()
    await process.push(ADMIN, "organisation", "-")
    assert (await process.effect(DORA), await process.effect(BOB)) == ("abstain", "abstain")


@pytest.mark.parametrize(("tier", "name"), [("organisation", "-"), ("team", "red"), ("user", "dora")])
async def test_an_expired_unlock_restores_the_lock(process, tier, name):
    await process.unlock(hours=1)
    rule = "id: own/x\ndescription: x\nmatch: {tools: X}\ndecision: deny\nreason: x\n"
    files = OFF | {"own/x.yaml": rule + "tests: {match: [{tool: X}], not_match: [{tool: Y}]}\n"}
    await process.push(ADMIN, tier, name, files)
    assert await process.effect(DORA) == "abstain"
    process.ahead = timedelta(hours=1)
    await process.policies.expire()
    assert await process.effect(DORA) == "deny"
    assert process.policies.unlocks == ()
    in_force = await process.policies.prepare(DORA, "", wait_s=None)
    assert in_force.degraded == ("policies",)
    assert "own/x" in {rule.id for rule in in_force.policies.rules}
    assert any("locked `guardrails/force-push`" in problem.text for problem in process.policies.problems)


async def test_an_unlock_ends_while_the_operators_files_are_broken(process, tmp_path):
    await process.unlock()
    await process.push(ADMIN, "organisation", "-")
    (tmp_path / "policies").mkdir(exist_ok=True)
    (tmp_path / "policies" / "config.yaml").write_text("rulez: {}\n")
    assert not process.policies.reload()
    assert await process.effect(DORA) == "abstain"
    process.ahead = timedelta(hours=2)
    await process.policies.expire()
    assert await process.effect(DORA) == "deny"
    assert any("rulez" in problem.text for problem in process.policies.problems)


@pytest.mark.slow
async def test_an_unlock_that_is_ended_early_locks_again_and_both_are_audited(process, database):
    made = await process.unlock(user="dora")
    await process.push(DORA, "user", "dora")
    await process.unlocks.end(ADMIN, made.id, "done")
    assert await process.effect(DORA) == "deny"
    with pytest.raises(NotFound):
        await process.unlocks.end(ADMIN, made.id)
    entries = await audit_store.find_entries(database, "default", object=made.id)
    assert [(one.action, one.actor, one.reason) for one in entries] == [
        ("policies.lock", "ada", "done"),
        ("policies.unlock", "ada", "the archive"),
    ]


async def test_another_server_knows_an_unlock_and_its_end(process, database, redis, tmp_path):
    other = Process(database, redis, tmp_path / "policies")
    made = await process.unlock(user="dora")
    await process.push(DORA, "user", "dora")
    await other.changes.catch_up()
    assert await other.effect(DORA) == "abstain"
    await process.unlocks.end(ADMIN, made.id)
    await other.changes.catch_up()
    assert await other.effect(DORA) == "deny"
    await asyncio.gather(*other.policies._beside)


async def test_people_see_the_unlocks_that_concern_them(process):
    everybody, red, bob = [await process.unlock(**whom) for whom in ({}, {"team": "red"}, {"user": "bob"})]
    assert process.unlocks.list_unlocks(ADMIN) == [bob, red, everybody]
    assert process.unlocks.list_unlocks(DORA) == [red, everybody]
    assert process.unlocks.list_unlocks(BOB) == [bob, everybody]
