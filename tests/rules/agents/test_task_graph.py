"""Task graphs: immediate refusals, waves, and the effect of a task's end on the others."""

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from baton.rules.agents.task_graph import (
    ENDED,
    MOST_FAULTS,
    Admission,
    TaskSpec,
    admit,
    build,
    ended,
    faults,
    settled,
    startable,
    state_of,
    waves,
)
from tests.support.cases import every

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def specs(**tasks):
    return {name: TaskSpec(agent_type="x", depends_on=tuple(depends_on.split())) for name, depends_on in tasks.items()}


def graph(tasks, **more):
    options = {"level": "strict", "barrier": "wave", "window_ms": 500, "on_window_close": "refuse"} | more
    return build(tasks, **options)


def states(one):
    return {name: task.state for name, task in one.tasks.items()}


@every(
    ("tasks", "said"),
    [
        ({"a": "a"}, [("tasks.a.depends_on", "names `a` itself")]),
        ({"a": "", "b": "c"}, [("tasks.b.depends_on", "names `c`, an unknown task of this graph; allowed: `a`")]),
        ({"task_a": "", "b": "task_b"}, [("tasks.b.depends_on", "did you mean `task_a`?")]),
        ({"a": "", "b": "a a"}, [("tasks.b.depends_on", "names `a` 2 times")]),
        ({"a": "c", "b": "a", "c": "b"}, [("tasks", "has a cycle: `a` → `b` → `c` → `a`")]),
        ({"a": "a", "b": "z z"}, [("tasks.a", "itself"), ("tasks.b", "unknown task"), ("tasks.b", "2 times")]),
    ],
)
def test_an_impossible_graph_is_reported_by_name(tasks, said):
    found = faults(specs(**tasks))
    assert len(found) == len(said)
    for fault, (field, part) in zip(found, said, strict=True):
        assert fault.field.startswith(field)
        assert part in fault.message


def test_many_faults_are_shortened():
    tasks = {f"t{number}": TaskSpec(agent_type="x", depends_on=(f"u{number}", "v")) for number in range(1_000)}
    found = faults(tasks)
    assert MOST_FAULTS <= len(found) < MOST_FAULTS + 2
    assert (found[0].field, found[-1].field) == ("tasks.t0.depends_on", f"tasks.t{MOST_FAULTS // 2 - 1}.depends_on")


def test_the_example_dictionary_has_two_waves():
    assert waves(specs(task_a="", task_b="", task_c="task_a task_b")) == [["task_a", "task_b"], ["task_c"]]


@st.composite
def orders(draw):
    """Tasks that depend on earlier ones only, in any order of the mapping."""
    size = draw(st.integers(1, 12))
    names = [f"t{number}" for number in range(size)]
    depends_on = {
        name: draw(st.lists(st.sampled_from(names[:number]), unique=True, max_size=4)) if number else []
        for number, name in enumerate(names)
    }
    return {name: TaskSpec(agent_type="x", depends_on=tuple(depends_on[name])) for name in draw(st.permutations(names))}


@given(orders())
def test_a_wave_is_the_longest_way_to_a_task(tasks):
    assert faults(tasks) == []
    levels = {name: number for number, wave in enumerate(waves(tasks)) for name in wave}
    assert levels.keys() == tasks.keys()
    for name, spec in tasks.items():
        assert levels[name] == max((levels[other] + 1 for other in spec.depends_on), default=0)


@given(orders(), st.data())
def test_a_graph_with_a_way_back_is_refused(tasks, data):
    levels = waves(tasks)
    if len(levels) == 1:
        return
    last = data.draw(st.sampled_from(levels[-1]))
    first = next(name for name in levels[0] if name in _above(tasks, last))
    tasks[first] = TaskSpec(agent_type="x", depends_on=(last,))
    (fault,) = faults(tasks)
    assert "has a cycle" in fault.message


def _above(tasks, name):
    found = {name}
    for other in tasks[name].depends_on:
        found |= _above(tasks, other)
    return found


@given(orders(), st.sampled_from(["wave", "ready"]), st.data())
def test_no_graph_stalls_and_no_task_starts_early(tasks, barrier, data):
    one = graph(tasks, barrier=barrier)
    for _ in range(3 * len(tasks)):
        running = [name for name, task in one.tasks.items() if task.state == "running"]
        may = startable(one)
        assert running or may or state_of(one) in {"completed", "failed"}
        if not (running or may):
            break
        name = data.draw(st.sampled_from(running + may))
        if name in running:
            one = ended(one, name, data.draw(st.sampled_from(["completed", "failed", "cancelled"])), NOON)
        else:
            admitted = admit(one, name, NOON)
            assert isinstance(admitted, Admission)
            one = settled(admitted.graph, NOON)
            assert all(one.tasks[other].state == "completed" for other in one.tasks[name].depends_on)
            if barrier == "wave":
                lower = (task for task in one.tasks.values() if task.wave < one.tasks[name].wave)
                assert all(task.state in ENDED for task in lower)
    assert all(task.state in ENDED for task in one.tasks.values())
    lost = {name for name, task in one.tasks.items() if task.state in {"failed", "cancelled", "skipped"}}
    assert {name for name, spec in tasks.items() if lost.intersection(spec.depends_on)} <= lost


def test_a_failed_task_skips_all_that_builds_on_it_and_nothing_else():
    one = graph(specs(a="", b="", c="a", d="c", e="b"))
    one = ended(one, "a", "failed", NOON, "broke")
    assert states(one) == {"a": "failed", "b": "pending", "c": "skipped", "d": "skipped", "e": "blocked"}
    assert one.tasks["c"].detail == "`a` failed"
    assert one.tasks["d"].detail == "`c` was skipped"
    one = ended(one, "b", "completed", NOON)
    assert states(one)["e"] == "pending"


def test_a_late_completion_unskips_tasks_waiting_for_it_alone():
    one = graph(specs(a="", b="", c="a", d="c", e="b c"))
    one = ended(ended(one, "a", "failed", NOON), "b", "failed", NOON)
    assert states(one) == {"a": "failed", "b": "failed", "c": "skipped", "d": "skipped", "e": "skipped"}
    one = ended(one, "a", "completed", NOON)
    assert states(one) == {"a": "completed", "b": "failed", "c": "pending", "d": "blocked", "e": "skipped"}
    assert (one.tasks["c"].ended_at, one.tasks["c"].detail) == (None, "")


def test_a_wave_waits_for_the_whole_one_before_and_ready_only_for_its_own():
    tasks = specs(a="", b="", c="a")
    assert states(ended(graph(tasks), "a", "completed", NOON))["c"] == "blocked"
    assert states(ended(graph(tasks, barrier="ready"), "a", "completed", NOON))["c"] == "pending"


@every(
    ("ends", "state"),
    [({}, "pending"), ({"a": "completed"}, "running"), ({"a": "completed", "b": "completed"}, "completed"),
     ({"a": "completed", "b": "cancelled"}, "failed")],
)  # fmt: skip
def test_a_graph_sums_its_tasks_up(ends, state):
    one = graph(specs(a="", b=""))
    for name, end in ends.items():
        one = ended(one, name, end, NOON)
    assert state_of(one) == state
