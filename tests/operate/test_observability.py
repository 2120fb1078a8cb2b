import json
import os
import re

import pytest
import yaml

from tests.support.cases import every
from tests.support.forge import forge
from tests.support.server import served, serving, until
from tests.support.terminal import ROOT

CALL = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "rm -rf /"}}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with served(tmp_path_factory.mktemp("observed") / "home", BATON_LOG_FORMAT="json") as running:
        yield running


@every(("method", "path"), [("GET", "/healthz"), ("POST", "/pre-tool-use"), ("POST", "/nowhere")])
@every(("given", "kept"), [("build-17:a.b", True), ("", False), ("two words", False), ("x" * 129, False)])
def test_an_answer_carries_the_id_of_its_request(server, method, path, given, kept):
    with server.client(**({"X-Request-Id": given} if given else {})) as client:
        answer = client.request(method, path, json=CALL if method == "POST" else None)
    echoed = answer.headers["x-request-id"]
    assert (echoed == given) is kept
    assert len(echoed) <= 128


def test_metrics_show_a_decision(server):
    with server.client() as client:
        client.post("/pre-tool-use", json=CALL)
        client.post("/hooks/codex", content=b"{", headers={"Content-Type": "application/json"})
        answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    assert 'effect="deny"' in answer.text
    assert 'baton_hook_failures_total{answer="allow",client="codex",code="bad_json"}' in answer.text
    assert 'baton_dependency_up{dependency="redis"} 1.0' in answer.text
    assert "rm -rf" not in answer.text


def test_the_log_names_the_request_that_failed(server):
    with server.client(**{"X-Request-Id": "looked-for"}) as client:
        client.post("/hooks/codex", content=b"{", headers={"Content-Type": "application/json"})

    def found():
        lines = (server.home.parent / "home.log").read_text().splitlines()
        return [json.loads(one) for one in lines if one.startswith("{") and "looked-for" in one]

    assert until(found)[0]["request_id"] == "looked-for"


def test_alerts_and_dashboard_ask_for_metrics_that_exist(server):
    rules = yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text())["groups"][0]["rules"]
    panels = json.loads((ROOT / "deploy" / "grafana.json").read_text())["panels"]
    asked = [rule["expr"] for rule in rules] + [target["expr"] for one in panels for target in one["targets"]]
    with server.client() as client:
        kinds = re.findall(r"# TYPE (\S+) (\S+)", client.get("/metrics").text)
    known = {name for name, _ in kinds} | {f"{name}_bucket" for name, kind in kinds if kind == "histogram"}
    for query in asked:
        assert set(re.findall(r"\bbaton_\w+", query)) <= known, query
        assert all(query.count(left) == query.count(right) for left, right in ("()", "{}", "[]")), query
    assert len({rule["alert"] for rule in rules}) == len(rules)


@pytest.fixture
def on_postgres(tmp_path, new_postgres):
    url = new_postgres()
    with serving(tmp_path / "home", BATON_DATABASE_URL=url) as running:
        running.database = url.partition("@/")[2].partition("?")[0]
        running.token = (running.home / "admin-token").read_text().strip()
        yield running


def said(on_postgres):
    own = {"BATON_URL": on_postgres.url, "BATON_TOKEN": on_postgres.token, "BATON_HOME": str(on_postgres.home)}
    done = forge.run(["status"], env=os.environ | own)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow("waits for a database")
def test_without_a_database_nothing_is_counted_as_none(on_postgres, postgres):
    with on_postgres.client(Authorization=f"Bearer {on_postgres.token}") as http:
        http.post("/pre-tool-use", json=CALL).raise_for_status()
        until(lambda: http.get("/status").json().get("decisions"))
        until(lambda: http.get("/status").json()["status"] == "ready")
        assert ": ready, for" in said(on_postgres)

        postgres.sql(f"ALTER DATABASE {on_postgres.database} ALLOW_CONNECTIONS false")
        postgres.sql(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"  # noqa: S608 - our own name
            f" WHERE datname = '{on_postgres.database}' AND pid <> pg_backend_pid()"
        )
        status = until(lambda: (now := http.get("/status").json())["database"] == "down" and now)
        assert status["status"] == "degraded"
        assert "decisions" not in status
        assert http.get("/readyz").json()["status"] == "ready", "it goes on answering"
        told = said(on_postgres)
        assert ": degraded, for" in told
        assert "decisions: not known while the database is down" in told
        assert "none yet" not in told
        assert "none heard of" not in told

        postgres.sql(f"ALTER DATABASE {on_postgres.database} ALLOW_CONNECTIONS true")
        until(lambda: http.get("/status").json().get("decisions"))
        until(lambda: http.get("/status").json()["status"] == "ready")
