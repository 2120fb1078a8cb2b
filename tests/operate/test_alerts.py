"""Each fault raises its alert of `deploy/alerts.yaml`, and a healthy server none: on real metrics, by a small evaluator."""

import json
import logging
import operator
import re
import resource
import shutil
import sqlite3
import subprocess
import time
from types import SimpleNamespace

import pytest
import yaml
from redis import Redis

from baton.events.log import LOG
from baton.kernel.base.settings import Settings
from baton.kernel.http.features import Lifecycle
from baton.operate.health import Health
from tests.support.cases import every
from tests.support.processes import children
from tests.support.server import served, until
from tests.support.terminal import ROOT

RULES = {
    rule["alert"]: rule["expr"]
    for rule in yaml.safe_load((ROOT / "deploy" / "alerts.yaml").read_text())["groups"][0]["rules"]
}
COMPARE = {"==": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt}
CALL = {"session_id": "s", "tool_name": "Read", "tool_input": {"file_path": "a.py"}}


def series(text):
    """Read a scrape: values by name and labels."""
    found = {("up", 'job="baton"'): 1.0} if text else {("up", 'job="baton"'): 0.0}
    for name, labels, value in re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE):
        found[name, labels] = float(value)
    return found


def value(query, before, after, seconds):
    """Evaluate a vector: a selector, `increase`, `rate`, `sum by` or `histogram_quantile`."""
    if inner := re.fullmatch(r"histogram_quantile\(([\d.]+), (.+)\)", query):
        return quantile(float(inner[1]), value(inner[2], before, after, seconds))
    if inner := re.fullmatch(r"sum by \((.+?)\) \((.+)\)", query):
        sums = {}
        for (_, labels), number in value(inner[2], before, after, seconds).items():
            kept = ",".join(f'{name}="{of}"' for name, of in re.findall(r'(\w+)="(.*?)"', labels) if name in inner[1])
            sums["", kept] = sums.get(("", kept), 0) + number
        return sums
    if inner := re.fullmatch(r"(increase|rate)\((.+)\[5m\]\)", query):
        last = value(inner[2], before, after, seconds)
        return {
            key: (number - before.get(key, 0)) / (seconds if inner[1] == "rate" else 1) for key, number in last.items()
        }
    name, wanted = re.fullmatch(r"(\w+)(?:\{(.*)\})?", query).groups()
    return {key: number for key, number in after.items() if key[0] == name and (wanted or "") in key[1]}


def quantile(share, buckets):
    """Return the lowest bound below which that share of the observations is."""
    bounds = sorted((float(re.search(r'le="(.+?)"', labels)[1]), count) for (_, labels), count in buckets.items())
    total = bounds[-1][1] if bounds else 0
    return {("", ""): next(bound for bound, count in bounds if count >= share * total)} if total else {}


def raised(before, after, seconds=60.0):
    """Name the alerts whose condition holds at the second scrape."""
    before, after = series(before), series(after)
    return {
        alert
        for alert, expr in RULES.items()
        for query, sign, limit in (
            re.fullmatch(r"(.+) (==|!=|>|<) ([\d.]+)", part).groups() for part in expr.split(" or ")
        )
        if any(COMPARE[sign](one, float(limit)) for one in value(query, before, after, seconds).values())
    }


@every(
    ("query", "expected"),
    [
        ("m", [3, 5]),
        ('m{a="x"}', [3]),
        ("increase(m[5m])", [2, 5]),
        ("rate(m[5m])", [0.2, 0.5]),
        ("sum by (b) (rate(m[5m]))", [0.7]),
        ("histogram_quantile(0.99, sum by (le) (rate(h_bucket[5m])))", [0.5]),
    ],
)
def test_the_evaluator_computes_what_prometheus_does(query, expected):
    before = 'm{a="x",b="z"} 1'
    after = 'm{a="x",b="z"} 3\nm{a="y",b="z"} 5\nh_bucket{le="0.1"} 98\nh_bucket{le="0.5"} 100\nh_bucket{le="+Inf"} 100'
    found = value(query, series(before), series(after), 10)
    assert list(found.values()) == pytest.approx(expected)


class Watched:
    """A server, and the alerts that are raised since a scrape."""

    def __init__(self, server, http):
        self.server, self.http = server, http
        self.before = self.scrape()

    def scrape(self):
        return self.http.get("/metrics").text

    def call(self, times=1, **given):
        for _ in range(times):
            assert self.http.post("/pre-tool-use", json=CALL | given).status_code == 200

    def alerts(self, *wanted):
        """Wait for alerts; return all."""
        until(
            lambda: set(wanted) <= raised(self.before, self.scrape()), about=lambda: raised(self.before, self.scrape())
        )
        return raised(self.before, self.scrape())


@pytest.fixture
def watched(tmp_path):
    with served(tmp_path / "home", BATON_RECORDS_REDIS_MB="1") as server, server.client() as http:
        yield Watched(server, http)


@pytest.mark.slow("waits for metrics")
def test_a_healthy_server_raises_no_alert_and_a_stopped_one_is_unreachable(watched):
    watched.call(50)
    time.sleep(2)  # metrics are a second old at most
    assert raised(watched.before, watched.scrape()) <= {"BatonSlow"}, "this machine may be busy"
    assert raised(watched.before, "") == {"BatonUnreachable"}


@pytest.mark.slow("hangs Redis")
def test_a_hung_redis_raises_its_alerts(watched):
    (valkey,) = children(watched.server.process.pid, called="valkey-server")
    valkey.suspend()
    try:
        watched.call(20)
        assert watched.alerts("BatonDependencyDown", "BatonDegraded", "BatonSlow") == {
            "BatonDependencyDown", "BatonDegraded", "BatonSlow",
        }  # fmt: skip
    finally:
        valkey.resume()
    until(lambda: "BatonDependencyDown" not in raised(watched.before, watched.scrape()))


def test_a_bad_policy_and_a_bad_record_raise_their_alerts(watched):
    folder = watched.server.home / "policies"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text("rules: 7\n")
    assert watched.alerts("BatonPoliciesRefused") == {"BatonPoliciesRefused"}
    (folder / "config.yaml").unlink()
    with Redis(unix_socket_path=str(watched.server.home / "valkey" / "valkey.sock")) as valkey:
        valkey.xadd(LOG, {"r": b"\xc1 garbage"})
    assert "BatonRecordsSetAside" in watched.alerts("BatonRecordsSetAside")


@pytest.mark.slow("fills Redis and the spool")
def test_a_locked_database_and_a_full_disk_of_the_spool_raise_their_alerts_and_end(watched):
    (drain,) = children(watched.server.process.pid, called="drain_main")
    lock = sqlite3.connect(watched.server.home / "baton.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    drain.rlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    big = {"tool_name": "Bash", "tool_input": {"command": "git log --format=" + "x" * 1_800}}

    def lost():
        watched.call(100, **big)
        return "BatonRecordsLost" in raised(watched.before, watched.scrape())

    until(lost)
    assert {"BatonRecordsWait", "BatonRecordsLost"} <= watched.alerts("BatonRecordsWait")
    drain.rlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    lock.execute("ROLLBACK")
    lock.close()
    until(lambda: "BatonRecordsWait" not in raised(watched.before, watched.scrape()))


@pytest.mark.parametrize(
    ("ahead_s", "reported"), [(3_600, 3_600), (-3_600, -3_600), (31, 31), (-31, -31), (29, 0), (-29, 0), (0, 0)]
)
async def test_a_clock_half_a_minute_off_is_reported(
    redis, no_database, tmp_path, monkeypatch, caplog, ahead_s, reported
):
    now = time.time
    monkeypatch.setattr("baton.operate.health.time", SimpleNamespace(time=lambda: now() + ahead_s))
    health = Health(redis, no_database, Lifecycle(), SimpleNamespace(), Settings(home=tmp_path))
    with caplog.at_level(logging.ERROR):
        await health.look()
    if health._speaker:
        health._speaker.close()
    assert health.state.clock_ahead_s == pytest.approx(reported, abs=0.9)
    assert (f"clock is {abs(ahead_s)} s" in caplog.text) is bool(reported)
    line = f"baton_clock_ahead_seconds {health.state.clock_ahead_s}"
    assert ("BatonClockWrong" in raised("", line)) is bool(reported)


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Debian's package prometheus")
def test_promtool_accepts_the_rules_with_a_test_for_each_and_the_queries_of_the_dashboard(tmp_path):
    panels = json.loads((ROOT / "deploy" / "grafana.json").read_text())["panels"]
    asked = [target["expr"] for panel in panels for target in panel["targets"]]
    rules = [{"record": f"panel:{number}", "expr": expr} for number, expr in enumerate(asked)]
    dashboard = tmp_path / "dashboard.yaml"
    dashboard.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": rules}]}))
    tests = ROOT / "deploy" / "alerts.test.yaml"
    for command in (("check", "rules", ROOT / "deploy" / "alerts.yaml", dashboard), ("test", "rules", tests)):
        done = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    cases = [one for test in yaml.safe_load(tests.read_text())["tests"] for one in test["alert_rule_test"]]
    assert {one["alertname"] for one in cases if one.get("exp_alerts")} == RULES.keys()
    assert {one["alertname"] for one in cases if not one.get("exp_alerts")} == RULES.keys()
