"""`baton serve` as a person starts it: refusals, in words."""

import json
import os
import pty
import socket
import subprocess
import sys

import pytest

from tests.support.forge import forge
from tests.support.processes import children
from tests.support.server import BATON, PATIENT, serving, until


def serve(tmp_path, **env):
    return forge.run(["serve"], env=os.environ | {"BATON_HOME": str(tmp_path / "home")} | env, timeout=120)


BAD = [
    ({"PORT": "http"}, 2, "`PORT` is `http`"),
    ({"PORT": "70000"}, 2, "`PORT`"),
    ({"BATON_ON_FAILURE": "panic"}, 2, "`BATON_ON_FAILURE` is `panic`"),
    ({"BATON_HOST": "0.0.0.0", "BATON_AUTH": "off", "PORT": "0"}, 2, "`BATON_HOST` is `0.0.0.0`"),
    ({"BATON_DATABASE_URL": "sqlite:///x.db", "BATON_AUTH": "off", "PORT": "0"}, 2, "`BATON_DATABASE_URL` names"),
    ({"BATON_DATABASE_URL": "mysql://x/y", "PORT": "0"}, 2, "`BATON_DATABASE_URL` is not valid"),
    ({"BATON_HOME": "/dev/null", "PORT": "0"}, 3, "`BATON_HOME` is `/dev/null`"),
    ({"BATON_DATABASE_URL": "postgresql://127.0.0.1:1/x", "PORT": "0", "BATON_WORKERS": "2"}, 3, "is unavailable"),
]


@pytest.mark.matrix(3)
@pytest.mark.parametrize(("env", "code", "said"), BAD, ids=[str(row[0]) for row in BAD])
def test_bad_settings_are_refused_in_words(tmp_path, env, code, said):
    found = serve(tmp_path, **env)
    assert (found.returncode, "Traceback" in found.stderr) == (code, False), found.stderr
    assert said in found.stderr


@pytest.mark.slow("starts a server from nothing")
def test_a_taken_port_is_named(tmp_path):
    """As a person starts it: a process of its own from nothing, on a folder that is not there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        env = os.environ | {"BATON_HOME": str(tmp_path / "home"), "PORT": str(port)}
        found = subprocess.run([BATON, "serve"], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 1
    assert f":{port}" in found.stderr


@pytest.mark.slow
def test_a_log_for_machines_is_json_from_the_first_line_and_holds_no_token(tmp_path):
    env = {"BATON_LOG_FORMAT": "json", "BATON_AUTH": "on", "BATON_REDIS_URL": "redis://127.0.0.1:1", "BATON_ZZZ": "1"}
    with serving(tmp_path / "home", **env) as server:
        server.stop()
    text = server.log.read_text()
    events = [json.loads(line)["event"] for line in text.splitlines()]
    for said in (
        "unknown variable `BATON_ZZZ`",
        f"The first admin's token is in `{server.home}/admin-token`",
        "Baton listens on http://127.0.0.1:",
        "Baton has stopped",
    ):
        assert any(event.startswith(said) for event in events), said
    assert (server.home / "admin-token").read_text().strip() not in text
    assert (server.home / "admin-token").stat().st_mode & 0o077 == 0


@pytest.mark.slow("starts a server of its own")
def test_the_date_header_advances(tmp_path):
    with serving(tmp_path / "home") as server, server.client() as http:
        first = http.get("/healthz").headers["date"]
        until(lambda: http.get("/healthz").headers["date"] != first)


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_failed_start_is_reported_in_json(tmp_path, workers):
    env = {"BATON_LOG_FORMAT": "json", "BATON_HOME": "/dev/null", "PORT": "0", "BATON_WORKERS": workers}
    found = serve(tmp_path, **env)
    assert found.returncode == 3
    assert found.stdout == ""
    events = [json.loads(line)["event"] for line in found.stderr.splitlines()]
    assert any(event.startswith("Baton cannot start: `BATON_HOME` is `/dev/null`") for event in events)


@pytest.mark.slow("starts several workers of its own")
def test_a_second_server_keeps_the_first_one_s_note(tmp_path):
    with serving(tmp_path / "home") as first:
        found = forge.run(["serve"], env=first.env | {"BATON_WORKERS": "2"}, timeout=120)
        assert found.returncode == 3
        assert "Traceback" not in found.stderr
        assert (first.home / "server.json").exists()


@pytest.mark.slow("starts servers from nothing, at a terminal")
@pytest.mark.parametrize("terminal", [True, False])
def test_the_first_token_is_shown_at_a_terminal_only(tmp_path, terminal):
    home = tmp_path / "home"
    env = {name: value for name, value in os.environ.items() if not name.startswith("BATON_")}
    env |= {"BATON_HOME": str(home), "BATON_AUTH": "on", "PORT": "0"} | PATIENT
    reading, writing = pty.openpty() if terminal else os.pipe()
    process = subprocess.Popen([BATON, "serve"], env=env, stdout=writing)
    try:
        until((home / "server.json").exists, seconds=120)
        shown = ""
        while "Baton listens" not in shown:
            shown += os.read(reading, 4096).decode()
    finally:
        process.terminate()
        process.wait(60)
        os.close(reading)
        os.close(writing)
    token = (home / "admin-token").read_text().strip()
    assert (token in shown) is terminal
    assert f"The first admin's token is in `{home}/admin-token`." in shown


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


LEFT_OUT = {
    "alembic": "the schema is up to date at most starts",
    "rich": "for people at terminals",
    "pygments": "for people at terminals",
    "valkey": "the client of a package that we take a binary from",
    "confluent_kafka": "only with BATON_KAFKA_URL",
    "opentelemetry.exporter": "only in the process that stores, with BATON_OTEL_ENDPOINT",
    "mcp": "a tool's",
    "typer.rich_utils": "for people at terminals",
    "wordllama": "the word vectors are read without it",
    "hypothesis": "a test's",
}
MOST_MODULES = 1_900
"""About a tenth more than it is today: what goes over it wants a look at `python -X importtime -m baton.serve.worker`."""

PROGRAM = """
import sys, json
from baton.serve.warm import warm
warm()
print(json.dumps(sorted(sys.modules)))
"""


@pytest.mark.slow("starts commands")
def test_a_start_imports_no_more_than_it_needs():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120, check=True)
    modules = json.loads(found.stdout)
    needless = {name: why for name, why in LEFT_OUT.items() if name in modules}
    assert needless == {}
    assert len(modules) <= MOST_MODULES, len(modules)
