"""Each of the soak's faults for a moment, on two workers: a decision for every call, the right one, and no record lost."""

import pytest
import pytest_asyncio

from bench.soak.scenarios import SCENARIOS, run
from bench.soak.world import world

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.slow("holds each of a dozen faults under load")]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def running():
    async with world() as made:
        made.load.patience_s = 60  # whether each call is answered is asked here, and `make soak` how soon
        yield made


@pytest.mark.parametrize("name", SCENARIOS)
async def test_every_call_gets_its_own_right_decision_and_none_is_lost(running, name):
    row = await run(running, name, hold_s=0.4, sessions_per_s=20, settle_s=0.3)
    assert row.seen.calls > 0
    assert row.seen.wrong == []
    assert row.seen.unanswered == []
    assert row.lost == 0, running.log()
