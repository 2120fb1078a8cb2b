"""A worker that is killed while Postgres is unavailable, and a supervisor that is killed then."""

import signal

import httpx2
import pytest

from tests.support.processes import descendants, is_gone
from tests.support.server import serving, until
from tests.system.test_workers import workers_of

READ = {"session_id": "outage", "tool_name": "Read", "tool_input": {"file_path": "a.py"}}


@pytest.mark.slow("waits for a worker that cannot start yet")
def test_a_worker_killed_in_an_outage_of_the_database_returns_whole_and_the_other_decides_meanwhile(
    tmp_path, own_postgres, valkey_url
):
    own_postgres.sql("CREATE DATABASE outage")
    env = {"BATON_REDIS_URL": valkey_url, "BATON_DATABASE_URL": own_postgres.url("outage"), "BATON_WORKERS": "2"}
    with serving(tmp_path / "home", **env) as server:
        token = {"Authorization": f"Bearer {(server.home / 'admin-token').read_text().strip()}"}

        def ask(name):
            # A connection each: any worker may accept it.
            with server.client(**token) as http:
                answer = http.post("/pre-tool-use", json=READ | {"tool_use_id": name})
            assert answer.status_code == 200, answer.text
            return answer.json()

        with server.client(**token) as http:
            mode = {"scope": "organisation", "enabled": True, "level": "strict"}
            assert http.put("/mode", json=mode).status_code == 200
        first = until(lambda: len(found := workers_of(server)) == 2 and found)
        killed, other = first.values()
        own_postgres.stop()
        killed.kill()
        until(lambda: server.log.read_text().count("starting it again") > 1, about=server.log.read_text)
        made = [ask(f"o{number}") for number in range(40)]
        assert {tuple(one["degraded"]) for one in made} == {()}
        assert made[-1]["decision"] == "block", "the mode is known"
        own_postgres.start()

        def is_whole():
            """Whether the new worker decides by the mode, alone."""
            other.suspend()
            try:
                return workers_of(server).keys() - first.keys() and ask_briefly()
            finally:
                other.resume()

        def ask_briefly():
            try:
                with server.client(**token) as http:
                    call = READ | {"tool_use_id": "new"}
                    return http.post("/pre-tool-use", json=call, timeout=1).json()["decision"] == "block"
            except httpx2.TimeoutException:  # it is not ready yet
                return False

        until(is_whole, about=server.log.read_text)
        ids = {one["decision_id"] for one in made}
        with server.client(**token) as http:
            query = {"session_id": "outage", "limit": 200}
            until(lambda: ids <= {one["id"] for one in http.get("/decisions", params=query).json()["items"]})
        # The supervisor is killed in the next outage, while a worker cannot start.
        own_postgres.stop()
        other.kill()
        until(lambda: other.pid not in workers_of(server))
        left = descendants(server.process.pid)
        server.stop(signal.SIGKILL)
        until(lambda: all(map(is_gone, left)))
        with pytest.raises(httpx2.ConnectError):
            ask("refused")
        own_postgres.start()
