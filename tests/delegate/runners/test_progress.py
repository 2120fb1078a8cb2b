"""Runners' reports on their jobs: in any number, order, and from any sender."""

from datetime import UTC, datetime

import pytest

from baton.delegate.runners.progress import Finish, RunnerEvent
from baton.kernel.base.errors import Invalid, LeaseLost, NotFound
from tests.support.delegating import ADA, ADMIN, BEA, BOB, chunk, chunks, claim, report, running, told

PAST = datetime(2020, 1, 1, tzinfo=UTC)


async def test_batches_that_repeat_and_overlap_are_stored_once_and_in_order(world):
    _, lease, job = await running(world)
    for seqs, accepted in (([1, 2], 2), ([1, 2], 2), ([2, 3], 3), ([5], 3), ([6, 5, 4], 6), ([], 6)):
        assert (await report(world, lease, seqs)).accepted == accepted, seqs
    assert await chunks(world, job) == ["1", "2", "3", "4", "5", "6"]


async def test_an_end_counts_only_with_all_that_came_before_it(world):
    _, lease, job = await running(world)
    assert (await report(world, lease, [2], finish="completed")).accepted == 0
    assert await world.state(job) == "running"
    assert (await report(world, lease, [1, 2], finish="completed")).accepted == 2
    assert (await report(world, lease, [1, 2], finish="completed")).accepted == 2
    assert await world.state(job) == "completed"
    assert [told(event) for event in await world.events(job)].count("completed") == 1


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_secrets_in_an_agent_s_output_are_not_stored(world):
    secret = "ghp_" + "a1B2" * 9
    _, lease, job = await running(world)
    tool = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "env", "rawOutput": {"lines": [f"T={secret}"]}}
    sent = [
        RunnerEvent(seq=1, type="session.update", body={"update": tool}),
        RunnerEvent(seq=2, type="workspace.diff", body={"diff": f"+TOKEN={secret}"}),
    ]
    finish = Finish(state="failed", output=f"it is {secret}", error_code="agent", error_detail=f"bad {secret}")
    await world.progress.record(ADA, "laptop", claim(lease), sent, finish)
    kept = await world.get(job)
    assert kept.output == "it is [masked:github-token]"
    events = await world.events(job)
    assert secret not in f"{kept} {[event.body for event in events]}"
    assert "[masked:" in str([event.body for event in events if event.type == "workspace.diff"])


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_a_secret_is_masked_across_the_chunks_of_one_text_and_no_further(world):
    secret = "ghp_" + "a1B2" * 9
    _, lease, job = await running(world)
    tool = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "ls"}
    updates = [chunk(f"it is {secret[:20]}"), chunk(secret[20:] + " "), tool, chunk("and "), chunk("done")]
    sent = [RunnerEvent(seq=seq, type="session.update", body={"update": one}) for seq, one in enumerate(updates, 1)]
    await world.progress.record(ADA, "laptop", claim(lease), sent[:2])
    assert list((await world.get(job)).stream_tails) == ["agent_message_chunk 1"]
    await world.progress.record(ADA, "laptop", claim(lease), sent[2:3])
    assert (await world.get(job)).stream_tails is None
    await world.progress.record(ADA, "laptop", claim(lease), sent[3:])
    said = await chunks(world, job)
    assert secret[20:] not in "".join(said)
    assert "".join(said[-2:]) == "and done"


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
@pytest.mark.parametrize(
    "wrong", [{"token": "0" * 64}, {"attempt": 2}, {"attempt": 7}], ids=["token", "next attempt", "far attempt"]
)
async def test_a_stale_lease_stores_nothing(world, wrong):
    _, lease, job = await running(world)
    with pytest.raises(LeaseLost):
        await report(world, lease, [1], **wrong)
    assert await chunks(world, job) == []
    assert await world.state(job) == "leased"


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
@pytest.mark.parametrize("who", [BOB, BEA, ADMIN])
async def test_another_s_runner_has_no_such_job(world, who):
    _, lease, job = await running(world)
    with pytest.raises(NotFound):
        await report(world, lease, [1], who=who)
    assert await chunks(world, job) == []


@pytest.mark.parametrize("kept_url", ["sqlite"], indirect=True)  # no query of its own
async def test_an_unknown_type_of_event_is_refused_whole(world):
    _, lease, job = await running(world)
    events = [
        RunnerEvent(seq=1, type="session.update", body={}),
        RunnerEvent(seq=2, type="job.state", body={"state": "completed"}),
    ]
    with pytest.raises(Invalid, match="allowed: `session\\.update`"):
        await world.progress.record(ADA, "laptop", claim(lease), events)
    assert await chunks(world, job) == []


async def test_a_delegated_agent_s_session_is_exempt_but_not_the_delegating_one(world):
    _, lease, job = await running(world)
    events = [RunnerEvent(seq=n, type="agent.session", body={"id": name}) for n, name in enumerate(("theirs", "s"), 1)]
    await world.progress.record(ADA, "laptop", claim(lease), events)
    (setting,) = world.modes.settings
    assert (setting.scope, setting.id, setting.user, setting.enabled, setting.delegated) == (
        "session",
        "theirs",
        "ada",
        False,
        True,
    )
    assert job.id in setting.reason
