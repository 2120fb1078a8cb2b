import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from baton.delegate.runners.counts import JobLoad
from baton.kernel.base.settings import Settings
from baton.kernel.http.features import Lifecycle
from baton.operate.health import Health, HealthState
from baton.operate.metrics import Metrics
from baton.policies.in_force import PoliciesStatus
from baton.records.pipeline.recorder import MOST_RULES, Counters, Recorder
from baton.rules.call.verdict import RuleHit, Verdict
from baton.serve import workers
from baton.shared.decided import Decision, ModeInForce
from tests.support.cases import every


def decision(rule="a/b", effect="deny", *, elapsed_us=800, on=True, degraded=()):
    return Decision(
        id="d",
        verdict=Verdict(effect=effect, rule=rule, hits=(RuleHit(rule, effect), RuleHit("x/softened", "guidance"))),
        mode=ModeInForce(enabled=on, level="strict", scope="user"),
        revision="r1",
        degraded=degraded,
        elapsed_us=elapsed_us,
    )


class Stub:
    """What the metrics ask of the recorder, the policies, the health check and the jobs."""

    status = PoliciesStatus(revision="r1", rules=1, loaded_at=datetime(2026, 1, 1, tzinfo=UTC))

    def counts(self):
        return {"queued": 3, "dropped": 2, "shed": 1, "appended": 5}

    async def stats(self):
        return self.counts() | {"waiting": 7, "set_aside": 1, "given_up": 4, "spool_mb": 2, "spool_most_mb": 9}

    state = HealthState(phase="ready", causes={"redis": "OOM"})

    async def recent(self, _key, read):
        return await read()

    async def count(self):
        return JobLoad(jobs={"queued": 4, "failed": 1}, queue_age_s=2.5, runners_alive=3)


class StubTelemetry:
    async def read(self):
        return {"sent": 2, "dropped": 1}


async def unreached():
    return ["apr_1", "apr_2"]


def metrics_of(counters, **parts):
    usual = {"recorder": Stub(), "health": Stub(), "jobs": Stub(), "telemetry": StubTelemetry(), "unreached": unreached}
    return Metrics(counters=counters, policies=Stub(), **(usual | parts))


async def lines(metrics):
    return [line for line in (await metrics.render()).decode().splitlines() if not line.startswith("#")]


@every(
    "line",
    [
        'baton_decisions_total{effect="deny",mode="strict",rule="a/b"} 2.0',
        'baton_decisions_total{effect="abstain",mode="off",rule=""} 1.0',
        'baton_rule_matches_total{effect="guidance",rule="x/softened"} 3.0',
        'baton_decision_seconds_bucket{le="0.0005"} 0.0',
        'baton_decision_seconds_bucket{le="0.001"} 2.0',
        'baton_decision_seconds_bucket{le="0.25"} 2.0',
        'baton_decision_seconds_bucket{le="+Inf"} 3.0',
        'baton_jobs{state="queued"} 4.0',
        "baton_job_queue_age_seconds 2.5",
        "baton_runners_alive 3.0",
        "baton_approvals_unreached 2.0",
        "baton_decision_seconds_count 3.0",
        "baton_decision_seconds_sum 2.0016",
        'baton_degraded_total{cause="history"} 1.0',
        'baton_hook_failures_total{answer="allow",client="codex",code="bad_json"} 1.0',
        'baton_refused_tokens_total{known="yes"} 1.0',
        'baton_refused_tokens_total{known="no"} 2.0',
        "baton_records_dropped_total 2.0",
        "baton_records_appended_total 5.0",
        "baton_records_queued 3.0",
        "baton_records_waiting 7.0",
        "baton_records_set_aside 1.0",
        "baton_outcomes_given_up_total 4.0",
        'baton_records_spool_bytes{what="used"} 2.097152e+06',
        "baton_records_shed_total 1.0",
        'baton_policy{revision="r1"} 1.0',
        'baton_dependency_up{dependency="redis"} 0.0',
        'baton_dependency_up{dependency="database"} 1.0',
    ],
)
async def test_everything_that_was_counted_is_shown(line):
    counters = Counters()
    counters.decided(decision())
    counters.decided(decision(degraded=("history",)))
    counters.decided(decision("", "abstain", elapsed_us=2_000_000, on=False))
    counters.failed("codex", "allow", "bad_json")
    for who in ("token 0123456789ab", "address 10.0.0.1", "address 10.0.0.2"):
        counters.token_refused(who)
    metrics = metrics_of(counters)
    assert line in await lines(metrics)
    assert line in await lines(metrics), "looking twice counts nothing twice"


async def test_metrics_are_rendered_from_known_state_within_50_ms_while_every_store_hangs(monkeypatch, tmp_path):
    loop, answers = asyncio.get_running_loop(), asyncio.Event()
    answers.set()

    def reads(value):
        async def read(*_):
            await answers.wait()
            return value

        return read

    log = SimpleNamespace(lengths=reads((7, 1, 4)), spooled=reads((0, 0)))
    writer = SimpleNamespace(log=log, counts=Stub().counts, start=None)
    store = SimpleNamespace(dialect="", place="", up=True, look=reads((None, False)), probe=reads(0.0))
    store.submit = lambda *_: reads(b"")()
    health, recorder = Health(store, store, Lifecycle(), None, Settings(home=tmp_path)), Recorder(writer, None)
    parts = {"jobs": SimpleNamespace(count=reads(None)), "telemetry": SimpleNamespace(read=reads({"sent": 2}))}
    metrics = metrics_of(Counters(), health=health, recorder=recorder, unreached=reads(["apr_1"]), **parts)
    known = await lines(metrics)
    assert {"baton_records_waiting 7.0", 'baton_telemetry_total{result="sent"} 2.0'} <= set(known)
    answers.clear()
    now = loop.time()
    monkeypatch.setattr(loop, "time", lambda: now)
    shown = asyncio.create_task(lines(metrics))
    for turn in range(100):
        now += 0.045 * (turn == 50)
        await asyncio.sleep(0)
    monkeypatch.undo()
    answers.set()
    assert shown.result() == known


async def test_refused_callers_are_in_the_totals_and_not_in_the_metrics():
    counters = Counters()
    for who in ("token 0123456789ab", "address 10.0.0.1", "address 10.0.0.1"):
        counters.token_refused(who)
    metrics = metrics_of(counters)
    assert metrics.totals().refused == {"token 0123456789ab": 1, "address 10.0.0.1": 2}
    assert "10.0.0.1" not in "".join(await lines(metrics))


async def test_a_flood_of_rule_names_is_bounded():
    counters = Counters()
    for number in range(MOST_RULES + 50):
        counters.decided(decision(f"made-up/{number}", degraded=(f"when:made-up/{number}",)))
    shown = await lines(metrics_of(counters))
    assert sum(line.startswith("baton_degraded_total") for line in shown) <= MOST_RULES + 1
    assert 'baton_degraded_total{cause="when:others"}' in " ".join(shown)
    assert sum(line.startswith("baton_decisions_total") for line in shown) <= MOST_RULES + 1
    assert 'baton_decisions_total{effect="deny",mode="strict",rule="others"}' in " ".join(shown)


WORKER = """
import asyncio, sys
sys.path[:0] = [{root!r}, {here!r}]
from test_metrics import Counters, decision, metrics_of
counters = Counters()
for _ in range(int(sys.argv[1])):
    counters.decided(decision(degraded=("history",)))
counters.token_refused("address 10.0.0.1")
metrics = metrics_of(counters)
metrics.flush()
if sys.argv[2:]:
    print(asyncio.run(metrics.render()).decode())
    print(metrics.totals())
"""


@pytest.mark.slow("starts several workers")
def test_several_workers_show_the_sum_and_a_dead_ones_gauges_go(tmp_path, monkeypatch, request):
    monkeypatch.setenv(workers.VARIABLE, "")
    folder = workers.folder(tmp_path)
    folder.mkdir()
    (folder / "counter_1.db").write_text("left by a server of yesterday")
    workers.prepare(tmp_path)
    script = WORKER.format(root=str(request.config.rootpath), here=str(request.path.parent))

    def work(*arguments):
        process = subprocess.Popen([sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, text=True)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 0
        return process.pid, out

    assert os.environ[workers.VARIABLE] == str(folder)
    first, _ = work("3")
    workers.forget(tmp_path, first)
    _, shown = work("4", "show")
    assert 'baton_decisions_total{effect="deny",mode="strict",rule="a/b"} 7.0' in shown
    assert 'baton_decision_seconds_bucket{le="0.001"} 7.0' in shown
    assert "baton_records_dropped_total 4.0" in shown, "what the dead worker counted stays"
    assert "refused={'address 10.0.0.1': 2}" in shown
    assert "records={'queued': 3, 'dropped': 4, 'shed': 2, 'appended': 10}" in shown
    assert "baton_records_queued 3.0" in shown, "what it held does not"
    assert "degraded={'history': 7}" in shown
