"""Tasks: cost, number and retention."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.delegate.core.retention import purge_jobs
from baton.delegate.jobs.costs import parse_prices
from baton.operate.user_data import rows
from tests.support.cases import every
from tests.support.delegating import ADA, ADMIN, BOB, JobUsage, Runner

MAY = datetime(2026, 5, 4, 12, tzinfo=UTC)


async def done(world, who=ADA, *, usage=None, end="completed", **fields):
    runner = Runner(world, who)
    job = await world.delegate(who, **fields)
    await runner.tell(await runner.lease(), "x", finish=end, usage=usage or JobUsage())
    await world.change(job, created_at=MAY)
    return job


@pytest.fixture
async def spent(world):
    million = JobUsage(input_tokens=1_000_000, output_tokens=1_000_000)
    await done(world, tier="CHEAP", usage=million)
    await done(world, tier="CHEAP", usage=JobUsage(input_tokens=1_000_000, cost_usd=0.5))
    await done(world, tier="MEDIUM", usage=million, provider="claude_code", end="failed")
    await done(world, BOB, usage=million)


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("tier", {"": (1, 30.0, 30.0), "CHEAP": (2, 6.5, 35.0), "MEDIUM": (1, 18.0, 30.0)}),
        ("provider", {"claude_code": (1, 18.0, 30.0), "codex": (3, 36.5, 65.0)}),
        ("user", {"ada": (3, 24.5, 65.0), "bob": (1, 30.0, 30.0)}),
        ("team", {"red": (3, 24.5, 65.0), "blue": (1, 30.0, 30.0)}),
        ("day", {"2026-05-04": (4, 54.5, 95.0)}),
    ],
)
async def test_tokens_are_priced_by_tier_and_by_the_expensive_tier(world, spent, by, groups):
    found = await world.analytics.sum_costs(ADMIN, by, since=MAY, until=None)
    assert {one.group: (one.jobs, one.usd, one.expensive_usd) for one in found} == groups
    assert all(one.saved_usd == round(one.expensive_usd - one.usd, 6) for one in found)


async def test_one_s_own_alone_are_summed_up(world, spent):
    (one,) = await world.analytics.sum_costs(BOB, "provider", since=MAY, until=None)
    assert (one.jobs, one.completed, one.failed) == (1, 1, 0)
    assert await world.analytics.sum_costs(BOB, "provider", since=MAY + timedelta(days=1), until=None) == []


@pytest.mark.parametrize(
    ("prices", "usd"),
    [
        ("CHEAP=1/5/0.5 MEDIUM=3/15 EXPENSIVE=5/25", 0.4 * 1 + 0.6 * 0.5 + 5),
        ("CHEAP=1/5 MEDIUM=3/15 EXPENSIVE=5/25", 0.4 * 1 + 0.6 * 0.1 + 5),
    ],
)
async def test_tokens_from_the_cache_have_their_own_price(world, prices, usd):
    assert parse_prices(prices)["CHEAP"].cost(1_000_000, 600_000, 1_000_000) == pytest.approx(usd)
    await done(
        world, tier="CHEAP", usage=JobUsage(input_tokens=1_000_000, cached_tokens=600_000, output_tokens=1_000_000)
    )
    (one,) = await world.analytics.sum_costs(ADMIN, "tier", since=MAY, until=None)
    assert (one.input_tokens, one.cached_tokens, one.usd) == (1_000_000, 600_000, pytest.approx(5.46))
    assert one.expensive_usd == pytest.approx(0.4 * 5 + 0.6 * 0.5 + 25)


@every("text", ["", "CHEAP=1/5", "CHEAP=1/5 MEDIUM=3/15 EXPENSIVE=x/25", "CHEAP=1/5 CHEAP=1/5 MEDIUM=1/1"])
def test_prices_without_a_tier_are_refused(text):
    with pytest.raises(ValueError, match="is not a price for each tier"):
        parse_prices(text)


async def test_jobs_and_runners_are_counted(world):
    first = await world.delegate()
    await world.delegate(approval="ask")
    await world.change(first, queued_at=datetime.now(UTC) - timedelta(seconds=90))
    await Runner(world, slots=0).poll()
    counted = await world.counts.count()
    assert (counted.jobs["queued"], counted.jobs["pending_approval"], counted.jobs["failed"]) == (1, 1, 0)
    assert 85 < counted.queue_age_s < 1_000
    assert counted.runners_alive == 1


async def test_retention_removes_an_ended_job_with_its_events(world, database):
    old, running, young = [await world.delegate(session_id=session) for session in ("old", "run", "young")]
    runner = Runner(world, slots=2)
    for lease in (await runner.poll()).jobs:
        await runner.tell(lease, "x", finish="completed" if lease.job.id == old.id else None)
        await runner.ask(lease) if lease.job.id != old.id else None
    long_ago = datetime.now(UTC) - timedelta(days=40)
    await world.change(old, ended_at=long_ago)
    await world.change(running, created_at=long_ago)
    assert await purge_jobs(database, "default", datetime.now(UTC) - timedelta(days=30)) == 1
    assert {job.id for job in await world.found()} == {running.id, young.id}
    assert await world.events(old) == []
    assert len([row async for row in rows(database, "default", "ada", "session_delegation")]) == 2


async def test_an_export_has_jobs_events_approvals_and_runners_but_no_digest(world, database):
    runner = Runner(world)
    await world.delegate()
    lease = await runner.lease()
    await runner.ask(lease)
    for table, count in (("jobs", 1), ("job_events", 8), ("approvals", 1), ("runners", 1)):
        found = [row async for row in rows(database, "default", "ada", table)]
        assert len(found) == count, table
        assert not any("digest" in row for row in found)
        assert [row async for row in rows(database, "default", "bob", table)] == []
