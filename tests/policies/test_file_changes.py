"""Changes of files in the policies folder, with a real server: the audit, and `GET /status`."""

import pytest

from tests.support.server import serving, until

OFF = "rules: {guardrails/remove-root: off, options/pkill: on}\n"
WEAKER = """
id: guardrails/force-push
description: Ours asks where the shipped one denies.
decision: ask
reason: sure?
match: {shell: {program: nothing-like-this}}
tests: {match: [nothing-like-this], not_match: [ls]}
"""


def entries(http):
    return http.get("/audit", params={"kind": "policy"}).json()["items"]


def off(http):
    return http.get("/status").json()["guardrails_off"]


@pytest.mark.slow("starts three servers, waits for the watch of files")
def test_a_change_of_the_files_is_audited_once_and_shown_while_a_guardrail_is_off(tmp_path):
    home = tmp_path / "home"
    folder = home / "policies"
    with serving(home) as server, server.client() as http:
        first = http.get("/status").json()["policy_revision"]
        assert (entries(http), off(http)) == ([], [])
        (folder / "config.yaml").write_text(OFF)
        (entry,) = until(lambda: entries(http))
        second = http.get("/status").json()["policy_revision"]
        assert (entry["action"], entry["object"], entry["actor"]) == ("policy.reload", "files", "policy files")
        assert (entry["before"]["revision"], entry["after"]["revision"]) == (first, second)
        assert entry["after"]["loosened"] == ["guardrails/remove-root: off"] == off(http)
        assert "changed guardrails/remove-root switched off" in entry["after"]["changes"]

        (folder / "config.yaml").write_text("rules: {guardrails/remove-rot: off}\n")
        refused = until(lambda: (found := entries(http))[1:] and found[0])
        assert refused["before"]["revision"] == refused["after"]["revision"] == second
        assert "remove-rot" in refused["after"]["refused"][0]
        assert off(http) == ["guardrails/remove-root: off"]

        (folder / "config.yaml").write_text("rules: {guardrails/remove-root: shadow}\n")
        shadow = until(lambda: (found := entries(http))[2:] and found[0])
        assert shadow["after"]["loosened"] == ["guardrails/remove-root: shadow"]
        (folder / "config.yaml").unlink()
        restored = until(lambda: (found := entries(http))[3:] and found[0])
        assert (restored["after"]["loosened"], restored["after"]["files"], off(http)) == ([], "", [])

    (folder / "guardrails").mkdir()
    (folder / "guardrails/force-push.yaml").write_text(WEAKER)
    with serving(home) as server, server.client() as http:  # a change while no server ran
        (started,) = until(lambda: (found := entries(http))[4:] and found[:1])
        [(rule, keys)] = [one.split(": ") for one in started["after"]["loosened"]]
        assert (rule, started["before"]["files"]) == ("guardrails/force-push", "")
        assert "`decision` changed" in keys
        assert off(http) == started["after"]["loosened"]
        http.get("/status")
        assert len(entries(http)) == 5
    with serving(home) as server, server.client() as http:
        assert len(entries(http)) == 5
