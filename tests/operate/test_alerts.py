"""Each fault raises its alert of `deploy/alerts.yaml`, and a healthy server none: on real metrics, by a small evaluator."""

import json
import logging
import operator
import re
import resource
import shutil
import sqlite3
import subprocess
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import msgspec
import pytest
import yaml
from redis import Redis

from baton.events.log import LATE, LOG, WAITS
from baton.kernel.base.settings import Settings
from baton.kernel.http.features import Lifecycle
from baton.operate.health import Health
from baton.rules.call.outcome import OutcomeReport
from tests.operate.test_outages import outages
from tests.runner.test_disk import SmallDisk
from tests.support.cases import every
from tests.support.postgres import Postgres
from tests.support.processes import children
from tests.support.server import served, serving, until
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

    def valkey(self, *command):
        with Redis(unix_socket_path=str(self.server.home / "valkey" / "valkey.sock")) as valkey:
            valkey.execute_command(*command)

    def alerts(self, text=None):
        return raised(self.before, text or self.scrape())

    def wait(self, *wanted):
        """Wait for alerts; return all."""
        until(lambda: set(wanted) <= self.alerts(), about=self.alerts)
        return self.alerts()


@pytest.fixture
def watched(tmp_path):
    with served(tmp_path / "home", BATON_RECORDS_REDIS_MB="1") as server, server.client() as http:
        yield Watched(server, http)


@pytest.mark.slow("waits for metrics")
def test_a_healthy_server_raises_no_alert_and_a_stopped_one_is_unreachable(watched):
    watched.call(50)
    time.sleep(2)  # metrics are a second old at most
    assert watched.alerts() <= {"BatonSlow"}, "this machine may be busy"
    assert raised(watched.before, "") == {"BatonUnreachable"}


@pytest.fixture(scope="module")
def world():
    """Watch a server with a Postgres, each on a small disk of its own."""
    with tempfile.TemporaryDirectory(prefix="baton-") as name, ExitStack() as stack:
        (folder := Path(name)).chmod(0o755)
        home, disk = (stack.enter_context(closing(SmallDisk(folder / one, 160))) for one in ("home", "postgres"))
        postgres = Postgres(folder).make()
        stack.callback(postgres.stop)
        server = stack.enter_context(serving(home.folder, BATON_DATABASE_URL=postgres.url("postgres")))
        token = (home.folder / "admin-token").read_text().strip()
        watched = Watched(server, stack.enter_context(server.client(Authorization=f"Bearer {token}")))
        watched.home, watched.postgres, watched.disk = home, postgres, disk
        yield watched


@contextmanager
def between(breaks, repairs):
    breaks()
    try:
        yield
    finally:
        repairs()


def hung_redis(world):
    (valkey,) = children(world.server.process.pid, called="valkey-server")
    return between(valkey.suspend, valkey.resume)


def told(broken, repaired):
    return lambda world: between(lambda: world.valkey(*broken.split()), lambda: world.valkey(*repaired.split()))


@pytest.mark.slow("breaks what a server depends on")
@pytest.mark.parametrize(
    ("fault", "down", "cause", "others"),
    [
        (hung_redis, "redis", "", {"BatonDegraded", "BatonSlow"}),
        (told("CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"), "redis", "OOM", {"BatonDegraded"}),
        (told("ACL SETUSER default -@scripting", "ACL SETUSER default +@all"), "redis", "NOPERM", {"BatonDegraded"}),
        (told("REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"), "redis", "READONLY", {"BatonDegraded"}),
        (lambda world: world.postgres.hung(), "database", "it does not answer", set()),
        (lambda world: between(world.disk.fill, world.disk.free), "database", "No space left on device", set()),
        (lambda world: between(world.home.fill, world.home.free), "disk", "no space left on device", {"BatonDegraded"}),
    ],
)
def test_a_fault_raises_its_alerts_and_is_logged_at_each_end(world, fault, down, cause, others):
    world.before, is_up = world.scrape(), ("baton_dependency_up", f'dependency="{down}"')
    logged, expected = len(outages(world.server, down)), {"BatonDependencyDown", *others}
    with fault(world):
        until(lambda: world.call(20) or (not series(text := world.scrape())[is_up] and expected <= world.alerts(text)))
        assert world.alerts() <= expected | {"BatonSlow"}, "this machine may be busy"
        until(lambda: cause in world.http.get("/status").json()["causes"].get(down, ""))
        until(lambda: world.http.get("/status").json()["status"] == "degraded")  # each worker looks for itself
        assert world.http.get("/readyz").json()["status"] == "ready"
        until(lambda: outages(world.server, down)[logged:])
    until(lambda: "BatonDependencyDown" not in world.alerts())
    begun, ended = until(lambda: len(found := outages(world.server, down)[logged:]) == 2 and found)
    assert all(part in begun for part in (f"{down} is unavailable at", cause))
    assert "is available again" in ended


def test_a_bad_policy_a_bad_record_and_a_lost_outcome_raise_their_alerts(watched):
    folder = watched.server.home / "policies"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text("rules: 7\n")
    assert watched.wait("BatonPoliciesRefused") == {"BatonPoliciesRefused"}
    (folder / "config.yaml").unlink()
    old = OutcomeReport(datetime.now(UTC), "default", "ada", "s", "", "Read", "toolu_1", "ran")
    watched.valkey("XADD", LOG, "*", WAITS, b"\xc1 garbage")
    watched.valkey("XADD", LATE, "1-1", WAITS, msgspec.msgpack.encode(old))
    watched.wait("BatonRecordsSetAside", "BatonOutcomesGivenUp")


@pytest.mark.slow("fills Redis and the spool")
def test_a_locked_database_and_a_full_disk_of_the_spool_raise_their_alerts_and_end(watched):
    (drain,) = children(watched.server.process.pid, called="drain_main")
    lock = sqlite3.connect(watched.server.home / "baton.db", isolation_level=None)
    lock.execute("BEGIN EXCLUSIVE")
    drain.rlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
    big = {"tool_name": "Bash", "tool_input": {"command": "git log --format=" + "x" * 1_800}}

    def lost():
        watched.call(100, **big)
        return "BatonRecordsLost" in watched.alerts()

    until(lost)
    assert {"BatonRecordsWait", "BatonRecordsLost"} <= watched.wait("BatonRecordsWait")
    drain.rlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    lock.execute("ROLLBACK")
    lock.close()
    until(lambda: "BatonRecordsWait" not in watched.alerts())


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
