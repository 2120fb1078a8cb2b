"""`/status` and `baton status` report the known and the unknown."""

import os

import pytest

from tests.support.forge import forge
from tests.support.server import serving, until

CALL = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "git status"}}


@pytest.fixture
def server(tmp_path, new_postgres):
    url = new_postgres()
    with serving(tmp_path / "home", BATON_DATABASE_URL=url) as running:
        running.database = url.partition("@/")[2].partition("?")[0]
        running.token = (running.home / "admin-token").read_text().strip()
        yield running


def said(server):
    env = os.environ | {"BATON_URL": server.url, "BATON_TOKEN": server.token, "BATON_HOME": str(server.home)}
    done = forge.run(["status"], env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow("waits for a database")
def test_without_a_database_nothing_is_counted_as_none(server, postgres):
    with server.client(Authorization=f"Bearer {server.token}") as http:
        http.post("/pre-tool-use", json=CALL).raise_for_status()
        until(lambda: http.get("/status").json()["decisions"])
        until(lambda: http.get("/status").json()["status"] == "ready")
        assert ": ready, for" in said(server)

        postgres.sql(f"ALTER DATABASE {server.database} ALLOW_CONNECTIONS false")
        postgres.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"  # noqa: S608 - our own name
            f" WHERE datname = '{server.database}' AND pid <> pg_backend_pid()"
        )
        status = until(lambda: (now := http.get("/status").json())["database"] == "down" and now)
        assert status["status"] == "degraded"
        assert "decisions" not in status
        assert http.get("/readyz").json()["status"] == "ready", "it goes on answering"
        told = said(server)
        assert ": degraded, for" in told
        assert "decisions: not known while the database is down" in told
        assert "none yet" not in told
        assert "none heard of" not in told

        postgres.sql(f"ALTER DATABASE {server.database} ALLOW_CONNECTIONS true")
        until(lambda: http.get("/status").json().get("decisions"))
        until(lambda: http.get("/status").json()["status"] == "ready")
