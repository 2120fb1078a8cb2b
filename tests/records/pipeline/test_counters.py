"""Counts of decisions: their buckets, and the number of distinguished names."""

from baton.records.pipeline.recorder import BUCKETS_MS, MOST_REFUSED, MOST_RULES, MOST_VERSIONS, Counters
from baton.rules.call.verdict import RuleHit, Verdict
from baton.shared.decided import Decision, ModeInForce
from tests.support.cases import every


def decided(rule="a/deny", *, hits=(), elapsed_us=0, enabled=True, degraded=()):
    verdict = Verdict(effect="deny", rule=rule, hits=tuple(RuleHit(hit, "deny") for hit in hits))
    mode = ModeInForce(enabled=enabled, level="strict", scope="user")
    return Decision(id="1", verdict=verdict, mode=mode, revision="r", elapsed_us=elapsed_us, degraded=degraded)


def test_each_decision_counts_once_by_rule_effect_and_mode():
    counters = Counters()
    for enabled in (True, True, False):
        counters.decided(decided(hits=("a/deny", "b/deny"), enabled=enabled))
    assert counters.decisions == {("a/deny", "deny", "strict"): 2, ("a/deny", "deny", "off"): 1}
    assert counters.matches == {("a/deny", "deny"): 3, ("b/deny", "deny"): 3}


@every(("elapsed_us", "bucket"), [(0, 0), (250, 0), (251, 1), (100_000, 8), (250_001, len(BUCKETS_MS))])
def test_a_decision_s_time_goes_into_the_bucket_whose_bound_it_does_not_exceed(elapsed_us, bucket):
    counters = Counters()
    counters.decided(decided(elapsed_us=elapsed_us))
    assert [at for at, count in enumerate(counters.took) if count] == [bucket]
    assert (sum(counters.took), counters.took_us) == (1, elapsed_us)


@every(
    ("count", "names", "most"),
    [
        (lambda one, name: one.decided(decided(name)), lambda one: [name for name, *_ in one.decisions.elements()], MOST_RULES),
        (Counters.token_refused, lambda one: list(one.refused.elements()), MOST_REFUSED),
        (lambda one, name: one.disobeyed("codex", name, "ran"), lambda one: [name for _, name, _ in one.outcomes.elements()], MOST_VERSIONS),
    ],
)  # fmt: skip
def test_beyond_a_limit_all_other_names_are_one(count, names, most):
    counters = Counters()
    for number in (*range(most + 2), 0):
        count(counters, str(number))
    assert sorted(names(counters)) == sorted([*map(str, range(most)), "0", "others", "others"])


def test_a_client_without_a_version_counts_as_an_unknown_one_of_its_own():
    counters = Counters()
    counters.disobeyed("gemini", "", "ran_anyway")
    assert counters.outcomes == {("gemini", "unknown", "ran_anyway"): 1}


def test_degradations_are_counted_by_cause():
    counters = Counters()
    counters.decided(decided(degraded=("history", "when:a/deny")))
    counters.routed("scorer", ["model"])
    counters.routed("scorer", [])
    assert counters.degraded == {"history": 1, "when:a/deny": 1, "model": 1}
    assert counters.routes == {"scorer": 2}
