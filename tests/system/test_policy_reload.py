"""Policies changing under load: every decision is by one whole revision, and all servers agree within moments."""

import threading

import pytest

from tests.policies.test_layers_api import put, rule
from tests.support.http_calls import introduce
from tests.support.server import served, serving, until

BOTH = ("first", "second")


def files(decision):
    """Two rules that always say the same: a mixture of revisions would show."""
    return {f"team/{name}.yaml": rule(f"team/{name}", "deployer", decision) for name in BOTH}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("reload") / "home") as running:
        yield running


@pytest.mark.slow("reloads again and again under load")
def test_a_reload_under_load_is_atomic(server):
    answers, stop = [], threading.Event()
    body = {"session_id": "", "tool_name": "Bash", "tool_input": {"command": "deployer now"}}

    def ask():
        with server.client(**{"Baton-User": "ann", "Baton-Team": "payments"}) as http:
            while not stop.is_set():
                answer = http.post("/pre-tool-use", json=body)
                answers.append((answer.status_code, answer.json()))

    introduce(server, teams=["payments"])
    with server.client() as http:
        tag = put(http, "team", files("deny"), name="payments").headers["ETag"]
        threads = [threading.Thread(target=ask) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for number in range(12):
                decision = ("ask", "deny")[number % 2]
                stored = put(http, "team", files(decision), name="payments", if_match=tag)
                assert stored.status_code == 200
                tag = stored.headers["ETag"]
                last = len(answers)
                until(lambda before=last: len(answers) > before + 4)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    assert {status for status, _ in answers} == {200}
    whole = [answer for _, answer in answers if "policies" not in answer["degraded"]]
    assert {answer["decision"] for answer in whole} == {"ask", "block"}
    for answer in whole:
        effects = {hit["effect"] for hit in answer["rules"]}
        assert len(answer["rules"]) == 2
        assert len(effects) == 1


@pytest.mark.slow("starts two servers and Postgres")
def test_two_servers_of_one_database_agree(tmp_path, valkey_url, postgres_url):
    shared = {"BATON_REDIS_URL": valkey_url, "BATON_DATABASE_URL": postgres_url}
    body = {"session_id": "", "tool_name": "Bash", "tool_input": {"command": "deployer now"}}
    with serving(tmp_path / "one", **shared) as one, serving(tmp_path / "two", **shared) as two:
        token = {"Authorization": "Bearer " + (tmp_path / "one" / "admin-token").read_text().strip()}
        with one.client(**token) as http:
            assert put(http, "team", files("deny")).status_code == 200
        with two.client(**token) as http:
            until(lambda: http.post("/pre-tool-use", json=body).json()["decision"] == "block")
