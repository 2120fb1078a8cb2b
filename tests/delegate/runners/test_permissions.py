"""An agent's permission requests: the rules first, then a person, then the clock."""

from datetime import UTC, datetime

import pytest

from baton.kernel.base.errors import Conflict, Forbidden, LeaseLost, NotFound
from baton.kernel.changes import audit_store
from baton.people.approvals import APPROVALS, may_answer
from baton.rules.call.call import Principal
from tests.support.attacks import attacks
from tests.support.delegating import ADA, ADMIN, BEA, BOB, LEAD, Runner, told

PAST = datetime(2020, 1, 1, tzinfo=UTC)


async def asked(world, effect="abstain", **fields):
    runner, job = Runner(world), await world.delegate(**fields)
    lease = await runner.lease()
    await runner.tell(lease, "a")
    world.rules.effect = effect
    return runner, lease, job, await runner.ask(lease, command="make")


async def answer_of(world, who, asked, *, approve, reason=""):
    return await world.permissions.answer(who, asked.permission, approve=approve, reason=reason)


async def words(world, job):
    return [told(event) for event in await world.events(job)][-3:]


@pytest.mark.matrix(3)
@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
@pytest.mark.parametrize(
    ("effect", "answer", "state"),
    [
        ("deny", "deny", "running"),
        ("allow", "allow", "running"),
        ("ask", "pending", "awaiting_permission"),
        ("rewrite", "pending", "awaiting_permission"),
        ("guidance", "pending", "awaiting_permission"),
        ("abstain", "pending", "awaiting_permission"),
    ],
)
async def test_the_rules_answer_first(world, effect, answer, state):
    _, _, job, answered = await asked(world, effect)
    assert (answered.answer, await world.state(job)) == (answer, state)
    assert answered.reason == ("because" if answer != "pending" else "")
    kept = [(one.state, one.decision_id) for one in await world.approvals.list_requests(ADA, job.id)]
    assert kept == ([("waiting", "d1")] if answer == "pending" else [])


@pytest.mark.matrix(4)
@pytest.mark.parametrize(
    ("agent_type", "tool", "effect", "answer"),
    [
        ("explore", "mcp__baton__invoke_gemini", "abstain", "allow"),
        ("explore", "mcp__baton__invoke_gemini", "deny", "deny"),
        ("explore", "mcp__baton__invoke_gemini", "ask", "pending"),
        ("explore", "mcp__other__tool", "abstain", "pending"),
        ("", "mcp__baton__invoke_gemini", "abstain", "pending"),
    ],
)
async def test_a_spawned_agent_reaches_its_target_without_a_person_unless_a_rule_says_otherwise(
    world, agent_type, tool, effect, answer
):
    runner, _ = Runner(world), await world.delegate(agent_type=agent_type)
    lease = await runner.lease()
    world.rules.effect = effect
    assert (await runner.ask(lease, tool=tool)).answer == answer


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_the_rules_are_asked_about_a_call_of_the_owner_s_session(world):
    _, _, job, _ = await asked(world, project="acme/shop")
    ((caller, call),) = world.rules.asked
    assert (caller.principal.user, caller.principal.team) == ("ada", "red")
    assert (call.session_id, call.agent_id, call.project, call.tool_name) == ("s", job.id, "acme/shop", "Bash")
    assert call.tool_input == {"command": "make"}


@pytest.mark.parametrize(("approve", "state", "answer"), [(True, "approved", "allow"), (False, "denied", "deny")])
async def test_a_person_s_answer_reaches_the_runner(world, approve, state, answer):
    runner, _, job, pending = await asked(world)
    assert await words(world, job) == ["a", "permission.requested", "awaiting_permission"]
    done = await answer_of(world, ADA, pending, approve=approve, reason="r")
    assert (done.state, done.decided_by, done.answer_reason) == (state, "ada", "r")
    (command,) = (await runner.poll()).commands
    assert (command.kind, command.body) == (
        "permission",
        {"permission": pending.permission, "answer": answer, "by": "user"},
    )
    assert await words(world, job) == ["awaiting_permission", "permission.resolved", "running"]
    assert (await answer_of(world, ADA, pending, approve=approve)).state == state
    (entry,) = await audit_store.find_entries(world.database, "default", kind="approvals")
    action = "approval.approve" if approve else "approval.deny"
    assert (entry.actor, entry.action, entry.object, entry.reason) == ("ada", action, pending.permission, "r")
    assert (entry.after["shown"], entry.after["job"]) == ('{"command":"make"}', job.id)
    with pytest.raises(Conflict, match=r"is already (approved|denied) by `ada`"):
        await answer_of(world, ADA, pending, approve=not approve)


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_who_may_not_decide_does_not(world):
    _, _, job, pending = await asked(world)
    with pytest.raises(NotFound, match=f"^there is no approval request `{pending.permission}`"):
        await answer_of(world, BOB, pending, approve=True)
    with pytest.raises(Forbidden):
        await answer_of(world, Principal(user="ada", role="runner"), pending, approve=True)
    with pytest.raises(NotFound):
        await world.permissions.answer(ADA, "perm_none", approve=True, reason="")
    for elsewhere in (LEAD, ADMIN):
        for approve in (True, False):
            with pytest.raises(Forbidden, match="only `ada` may answer request"):
                await answer_of(world, elsewhere, pending, approve=approve)
    assert await world.state(job) == "awaiting_permission"


async def test_on_a_shared_runner_its_owner_answers_and_not_who_gave_the_task(world):
    runner, job = Runner(world, who=BEA, shared=True), await world.delegate()
    lease = await runner.lease()
    pending = await runner.ask(lease, command="make")
    with pytest.raises(Forbidden, match="only `user:bea` may answer request"):
        await answer_of(world, ADA, pending, approve=True)
    assert (await world.jobs.get(BEA, job.id)).id == job.id
    done = await answer_of(world, BEA, pending, approve=True)
    assert (done.state, done.decided_by) == ("approved", "bea")
    ((caller, _),) = world.rules.asked
    assert caller.principal.user == "bea"  # ada's own layer allows nothing on bea's machine


@pytest.mark.matrix(2)
@pytest.mark.parametrize(("confirm", "answer"), [("by-rules", "allow"), ("always", "pending")])
@pytest.mark.parametrize(("tool", "agent_type"), [("Bash", ""), ("mcp__baton__invoke_gemini", "explore")])
async def test_a_rule_allows_only_if_the_runner_s_owner_permits_it(world, confirm, answer, tool, agent_type):
    runner, _ = Runner(world), await world.delegate(agent_type=agent_type)
    lease = await runner.lease()
    world.rules.effect = "abstain" if agent_type else "allow"
    assert (await runner.ask(lease, tool=tool, confirm=confirm)).answer == answer


REQUESTS = attacks("colleagues", "request")


@pytest.mark.matrix(4)
@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
@pytest.mark.parametrize("one", REQUESTS, ids=[one["name"] for one in REQUESTS])
async def test_a_request_is_judged_by_its_effect(world, one):
    runner, _ = Runner(world), await world.delegate(agent_type="explore")
    lease = await runner.lease()
    request = {"tool_name": "other", "tool_input": {}} | one["request"]
    answered = await runner.ask_as(lease, request)
    ((_, call),) = world.rules.asked
    assert [call.tool_name, {name: call.tool_input[name] for name in one["want"][1]}] == one["want"]
    assert (answered.answer == "allow") == call.tool_name.startswith("mcp__baton__")


async def test_an_unanswered_request_is_denied(world):
    runner, lease, job, pending = await asked(world)
    second = await runner.ask(lease, command="ls")
    await world.sweeper.sweep()
    assert await world.state(job) == "awaiting_permission"
    await _overdue(world, job)
    await world.sweeper.sweep()
    kept = {(one.state, one.answer_reason) for one in await world.approvals.list_requests(ADA, job.id)}
    assert kept == {("denied", "nobody answered in time")}
    answers = {command.body["permission"]: command.body["answer"] for command in (await runner.poll()).commands}
    assert answers == {pending.permission: "deny", second.permission: "deny"}
    assert await world.state(job) == "running"


async def _overdue(world, job):
    async with world.database.transaction() as connection:
        late = APPROVALS.update().where(APPROVALS.c.job == job.id, APPROVALS.c.state == "waiting")
        await connection.execute(late.values(expires_at=PAST))


async def test_an_agent_waits_until_all_that_it_asked_is_answered(world):
    runner, lease, job, first = await asked(world)
    second = await runner.ask(lease, command="ls")
    await answer_of(world, ADA, first, approve=True)
    assert await world.state(job) == "awaiting_permission"
    await answer_of(world, ADA, second, approve=True)
    assert await world.state(job) == "running"


async def test_pending_requests_of_an_ended_attempt_are_denied(world):
    runner, lease, job, pending = await asked(world)
    await runner.tell(lease, first=2, finish="failed", error_code="e")
    (kept,) = await world.approvals.list_requests(ADA, job.id)
    assert (kept.id, kept.state, kept.answer_reason) == (pending.permission, "denied", "the attempt has ended")
    with pytest.raises(LeaseLost):
        await runner.ask(lease, command="ls")


async def test_an_absent_runner_waits_for_no_permission(world):
    _, _, job, pending = await asked(world)
    await world.change(job, lease_until=PAST)
    await world.sweeper.sweep()
    assert (await world.get(job)).error_code == "runner_lost"
    with pytest.raises(Conflict, match="already denied: the attempt has ended"):
        await answer_of(world, ADA, pending, approve=True)


def questions(world):
    return [
        (one.state, one.answer, one.answered_by, one.reason, one.runner_user) for one in world.emitted.of("questions")
    ]


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_events_of_a_question_have_no_content(world):
    runner, lease, job, first = await asked(world)
    await answer_of(world, ADA, first, approve=True)
    await runner.ask(lease, command="secret words")
    await _overdue(world, job)
    await world.sweeper.sweep()
    await runner.ask(lease, command="secret words")
    await runner.tell(lease, first=2, finish="failed", error_code="e")
    assert questions(world) == [
        ("opened", "", "", "", "ada"),
        ("answered", "allow", "ada", "", "ada"),
        ("opened", "", "", "", "ada"),
        ("expired", "deny", "", "timeout", "ada"),
        ("opened", "", "", "", "ada"),
        ("expired", "deny", "", "end", "ada"),
    ]
    assert "secret words" not in str(world.emitted.found)
    ids = [event_id for topic, _, _, event_id in world.emitted.found if topic == "questions"]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("effect", ["allow", "deny"])
@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_requests_answered_by_rules_are_no_questions(world, effect):
    await asked(world, effect)
    assert (questions(world), await world.approvals.list_requests(ADA)) == ([], [])


async def test_pending_requests_are_listed_for_readers_and_the_machine_s_owner(world):
    _, _, _, first = await asked(world, description="Tidy up", workspace="shop")
    hosted = Runner(world, who=BEA, name="hers", shared=True)
    other = await world.delegate(prompt="List all files\nand more")
    second = await hosted.ask(await hosted.lease(), command="rm -rf build")
    seen = {
        who.user: [
            (one.id, one.job_title, one.workspace, may_answer(who, one))
            for one in await world.approvals.list_requests(who)
        ]
        for who in (ADA, BEA, BOB, LEAD, ADMIN)
    }
    one, two = (first.permission, "Tidy up", "shop"), (second.permission, "List all files", "")
    assert seen["ada"] == [(*one, True), (*two, False)]
    assert seen["bea"] == [(*two, True)]
    assert seen["bob"] == []
    assert seen[LEAD.user] == seen[ADMIN.user] == [(*one, False), (*two, False)]
    await answer_of(world, ADA, first, approve=False)
    (left,) = await world.approvals.list_requests(ADA)
    assert (left.job, left.approvers) == (other.id, "user:bea")


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_a_request_keeps_how_it_was_read_with_secrets_masked(world):
    token = "ghp_" + "a1B2" * 9
    _, _, job, _ = await asked(world, "ask")
    runner, _ = Runner(world, name="two"), await world.delegate(workspace="shop", isolation="worktree")
    await runner.ask(await runner.lease(), command=f"curl -H 'Authorization: Bearer {token}' http://x")
    first, second = [one.reading for one in await world.approvals.list_requests(ADA)]
    assert (first["tool"], first["command"], first["rule"], first["why"]) == ("Bash", "make", "a/b", "because")
    assert token not in str(second)
    assert (await world.approvals.list_requests(ADA, job.id))[0].reading == first
