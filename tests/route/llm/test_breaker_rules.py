import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.route.llm.breaker_rules import (
    LEASE_S,
    Bucket,
    Limits,
    State,
    add,
    cause_to_open,
    judged,
    leased,
    opened,
    probed,
    totals,
    wilson_lower,
)
from tests.support.cases import every

OURS = Limits()
calls = st.lists(st.tuples(st.floats(0, 5), st.booleans(), st.booleans()), max_size=300)


@every(("slow", "of", "opens"), [(1, 10, False), (2, 10, True), (6, 100, False), (9, 100, False), (10, 100, True)])
def test_the_wilson_bound_waits_for_evidence(slow, of, opens):
    assert bool(cause_to_open([Bucket(0, of, slow, 0)], OURS)) == opens


@every(("failed", "of", "opens"), [(5, 10, False), (9, 10, True), (10, 10, True), (55, 100, False)])
def test_calls_that_fail_fast_open_it_too(failed, of, opens):
    assert bool(cause_to_open([Bucket(0, of, 0, failed)], OURS)) == opens


def test_the_cause_has_the_counts():
    assert cause_to_open([Bucket(0, 20, 8, 0)], OURS) == "8 of 20 calls took longer than 80 ms"
    assert cause_to_open([Bucket(0, 20, 0, 20)], OURS) == "20 of 20 calls failed"


@given(calls)
def test_the_window_holds_the_newest_calls_and_a_bucket_more_at_most(sequence):
    buckets, now, slow = [], 0.0, []
    for pause, is_slow, failed in sequence:
        now += pause
        buckets = add(buckets, now, slow=is_slow, failed=failed, limits=OURS)
        slow.append(is_slow)
    total, slow_seen, _ = totals(buckets)
    assert min(len(sequence), 100) <= total <= 109
    assert slow_seen == sum(slow[len(slow) - total :])
    assert all(bucket.calls <= 10 for bucket in buckets)


@given(calls, calls)
def test_sums_of_two_processes_are_the_sums_of_both(one, other):
    def of(sequence):
        buckets = []
        for _, slow, failed in sequence[:100]:
            buckets = add(buckets, 1.0, slow=slow, failed=failed, limits=OURS)
        return buckets

    merged = totals(of(one) + of(other))
    assert merged == tuple(a + b for a, b in zip(totals(of(one)), totals(of(other)), strict=True))


@given(st.integers(0, 200), st.integers(1, 200))
def test_the_wilson_bound_is_below_the_rate(hits, total):
    hits = min(hits, total)
    assert 0 <= wilson_lower(hits, total) <= hits / total + 1e-9
    assert wilson_lower(hits, total) <= wilson_lower(hits * 10, total * 10) + 1e-9


def test_each_opening_in_a_row_lasts_twice_as_long_up_to_the_limit():
    state, lasts = State(), []
    for _ in range(6):
        state = opened(state.times, 0.0, "slow", OURS)
        lasts.append(state.until)
    assert lasts == [30, 60, 120, 240, 300, 300]


def test_a_soon_reopened_breaker_doubles_its_pause():
    slow = [Bucket(0, 100, 100, 0)]
    assert judged(State(since=1_000, times=2), slow, 1_100, OURS).times == 3
    assert judged(State(since=1_000, times=2), slow, 1_301, OURS).times == 1


def test_one_probe_runs_after_the_pause():
    state = opened(0, 1_000.0, "slow", OURS)
    assert leased(state, 1_029.9) is None
    mine = leased(state, 1_030.0)
    assert mine.phase == "half_open"
    assert leased(mine, 1_030.1) is None
    assert leased(mine, 1_030.0 + LEASE_S).phase == "half_open"
    assert leased(State(), 9_999.0) is None


def test_three_good_probes_of_three_close_it():
    state = leased(opened(0, 0.0, "slow", OURS), 30.0)
    for now, phase in ((31.0, "half_open"), (39.0, "half_open"), (48.0, "closed")):
        assert state.leased_until > now, "each good probe extends the lease of the process that probes"
        state = probed(state, now, OURS, good=True)
        assert state.phase == phase
    assert (state.since, state.times) == (48.0, 1)


@every("good_before", [0, 1, 2])
def test_a_bad_probe_opens_it_for_longer(good_before):
    state = leased(opened(0, 0.0, "slow", OURS), 30.0)
    for _ in range(good_before):
        state = probed(state, 31.0, OURS, good=True)
    state = probed(state, 31.0, OURS, good=False)
    assert (state.phase, state.until, state.times) == ("open", 91.0, 2)


@pytest.mark.parametrize("phase", ["open", "half_open"])
def test_late_counts_do_not_move_one_that_is_not_closed(phase):
    state = State(phase=phase, until=50)
    assert judged(state, [Bucket(0, 100, 100, 100)], 10, OURS) is state


@given(
    st.lists(st.tuples(st.floats(0, 400), st.sampled_from(["slow", "fast", "probe good", "probe bad"])), max_size=200)
)
def test_it_never_stays_shut_for_longer_than_the_limit_without_a_probe(steps):
    state, buckets, now = State(), [], 0.0
    for pause, step in steps:
        now += pause
        if step in {"slow", "fast"}:
            buckets = add(buckets, now, slow=step == "slow", failed=False, limits=OURS)
            new = judged(state, buckets, now, OURS)
        else:
            held = state if state.phase == "half_open" else leased(state, now)
            new = state if held is None else probed(held, now, OURS, good=step == "probe good")
        if new.phase != state.phase:
            buckets = []
        state = new
        assert state.phase != "open" or 0 < state.until - state.since <= 300 + 1e-6
        assert leased(state, max(state.until, state.leased_until)) is not None or state.phase == "closed"


def test_a_state_survives_json():
    state = opened(3, 1_700_000_000.123456, "slow", OURS)
    assert msgspec.json.decode(msgspec.json.encode(state), type=State) == state
