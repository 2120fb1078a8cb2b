"""The same server with separate Postgres and Redis, set by `BATON_DATABASE_URL` and `BATON_REDIS_URL`."""

import pytest

from tests.support.processes import children
from tests.support.server import serving, until

EDIT = {"session_id": "p1", "tool_name": "Edit", "tool_input": {"file_path": "a.py"}}


@pytest.mark.parametrize(
    "database_url",
    [pytest.param("sqlite", marks=pytest.mark.slow("starts another server, twice")), "postgres"],
    indirect=True,
)
def test_postgres_and_redis_replace_the_embedded_default(tmp_path, valkey_url, database_url):
    with serving(tmp_path / "home", BATON_REDIS_URL=valkey_url, BATON_DATABASE_URL=database_url) as server:
        token = {"Authorization": f"Bearer {(server.home / 'admin-token').read_text().strip()}"}
        assert until(lambda: children(server.process.pid, called="drain_main")), "it has processes of its own"
        assert children(server.process.pid, called="valkey") == []
        with server.client(**token) as http:
            body = {"scope": "session", "id": "p1", "enabled": True, "level": "strict"}
            assert http.put("/mode", json=body).status_code == 200
            made = http.post("/pre-tool-use", json=EDIT).json()
            assert made["decision"] == "block"
            found = until(lambda: http.get("/decisions", params={"session_id": "p1"}).json()["items"])
            assert [one["id"] for one in found] == [made["decision_id"]]
        assert not (server.home / "baton.db").exists()
        server.stop()
        server.start()
        with server.client(**token) as http:
            assert http.get("/mode", params={"session_id": "p1"}).json()["enabled"]
