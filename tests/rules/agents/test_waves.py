"""A task's start time: every refusal, the window to the microsecond, and the server's own starts."""

from datetime import UTC, datetime, timedelta

import msgspec

from baton.rules.agents.task_graph import (
    Admission,
    Breach,
    TaskSpec,
    WaveViolation,
    admit,
    breach_of,
    build,
    closes_at,
    due,
    ended,
    reopen,
    report,
    settled,
    totals,
)
from tests.support.cases import every

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
MS = timedelta(milliseconds=1)
US = timedelta(microseconds=1)
LONG_AFTER = NOON + timedelta(hours=1)
TASKS = {"a": "", "b": "", "c": "a b", "d": "c"}


def graph(tasks=TASKS, **more):
    options = {"level": "strict", "barrier": "wave", "window_ms": 500, "on_window_close": "refuse"} | more
    specs = {name: TaskSpec(agent_type="x", depends_on=tuple(on.split())) for name, on in tasks.items()}
    return build(specs, **options)


def start(one, name, at=NOON, **more):
    admitted = admit(one, name, at, **more)
    assert isinstance(admitted, Admission), admitted
    return settled(admitted.graph, at)


def done(one, *names, at=NOON):
    for name in names:
        one = ended(one, name, "completed", at)
    return one


STARTED = start(graph(), "a")


@every(
    ("one", "name", "at", "code", "part", "allowed"),
    [
        (graph(), "c", NOON, "wrong_wave", "waits for `a`, `b`; expected: `a`, `b` of wave 1", ("a", "b")),
        (STARTED, "c", NOON, "wrong_wave", "waits for `a`, `b`; expected: `b` of wave 1", ("b",)),
        (done(STARTED, "a"), "d", NOON, "wrong_wave", "waits for `c`", ("b",)),
        (STARTED, "a", NOON, "already_spawned", "was spawned before; it is running", ()),
        (done(STARTED, "a"), "a", NOON, "already_spawned", "it is completed", ()),
        (ended(STARTED, "a", "failed", NOON), "a", NOON, "already_spawned", "it is failed", ()),
        (ended(STARTED, "a", "failed", NOON), "c", NOON, "conflict", "is skipped: `a` failed", ()),
        (STARTED, "b", NOON + 500 * MS + US, "parallel_window", "500 ms after the first of wave 1", ()),
        (STARTED, "b", NOON + 2_000 * MS, "parallel_window", "expected: `a`, `b` within 500 ms of each other", ()),
    ],
)
def test_a_refused_start_names_the_expected_tasks(one, name, at, code, part, allowed):
    refusal = admit(one, name, at)
    assert refusal.code == code
    assert part in refusal.detail
    assert refusal.allowed == allowed
    assert refusal.given["task"] == name


@every("late", [timedelta(0), 1 * MS, 499 * MS, 500 * MS])
def test_exactly_the_window_is_in_time(late):
    assert admit(STARTED, "b", NOON + late).breach is None


def test_a_start_that_came_before_the_first_accepted_one_is_in_time():
    assert admit(STARTED, "b", NOON - 3 * MS).breach is None


def test_the_next_wave_has_a_window_of_its_own():
    later = NOON + timedelta(hours=1)
    one = done(start(STARTED, "b"), "a", "b")
    assert start(one, "c", later).windows == (NOON, later, None)


@every(
    ("name", "at", "kind"), [("c", NOON, "wrong_wave"), ("b", NOON + 501 * MS, "parallel_window"), ("b", NOON, None)]
)
def test_guidance_counts_the_refusals_of_strict(name, at, kind):
    admitted = admit(start(graph(level="guidance"), "a"), name, at)
    assert admitted.graph.tasks[name].state == "running"
    assert (admitted.breach.kind if admitted.breach else None) == kind


def test_guidance_still_refuses_a_second_start():
    assert admit(start(graph(level="guidance"), "a"), "a", NOON).code == "already_spawned"


def test_with_ready_only_tasks_that_could_have_started_are_held_to_the_window():
    one = graph({"a": "", "b": "", "c": "a", "d": "b"}, barrier="ready")
    one = done(start(start(one, "a"), "b"), "a")
    one = start(one, "c", NOON + 100 * MS)
    one = done(one, "b", at=NOON + 200 * MS)
    assert admit(one, "d", NOON + timedelta(minutes=1)).breach is None
    both = graph({"a": "", "b": "a", "c": "a"}, barrier="ready")
    both = start(done(start(both, "a"), "a"), "b")
    assert admit(both, "c", NOON + timedelta(minutes=1)).code == "parallel_window"


def test_a_closed_wave_is_opened_again_and_that_is_a_violation():
    late = NOON + 900 * MS
    opened = reopen(STARTED, 0, late)
    assert opened.breach == Breach(kind="reopened", task="", wave=0, detail="wave 1 was opened again for `b`")
    assert start(opened.graph, "b", late).windows[0] == late


@every(
    ("one", "wave", "at", "part"),
    [
        (graph(), 0, NOON, "not been opened yet"),
        (STARTED, 0, NOON + 500 * MS, "still open"),
        (start(STARTED, "b"), 0, NOON + timedelta(hours=1), "no task left"),
        (done(start(STARTED, "b"), "a", "b"), 1, NOON, "not been opened yet"),
    ],
)
def test_a_wave_that_is_not_closed_is_not_opened_again(one, wave, at, part):
    assert part in reopen(one, wave, at)


def test_the_server_starts_remaining_tasks_after_the_window():
    one = start(graph(on_window_close="auto_spawn"), "a")
    assert closes_at(one) == NOON + 500 * MS
    assert due(one, NOON + 500 * MS) == []
    assert due(one, NOON + 500 * MS + US) == ["b"]
    one = start(one, "b", NOON + timedelta(seconds=2), auto=True)
    assert one.tasks["b"].auto
    assert (closes_at(one), due(one, NOON + timedelta(hours=1))) == (None, [])


def test_without_auto_spawn_the_server_starts_nothing():
    assert (closes_at(STARTED), due(STARTED, NOON + timedelta(hours=1))) == (None, [])
    assert due(graph(on_window_close="auto_spawn"), NOON) == []


def test_the_report_has_spread_left_overs_and_violations_by_wave():
    one = start(graph(level="guidance", on_window_close="auto_spawn"), "a")
    late = start(start(one, "b", NOON + 700 * MS), "d", NOON)
    auto = start(one, "b", NOON + 700 * MS, auto=True)
    first, second, third = report(
        late, [WaveViolation(kind="parallel_window", wave=0), WaveViolation(kind="wrong_wave", wave=2)], LONG_AFTER
    )
    assert (first.spread_ms, first.spawned, first.compliant) == (700.0, 2, False)
    assert (second.spread_ms, second.state, second.compliant) == (None, "waiting", True)
    assert (third.violations, third.state) == ({"wrong_wave": 1}, "started")
    assert totals([first, second, third]) == {"parallel_window": 1, "wrong_wave": 1}
    (first, *_) = report(auto, [], LONG_AFTER)
    assert (first.spread_ms, first.auto_spawned, first.compliant) == (0.0, ["b"], True)
    ended_ones = report(done(start(STARTED, "b"), "a", "b"), [], LONG_AFTER)
    assert [msgspec.structs.asdict(wave)["state"] for wave in ended_ones] == ["ended", "waiting", "waiting"]


@every(
    ("one", "at", "left_out"),
    [
        (STARTED, NOON + 500 * MS, []),
        (STARTED, NOON + 500 * MS + US, ["b"]),
        (graph(), LONG_AFTER, []),
        (ended(graph(), "b", "failed", NOON), NOON, ["b"]),
        (ended(STARTED, "a", "failed", NOON), LONG_AFTER, ["b"]),
        (start(STARTED, "b"), LONG_AFTER, []),
    ],
)
def test_a_wave_with_an_unstarted_task_is_not_compliant(one, at, left_out):
    first, *later = report(one, [], at)
    assert (first.never_started, first.compliant) == (left_out, not left_out)
    assert all(wave.compliant for wave in later)


def test_with_ready_a_task_that_became_ready_after_its_wave_was_opened_is_not_left_out():
    one = graph({"a": "", "c": "", "b": "a", "d": "c"}, barrier="ready")
    one = start(done(start(start(one, "a"), "c"), "a"), "b")
    assert report(done(one, "c", at=NOON + MS), [], LONG_AFTER)[1].never_started == []
    assert report(done(one, "c", at=NOON), [], LONG_AFTER)[1].never_started == ["d"]


def test_a_strict_refusal_names_the_rule():
    assert breach_of(STARTED.tasks["b"], admit(STARTED, "b", LONG_AFTER), refused=True).kind == "parallel_window"
    early = breach_of(STARTED.tasks["c"], admit(STARTED, "c", NOON), refused=True)
    assert (early.kind, early.wave, early.refused) == ("wrong_wave", 1, True)
    assert breach_of(STARTED.tasks["a"], admit(STARTED, "a", NOON)) is None
