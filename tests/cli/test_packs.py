"""`baton packs` as a person runs it, against a real server."""

import json

import pytest

from tests.support.command_line import clean_environment, run
from tests.support.server import until


@pytest.fixture
def baton(server, tmp_path):
    env = clean_environment(HOME=str(tmp_path), BATON_URL=server.url)
    return lambda *words: run("packs", *words, env=env, cwd=tmp_path)


def decide(server, command):
    body = {"session_id": "s-packs", "tool_name": "Bash", "tool_input": {"command": command}}
    with server.client(**{"Baton-User": "pia"}) as http:
        return http.post("/pre-tool-use", json=body).json()["decision"]


def test_a_pack_is_tried_run_in_shadow_enforced_reported_and_disabled(server, baton):
    assert decide(server, "dropdb shop") == "allow"
    with server.client() as http:
        until(lambda: http.get("/decisions", params={"user": "pia"}).json().get("items"))
    tried = baton("try", "drop-data", "--since", "1h").stdout
    assert "drop-data would have asked about 1 and refused 0 of" in tried
    assert "ask by packs/drop-data/sql" in tried
    assert "dropdb shop" in tried

    assert "drop-data is shadow (organisation uploaded: shadow)." in baton("enable", "drop-data", "--shadow").stdout
    assert decide(server, "dropdb shop") == "allow"
    assert "drop-data is on" in baton("enable", "drop-data").stdout
    assert decide(server, "dropdb shop") == "ask"

    def is_counted():
        return json.loads(baton("report", "drop-data", "--since", "1h", "--json").stdout)["stopped"] == 2

    until(is_counted)
    report = baton("report", "drop-data", "--since", "1h").stdout
    assert "2 times `dropdb shop` by packs/drop-data/sql, such as: dropdb shop" in report
    assert "an exception lets 2 of 2 through" in report
    assert "operands:\n" in baton("report", "drop-data", "--since", "1h", "--exception", "1").stdout

    assert "drop-data is off." in baton("disable", "drop-data").stdout
    assert decide(server, "dropdb shop") == "allow"
    states = {one["name"]: one["state"] for one in json.loads(baton("list", "--json").stdout)}
    assert states["drop-data"] == "off"
    assert "drop-data" in baton().stdout


def test_an_unknown_pack_is_named_with_its_neighbour(baton):
    refused = baton("enable", "secret")
    assert refused.returncode == 1
    assert "unknown pack `secret`; did you mean `secrets`?" in refused.stderr
