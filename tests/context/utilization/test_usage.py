"""Sums of what was put into prompts, on both databases; who sees them; and which source is proposed to go."""

from datetime import UTC, datetime, timedelta

import pytest

from baton.context.utilization import store
from baton.context.utilization.store import Sums
from baton.context.utilization.usage import ContextUsage, proposal
from baton.engine.call.principal import Principal
from baton.kernel.base.errors import Forbidden, Invalid, StoreUnavailable
from baton.records.pipeline.counters import Counters

ANN = Principal(organisation="acme", team="web", user="ann")
BOB = Principal(organisation="acme", team="web", user="bob")
EVE = Principal(organisation="acme", team="ops", user="eve")
LEA = Principal(organisation="acme", team="web", user="lea", role="lead")
ADA = Principal(organisation="acme", user="ada", role="admin")


@pytest.fixture
async def usage(database):
    usage = ContextUsage(database, Counters())
    for who, text in ((ANN, "one two three"), (ANN, "one"), (BOB, "one two"), (EVE, "one two three four")):
        usage.added(who, "code_analysis", text)
    usage.measured(ANN, "code_analysis", injected=4, reused=1)
    usage.measured(BOB, "code_analysis", injected=4, reused=0)
    usage.added(ANN, "summarization", "one")
    await usage.flush()
    return usage


async def test_tokens_and_their_use_are_summed_by_source(usage):
    code, summary = await usage.find(ANN)
    assert (code.source, code.sums) == (
        "code_analysis",
        Sums(prompts=2, tokens=6, measured=1, used=1, injected=4, reused=1),
    )
    assert (code.tokens_per_prompt, code.utilization) == (3.0, 0.25)
    assert (summary.source, summary.sums.prompts, summary.utilization) == ("summarization", 1, 0.0)
    usage.added(ANN, "summarization", "one")
    await usage.flush()
    assert (await usage.find(ANN))[1].sums.prompts == 2


@pytest.mark.parametrize(("who", "prompts"), [(ANN, 2), (BOB, 1), (EVE, 1), (LEA, 3), (ADA, 4)])
async def test_each_sees_as_far_as_their_role_reaches(usage, who, prompts):
    assert next(one for one in await usage.find(who) if one.source == "code_analysis").sums.prompts == prompts


async def test_another_period_or_team_is_another_sum(usage):
    now = datetime.now(UTC)
    assert await usage.find(ADA, now - timedelta(days=9), now - timedelta(days=8)) == []
    assert [one.sums.prompts for one in await usage.find(ADA, team="ops")] == [1]
    with pytest.raises(Invalid, match="366 days"):
        await usage.find(ADA, now - timedelta(days=400), now)


async def test_old_days_are_removed(usage, database):
    assert await store.purge(database, "acme", datetime.now(UTC)) == 0
    assert await store.purge(database, "acme", datetime.now(UTC) + timedelta(days=1)) == 4
    assert await usage.find(ADA) == []


async def test_while_the_database_is_away_sums_are_held_and_nothing_can_be_asked(no_database, database):
    usage = ContextUsage(no_database, Counters())
    usage.added(ANN, "code_analysis", "one")
    await usage.flush()
    usage.added(ANN, "code_analysis", "one")
    with pytest.raises(StoreUnavailable):
        await usage.find(ANN)
    usage._database = database
    await usage.flush()
    assert (await usage.find(ANN))[0].sums.prompts == 2


async def test_a_token_of_one_job_sums_nothing_up(usage):
    with pytest.raises(Forbidden):
        await usage.find(Principal(role="agent", job="j"))


@pytest.mark.parametrize(
    ("used", "measured", "proposed"),
    [
        (0, 0, False),
        (0, 20, False),
        (0, 34, False),
        (0, 35, True),
        (1, 50, False),
        (1, 60, True),
        (5, 100, False),
        (3, 100, True),
        (50, 100, False),
    ],
)
def test_a_source_is_proposed_to_go_when_it_is_surely_used_less_than_once_in_ten_prompts(used, measured, proposed):
    said = proposal("similarity", Sums(used=used, measured=measured, tokens=7))
    assert bool(said) == proposed
    if said:
        assert f"after {used} of {measured} prompts" in said
        assert "baton context off similarity" in said
