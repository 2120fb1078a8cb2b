"""The answer to each hostile request of tests/attacks/stall.yaml; `make soak` measures others' waiting."""

import pytest

from tests.attacks.requests import Attack, attacks, send
from tests.support.server import served


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server of its own: what is uploaded here is a burden for whoever routes a prompt."""
    with served(tmp_path_factory.mktemp("hostile") / "home") as running:
        yield running


REQUESTS = [
    pytest.param(
        one,
        id=one.name,
        marks=[pytest.mark.slow("opens a thousand connections")] * (one.connections >= 1_000)
        + [pytest.mark.slow("sends 64 MiB")] * ("64 MiB" in one.name),
    )
    for one in attacks()
    if "line" not in one.request
]


@pytest.mark.matrix(3)
@pytest.mark.parametrize("attack", REQUESTS)
async def test_a_hostile_request_gets_its_expected_status(server, attack: Attack):
    outcome = await send(attack, int(server.url.rpartition(":")[2]), server.token)
    assert outcome.word in attack.want, outcome.body[:300]
