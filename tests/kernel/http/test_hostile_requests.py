"""What each hostile request of tests/attacks/stall.yaml is answered; `bench/hostile.py` measures who waits meanwhile."""

import pytest

from tests.attacks.requests import Attack, attacks, send

REQUESTS = [one for one in attacks() if "line" not in one.request]


@pytest.mark.parametrize("attack", REQUESTS, ids=lambda one: one.name)
async def test_a_hostile_request_is_answered_as_it_should_be(server, attack: Attack):
    outcome = await send(attack, int(server.url.rpartition(":")[2]), server.token)
    assert outcome.word in attack.want, outcome.body[:300]
