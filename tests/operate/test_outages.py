"""What operators see while the database hangs: what is known, the cause, and one line at each end."""

import re

import pytest

from tests.support.server import serving, until

pytestmark = pytest.mark.slow("breaks what a server depends on, for seconds")

CALL = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "git status"}}


def outages(server, name):
    """Return the log's lines about a dependency, without their times."""
    return re.findall(rf"baton\.operate\.health: ({name} is .*)", server.log.read_text())


def test_answers_for_operators_keep_what_is_known_while_the_database_hangs(tmp_path, own_postgres):
    url = own_postgres.url("postgres")
    with serving(tmp_path / "home", BATON_DATABASE_URL=url) as server:
        token = (server.home / "admin-token").read_text().strip()
        with server.client(Authorization=f"Bearer {token}") as http:
            http.post("/pre-tool-use", json=CALL).raise_for_status()
            known = until(lambda: http.get("/status").json().get("decisions"))
            http.get("/metrics")
            with own_postgres.hung():
                until(lambda: outages(server, "database"))
                assert http.get("/readyz").json() | {"policy_revision": ""} == {
                    "status": "ready", "redis": "up", "database": "down", "policy_revision": "", "policy_problems": [],
                    "causes": {"database": "it does not answer"},
                }  # fmt: skip
                assert http.get("/status").json()["decisions"] == known
                assert "baton_jobs{" in http.get("/metrics").text
            until(lambda: http.get("/readyz").json()["causes"] == {})
            begun, ended = until(lambda: len(found := outages(server, "database")) == 2 and found)
    host = re.escape(url.partition("@")[2])
    assert re.fullmatch(rf"database is unavailable at {host}: it does not answer; \d+ entries wait", begun)
    assert "is available again" in ended
