"""Every state of a job and every transition; permissions to take it; reports to the session."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.delegate.jobs.new_job import LONGEST_PROMPT
from baton.delegate.runners.progress import RunnerEvent
from baton.kernel.base.errors import Conflict, Forbidden, Invalid, LeaseLost, NotFound
from baton.kernel.changes import audit_store
from baton.rules.call.call import Principal
from tests.support.delegating import ADA, ADMIN, BEA, BOB, LEAD, JobUsage, Runner, claim, told

PAST = datetime(2020, 1, 1, tzinfo=UTC)
ACK = "✓ Delegated to codex. Task: list files"


async def test_a_delegation_s_events_have_the_documented_order(world):
    runner, job = Runner(world), await world.delegate(description="look")
    assert (job.state, await world.mode()) == ("queued", "default_mode")
    lease = await runner.lease()
    assert (await world.state(job), await world.mode()) == ("leased", "codex")
    assert (await runner.tell(lease, "Found ", "2 files")).accepted == 2
    assert await world.state(job) == "running"
    usage = JobUsage(input_tokens=10, output_tokens=2, cost_usd=0.5)
    await runner.tell(lease, ".", first=3, finish="completed", usage=usage)
    events = await world.events(job)
    assert [told(event) for event in events] == [
        "call codex.run", "queued", "mode codex", ACK, "leased", "running", "Found ", "2 files", ".",
        "tool_call_update completed", "mode default_mode", "completed",
    ]  # fmt: skip
    assert [event.no for event in events] == [event.session_no for event in events] == list(range(1, 13))
    assert await world.jobs.output(ADA, job.id) == "Found 2 files."
    ended = await world.get(job)
    assert (ended.input_tokens, ended.output_tokens, ended.cost_usd, ended.ended_at is None) == (10, 2, 0.5, False)
    assert await world.mode() == "default_mode"


async def test_each_change_of_a_job_s_state_is_an_event_and_nothing_else_is(world):
    runner = Runner(world)
    await world.delegate()
    lease = await runner.lease()
    await runner.tell(lease, "Found ", "2 files")
    await runner.tell(lease, ".", first=3, finish="completed")
    assert [one.state for one in world.emitted.of("jobs")] == ["queued", "leased", "running", "completed"]


async def test_a_session_is_in_no_agent_s_mode_while_its_job_waits_for_a_runner(world):
    job = await world.delegate()
    assert [told(event) for event in await world.events(job)] == ["call codex.run", "queued"]
    assert await world.mode() == "default_mode"
    await world.control.cancel(ADA, job.id)
    assert [told(event) for event in await world.session_events()][-2:] == ["tool_call_update failed", "cancelled"]
    assert await world.mode() == "default_mode"


async def test_a_lease_with_a_lost_answer_is_acknowledged_once(world):
    job = await world.delegate()
    await Runner(world).poll()
    assert (await Runner(world).lease()).job.attempt == 1
    assert [told(event) for event in await world.events(job)].count(ACK) == 1
    assert await world.mode() == "codex"


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
@pytest.mark.parametrize(
    "name", ["Codex", "CODEX", " codex ", "Claude-Code", "CLAUDE_CODE", "claude code", "Gemini", "OpenCode"]
)
async def test_a_provider_is_known_however_it_is_written(world, name):
    job = await world.delegate(provider=name)
    assert job.provider == name.strip().lower().replace("-", "_").replace(" ", "_")


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_only_the_orchestrator_s_updates_carry_its_tag(world):
    runner, job = Runner(world), await world.delegate(provider="claude-code")
    await runner.tell(await runner.lease(), "hello", finish="completed")
    tags = [
        (told(event), event.body["source"], event.body["provider"], event.body["_meta"]["provider"])
        for event in await world.events(job)
        if event.type == "session.update"
    ]
    mine, theirs = "fm_orchestrator", "delegated_agent"
    assert tags == [
        ("call claude_code.run", mine, "claude_code", "foundation_models"),
        ("mode claude_code", mine, "claude_code", "foundation_models"),
        ("✓ Delegated to claude_code. Task: list files", mine, "claude_code", "foundation_models"),
        ("hello", theirs, "claude_code", "claude_code"),
        ("tool_call_update completed", mine, "claude_code", "foundation_models"),
        ("mode default_mode", mine, "claude_code", "foundation_models"),
    ]
    ack = (await world.events(job))[3].body["update"]
    assert ack["_meta"] == {"source": "fm_orchestrator", "provider": "foundation_models"}


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
@pytest.mark.parametrize(
    ("fields", "field", "words"),
    [
        ({"prompt": ""}, "user_prompt", "blank"),
        ({"prompt": " \n"}, "user_prompt", "blank"),
        ({"prompt": "x" * (LONGEST_PROMPT + 1)}, "user_prompt", "at most"),
        ({"provider": "claude"}, "provider", "did you mean `claude_code`.*allowed: `claude_code`, `codex`"),
        ({"provider": "Codex!"}, "provider", "allowed: `codex`, `claude_code`, `opencode`, `gemini`"),
        ({"approval": "maybe"}, "approval", "`none`, `ask`"),
        ({"isolation": "jail"}, "isolation", "`in_place`, `worktree`"),
        ({"depends_on": ("job_none",)}, "depends_on", "not one of your jobs"),
        ({"graph_id": "graph_none"}, "graph", "not one of your task graphs"),
        ({"timeout_s": 0}, "timeout_s", "from 1"),
        ({"max_attempts": 2}, "max_attempts", "worktree"),
        ({"workspace": "shp"}, "workspace", "allowed: `shop`"),
    ],
)
async def test_an_invalid_job_is_named_and_not_created(world, fields, field, words):
    await Runner(world).poll()
    with pytest.raises(Invalid, match=words) as refused:
        await world.delegate(**fields)
    assert refused.value.errors[0].field == field
    assert await world.found() == []
    assert await world.session_events() == []


async def test_an_unknown_workspace_is_accepted_unchanged(world):
    assert (await world.delegate(workspace="shop")).state == "queued"


async def test_an_idempotency_key_makes_one_job(world):
    job = await world.delegate(key="k")
    assert (await world.delegate(key="k")).id == job.id
    assert (await world.delegate(key="other")).id != job.id
    assert (await world.delegate(BOB, key="k")).id != job.id
    with pytest.raises(Conflict, match="`k` was already used for another task"):
        await world.delegate(key="k", prompt="something else")
    assert len(await world.found()) == 2


async def test_a_job_that_asks_waits_for_approval(world):
    runner, job = Runner(world), await world.delegate(approval="ask")
    assert (await runner.poll()).jobs == []
    assert [told(event) for event in await world.events(job)] == ["pending_approval"]
    for who, error in ((BOB, NotFound), (BEA, NotFound)):
        with pytest.raises(error):
            await world.control.approve(who, job.id)
    assert (await world.control.approve(ADA, job.id)).state == "queued"
    with pytest.raises(Conflict, match="`queued`"):
        await world.control.approve(ADA, job.id)
    assert (await runner.lease()).job.id == job.id


async def test_the_audit_log_has_each_action_on_a_job(world):
    job = await world.delegate(approval="ask")
    await world.control.approve(LEAD, job.id)
    await world.control.cancel(ADA, job.id)
    await world.control.cancel(ADA, job.id)
    await world.control.retry(ADMIN, job.id)
    entries = await audit_store.find_entries(world.database, "default", kind="job", object=job.id)
    assert [(entry.actor, entry.action, entry.before["state"], entry.after["state"]) for entry in entries] == [
        ("root", "job.retry", "cancelled", "queued"),
        ("ada", "job.cancel", "queued", "cancelled"),
        ("lea", "job.approve", "pending_approval", "queued"),
    ]


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_a_runner_s_token_does_not_approve(world):
    job = await world.delegate(approval="ask")
    who = Principal(user="ada", team="red", role="runner")
    await world.control.cancel(who, job.id)
    assert (await world.control.retry(who, job.id)).state == "pending_approval"
    with pytest.raises(Forbidden):
        await world.control.approve(who, job.id)


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
@pytest.mark.parametrize("approval", ["none", "ask"])
async def test_a_job_without_a_runner_is_cancelled_at_once(world, approval):
    job = await world.delegate(approval=approval)
    assert (await world.control.cancel(ADA, job.id)).state == "cancelled"
    assert (await world.control.cancel(ADA, job.id)).state == "cancelled"
    assert (await Runner(world).poll()).jobs == []
    assert told((await world.events(job))[-1]) == "cancelled"
    if approval == "none":
        assert await world.mode() == "default_mode"


async def test_a_running_job_is_cancelled_by_its_runner(world):
    runner, job = Runner(world), await world.delegate()
    lease = await runner.lease()
    await runner.tell(lease, "a")
    assert (await world.control.cancel(ADA, job.id)).state == "running"
    (command,) = (await runner.poll()).commands
    assert (command.kind, command.job, command.attempt) == ("cancel", job.id, 1)
    assert (await runner.poll()).commands == [command]
    assert (await runner.poll(acked=(command.id,))).commands == []
    assert (await runner.tell(lease, "b", first=2)).cancel
    assert await world.mode() == "codex"
    await runner.tell(lease, finish="cancelled")
    assert (await world.state(job), await world.mode()) == ("cancelled", "default_mode")


async def test_a_cancel_that_the_runner_ignores_ends_by_itself(world):
    runner, job = Runner(world), await world.delegate()
    lease = await runner.lease()
    await runner.tell(lease, "a")
    await world.control.cancel(ADA, job.id)
    await world.sweeper.sweep()
    assert await world.state(job) == "running"
    await world.change(job, cancel_at=PAST)
    await world.sweeper.sweep()
    ended = await world.get(job)
    assert (ended.state, ended.error_code, await world.mode()) == ("cancelled", "cancel_unconfirmed", "default_mode")
    with pytest.raises(LeaseLost):
        await runner.tell(lease, finish="completed")
    assert (await world.get(job)).late_result["state"] == "completed"
    assert (await runner.poll()).lost == [job.id]


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
@pytest.mark.parametrize("end", ["completed", "failed", "cancelled"])
async def test_an_ended_job_is_not_cancelled_and_retried_only_if_failed(world, end):
    runner, job = Runner(world), await world.delegate()
    await runner.tell(await runner.lease(), "x", finish=end, error_code="e" if end == "failed" else "")
    if end != "cancelled":
        with pytest.raises(Conflict):
            await world.control.cancel(ADA, job.id)
    if end == "completed":
        with pytest.raises(Conflict, match="`completed`"):
            await world.control.retry(ADA, job.id)
        return
    again = await world.control.retry(ADA, job.id)
    assert (again.state, again.error_code, await world.mode()) == ("queued", "", "default_mode")
    lease = await runner.lease()
    assert (lease.job.attempt, await world.mode()) == (2, "codex")
    assert [told(event) for event in await world.events(job)].count(ACK) == 2
    await runner.tell(lease, "y", finish="completed")
    assert (await world.state(job), await world.jobs.output(ADA, job.id)) == ("completed", "y")


async def test_the_mode_returns_when_the_last_of_parallel_delegations_ends(world):
    runner = Runner(world, slots=2)
    await world.delegate(provider="codex")
    await world.delegate(provider="claude_code")
    await world.delegate(session_id="other")
    assert await world.mode() == "default_mode"
    codex, claude = (await runner.poll()).jobs
    assert await world.mode() == "claude_code"
    await runner.tell(claude, finish="failed", error_code="e")
    assert await world.mode() == "codex"
    await runner.tell(codex, finish="completed")
    assert await world.mode() == "default_mode"
    assert await world.mode("other") == "default_mode"
    numbers = [event.session_no for event in await world.session_events()]
    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize(("who", "poll", "gets"), [
    (ADA, {}, True),
    (BEA, {}, False),
    (BEA, {"shared": True}, True),
    (BOB, {"shared": True}, False),
    (ADMIN, {"shared": True}, False),
    (ADA, {"providers": ("gemini",)}, False),
    (ADA, {"workspaces": ("else",)}, False),
    (ADA, {"slots": 0}, False),
])  # fmt: skip
async def test_a_job_is_leased_to_the_owner_s_runner_or_a_shared_one(world, who, poll, gets):
    job = await world.delegate(workspace="shop")
    assert [lease.job.id for lease in (await Runner(world, who, **poll).poll()).jobs] == ([job.id] if gets else [])


async def test_the_next_delegation_resumes_the_agent_s_session(world):
    runner = Runner(world)
    await world.delegate()
    lease = await runner.lease()
    event = RunnerEvent(seq=1, type="agent.session", body={"id": "thread-1"})
    await world.progress.record(ADA, "laptop", claim(lease), [event])
    await runner.tell(lease, "x", first=2, finish="completed")
    for fields, session in (
        ({}, "thread-1"),
        ({"provider": "claude_code"}, ""),
        ({"session_id": "t"}, ""),
        ({"isolation": "worktree"}, ""),
    ):
        await world.delegate(**fields)
        lease = await runner.lease()
        assert lease.agent_session == session, fields
        await runner.tell(lease, finish="completed")


async def test_others_see_jobs_within_their_role(world):
    job = await world.delegate()
    assert (await world.get(job, LEAD)).id == (await world.get(job, ADMIN)).id == job.id
    for who in (BOB, BEA):
        with pytest.raises(NotFound):
            await world.get(job, who)
        assert await world.found(who) == []
    assert [one.id for one in await world.found(LEAD, user="ada")] == [job.id]


async def test_lists_are_cut_into_pages_by_filters(world):
    jobs = [await world.delegate(session_id=session, provider=provider)
            for session in "st" for provider in ("codex", "gemini")]  # fmt: skip
    assert [one.id for one in await world.found()] == [job.id for job in reversed(jobs)]
    assert len(await world.found(session_id="s")) == len(await world.found(provider="gemini")) == 2
    assert await world.found(since=datetime.now(UTC) + timedelta(days=1)) == []
    assert await world.found(state="running") == []


async def test_any_agent_that_a_runner_serves_may_be_delegated_to(world):
    assert (await world.delegate(provider="Claude-ACP")).provider == "claude_code"
    assert (await world.delegate(provider="goose")).provider == "goose"
    with pytest.raises(Invalid, match="`my_agent`, an unknown agent"):
        await world.delegate(provider="my-agent")
    await Runner(world, providers=("my_agent", "codex"), slots=0).poll()
    assert (await world.delegate(provider="My Agent")).provider == "my_agent"
    with pytest.raises(Invalid, match=r"`my_agen`, not served by your runners .*did you mean `my_agent`"):
        await world.delegate(provider="my-agen")
    with pytest.raises(Invalid, match=r"`\.\./x`, not a valid agent name"):
        await world.delegate(provider="../x")
