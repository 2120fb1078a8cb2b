"""The limits of administrative and expensive endpoints, over real HTTP."""

import pytest

from tests.support.server import served


@pytest.fixture(scope="module")
def limited(tmp_path_factory):
    home = tmp_path_factory.mktemp("limits") / "home"
    with served(home, BATON_ADMIN_PER_MINUTE="3", BATON_EXPENSIVE_PER_MINUTE="2", BATON_RATE_PER_MINUTE="5") as running:
        yield running


TIERS = [
    (3, "put", "/mode", {"json": {"scope": "user", "enabled": False}}),
    (2, "get", "/decisions", {}),
    (5, "post", "/spawn", {"json": {"agent_type": "Explore", "prompt": "look"}}),
]


@pytest.mark.parametrize(("most", "method", "path", "more"), TIERS, ids=[row[2] for row in TIERS])
def test_a_rate_limited_user_gets_the_retry_time(limited, most, method, path, more):
    with limited.client(**{"Baton-User": "eager"}) as eager, limited.client(**{"Baton-User": "calm"}) as calm:
        assert [eager.request(method, path, **more).status_code for _ in range(most)] == [200] * most
        refused = eager.request(method, path, **more)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.headers["content-type"] == "application/problem+json"
        assert 1 <= int(refused.headers["retry-after"]) <= 61
        assert calm.request(method, path, **more).status_code == 200, "another user has an allowance of their own"
        assert eager.get("/mode").status_code == 200, "other endpoints are not limited"


def test_no_limit_reaches_the_calls_of_agents(limited):
    with limited.client(**{"Baton-User": "agent"}) as agent:
        call = {"session_id": "s", "tool_name": "Read", "tool_input": {"file_path": "a.py"}}
        assert {agent.post("/pre-tool-use", json=call).status_code for _ in range(20)} == {200}
