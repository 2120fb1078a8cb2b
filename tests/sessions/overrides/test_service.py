"""Overrides as leads, admins and several processes see them."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.engine.call.call import ToolCall
from baton.engine.call.modes import ModeSetting
from baton.engine.call.principal import Principal
from baton.engine.call.verdict import Facts
from baton.engine.policy.evaluate import evaluate
from baton.kernel.base.caller import Caller
from baton.kernel.base.errors import Forbidden, Invalid, NotFound
from baton.kernel.changes import audit_store
from baton.people.directory import Project
from baton.policies.layers import PolicyLayers, Where
from baton.policies.unlocks import Unlocks
from baton.records.pipeline import store as decisions
from baton.sessions.overrides import store
from baton.sessions.overrides.service import Overrides
from tests.support.databases import opened
from tests.support.overriding import Process, record

ADMIN = Principal(user="ada", role="admin")
LEAD = Principal(user="lea", role="lead", team="red")
OTHER_LEAD = Principal(user="leo", role="lead", team="blue")
DORA = Principal(user="dora", team="red")
RULE = "orchestrator/direct-edit"
GUARDRAIL = "guardrails/force-push"
LINE = "git push --force origin main"


@pytest.fixture
async def database(sqlite_url):
    """One kind is enough here: `tests/store` runs the queries on both."""
    async with opened(sqlite_url) as database:
        yield database


@pytest.fixture
def team(tmp_path):
    """The organisation's own policies, which lock a rule of the mode."""
    folder = tmp_path / "policies"
    folder.mkdir()
    (folder / "config.yaml").write_text("locked: [orchestrator/test-or-build]\n")
    return folder


@pytest.fixture
async def process(database, redis, team):
    one = Process(database, redis, team)
    for name in ("red", "blue"):
        await one.users.put_team(ADMIN, name)
    for name, of in (("dora", "red"), ("lea", "red"), ("bob", "blue")):
        await one.users.put_user(ADMIN, name, team=of, disabled=False)
    return one


async def lifts(process, who, **more):
    given = {"session_id": "s", "user": "dora", "rule": RULE, "reason": "r", "minutes": 5}
    return await process.overrides.make(who, **(given | more))


async def test_a_lead_lifts_rules_for_their_team_alone(process):
    made = await lifts(process, LEAD)
    assert process.overrides.lifted(DORA, "s") == {RULE}
    assert process.overrides.lifted(DORA, "t") == process.overrides.lifted(LEAD, "s") == frozenset()
    with pytest.raises(NotFound):
        await lifts(process, LEAD, user="bob")
    with pytest.raises(NotFound):
        await process.overrides.end(OTHER_LEAD, made.id)
    assert process.overrides.find(OTHER_LEAD) == []
    assert process.overrides.find(LEAD) == process.overrides.find(DORA) == [made]


async def test_locked_rules_are_lifted_by_nobody_until_an_admin_unlocks_them(process):
    for rule in (GUARDRAIL, "orchestrator/test-or-build"):
        for who in (LEAD, ADMIN):
            with pytest.raises(Forbidden, match=r"locked .*an `admin` may unlock it"):
                await lifts(process, who, rule=rule)
    unlocks = Unlocks(process.policies, process.changes, process.users, organisation="default")
    given = {"rule": GUARDRAIL, "reason": "r", "until": datetime.now(UTC) + timedelta(hours=1)}
    unlock = await unlocks.make(ADMIN, **given, team="red", user="")
    assert (await lifts(process, LEAD, rule=GUARDRAIL)).rule == GUARDRAIL
    with pytest.raises(Forbidden, match="locked"):
        await lifts(process, ADMIN, rule=GUARDRAIL, user="bob")
    with pytest.raises(Forbidden):
        await lifts(process, DORA, rule=GUARDRAIL)
    await unlocks.end(ADMIN, unlock.id)
    with pytest.raises(Forbidden, match="locked"):
        await lifts(process, LEAD, rule=GUARDRAIL)


async def test_what_was_lifted_while_unlocked_holds_no_longer_than_the_unlock(process):
    unlocks = Unlocks(process.policies, process.changes, process.users, organisation="default")
    until = datetime.now(UTC) + timedelta(hours=1)
    unlock = await unlocks.make(ADMIN, rule="guardrails/*", reason="r", until=until, team="", user="dora")
    await lifts(process, LEAD, rule=GUARDRAIL)

    async def effect():
        active = (await process.policies.prepare(DORA, "", wait_s=None)).policies
        call = ToolCall(client="x", session_id="s", tool_name="Bash", tool_input={"command": LINE}, cwd="/repo")
        return evaluate(active, Facts(call=call, lifted=process.overrides.lifted(DORA, "s"), principal=DORA)).effect

    assert await effect() == "abstain"
    await unlocks.end(ADMIN, unlock.id)
    assert await effect() == "deny"


async def test_who_may_write_a_rule_may_lift_it(process, database):
    rule = """
id: {id}
description: Nobody deploys.
match: {{shell: {{program: {program}}}}}
decision: deny
reason: no
tests: {{match: ["{program} now"], not_match: ["ls"]}}
"""
    await process.users.put_project(ADMIN, Project(name="github.com/acme/shop", team="red"))
    layers = PolicyLayers(database, process.policies, process.changes, process.users)
    for where in (Where("organisation", "-"), Where("team", "red"), Where("user", "dora")):
        files = {f"own/{where.tier}.yaml": rule.format(id=f"own/{where.tier}", program=where.tier)}
        await layers.upload(ADMIN, where, files, reason="r", activate=True, if_match="*")
    assert (await lifts(process, LEAD, rule="own/team")).rule == "own/team"
    for of_others in ("own/organisation", "own/user"):
        with pytest.raises(Forbidden, match="which you may not change"):
            await lifts(process, LEAD, rule=of_others)
        await lifts(process, ADMIN, rule=of_others)
    with pytest.raises(Forbidden):
        await lifts(process, DORA, rule="own/team")


async def test_where_the_level_is_locked_the_whole_mode_is_lifted_by_admins_alone(process):
    assert (await lifts(process, LEAD, rule="*")).rule == "*"
    level = ModeSetting(scope="organisation", enabled=True, level="strict", locked=True)
    await process.modes.put(Caller(principal=ADMIN), level)
    with pytest.raises(Forbidden, match="locked the mode's level"):
        await lifts(process, LEAD, rule="*")
    assert (await lifts(process, ADMIN, rule="*")).rule == "*"


async def test_an_override_names_a_rule_of_the_sets_in_force_for_that_user(process, database):
    rule = """
id: team/no-deploy
description: Nobody deploys.
modes: [strict]
match: {shell: {program: deployer}}
decision: deny
reason: no
tests: {match: ["deployer now"], not_match: ["ls"]}
"""
    layers = PolicyLayers(database, process.policies, process.changes, process.users)
    for where in (Where("team", "red"), Where("project", "shop")):
        files = {"team/no-deploy.yaml": rule.replace("team/no-deploy", f"team/no-{where.tier}")}
        files = {f"team/no-{where.tier}.yaml": text for text in files.values()}
        await layers.upload(ADMIN, where, files, reason="r", activate=True, if_match=None)
    assert (await lifts(process, LEAD, rule="team/no-team")).user == "dora"
    with pytest.raises(Invalid, match="no rule of `bob` is called"):
        await lifts(process, ADMIN, user="bob", rule="team/no-team")
    with pytest.raises(Invalid, match="no rule of `dora` is called"):
        await lifts(process, ADMIN, rule="team/no-project")
    await decisions.add(database, [record(project="shop")])
    assert (await lifts(process, ADMIN, rule="team/no-project")).rule == "team/no-project"


async def test_a_lead_does_not_learn_of_another_teams_session(process, database):
    await decisions.add(database, [record()])
    with pytest.raises(Invalid, match="no call of a session `s`"):
        await lifts(process, OTHER_LEAD, user="")
    assert (await lifts(process, LEAD, user="")).user == "dora"


async def test_an_override_ends_by_itself(process, database, redis, team):
    clock = [datetime.now(UTC)]
    overrides = Overrides(
        database,
        process.changes,
        process.users,
        process.policies,
        process.modes,
        organisation="default",
        now=lambda: clock[0],
    )
    await overrides.make(ADMIN, session_id="s", user="dora", rule="*", reason="r", minutes=5)
    clock[0] += timedelta(minutes=4, seconds=59)
    assert overrides.lifted(DORA, "s") == {"*"}
    clock[0] += timedelta(seconds=1)
    assert overrides.lifted(DORA, "s") == frozenset()
    assert overrides.find(ADMIN) == []


async def test_another_process_learns_of_an_override_and_of_its_end(process, database, redis, team, monkeypatch):
    other = Process(database, redis, team)
    for one in (process, other):
        await one.changes.catch_up()
    monkeypatch.setattr(store, "load", None)  # it reads what the change names, and not all
    made = await lifts(process, ADMIN)
    await other.changes.catch_up()
    assert other.overrides.lifted(DORA, "s") == {RULE}
    await other.overrides.end(ADMIN, made.id)
    await process.changes.catch_up()
    assert process.overrides.lifted(DORA, "s") == frozenset()


async def test_an_override_that_was_made_before_its_rule_was_locked_lifts_it_no_more(
    process, database, redis, tmp_path
):
    await lifts(process, ADMIN)
    folder = tmp_path / "locking"
    folder.mkdir()
    (folder / "config.yaml").write_text(f"locked: [{RULE}]\n")
    locking = Process(database, redis, folder)
    await locking.changes.catch_up()
    call = ToolCall(client="codex", tool_name="Edit", tool_input={"file_path": "a.py"}, session_id="s")
    effects = []
    for one in (process, locking):
        lifted = one.overrides.lifted(DORA, "s")
        assert lifted == {RULE}
        active = (await one.policies.prepare(DORA, "", wait_s=None)).policies
        verdict = evaluate(active, Facts(call=call, level="strict", lifted=lifted, principal=DORA))
        effects.append(next(hit.effect for hit in verdict.hits if hit.id == RULE))
    assert effects == ["lifted", "deny"]


async def test_an_override_and_its_end_are_audited(process, database):
    made = await lifts(process, LEAD)
    await process.overrides.end(ADMIN, made.id, "the work is done")
    end, start = await audit_store.find(database, "default", kind="override")
    assert (start.action, start.actor, start.object, start.reason) == ("override.make", "lea", made.id, "r")
    assert (end.action, end.actor, end.object) == ("override.end", "ada", made.id)
    assert end.reason == "the work is done"
    assert end.before["rule"] == RULE
