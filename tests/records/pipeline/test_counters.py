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


def test_beyond_a_thousand_rules_all_others_are_one():
    counters = Counters()
    for number in range(MOST_RULES + 2):
        counters.decided(decided(f"r/{number}"))
    counters.decided(decided("r/0"))
    assert counters.decisions["others", "deny", "strict"] == 2
    assert counters.decisions["r/0", "deny", "strict"] == 2
    assert counters.decisions[f"r/{MOST_RULES - 1}", "deny", "strict"] == 1


def test_beyond_a_thousand_refused_all_others_are_one():
    counters = Counters()
    for number in range(MOST_REFUSED + 2):
        counters.token_refused(f"token {number}")
    counters.token_refused("token 0")
    assert (counters.refused["others"], counters.refused["token 0"]) == (2, 2)


def test_beyond_two_hundred_versions_of_clients_all_others_of_a_client_are_one():
    counters = Counters()
    for number in range(MOST_VERSIONS + 2):
        counters.disobeyed("codex", f"1.{number}", "ran_anyway")
    counters.disobeyed("codex", "1.0", "ran_anyway")
    counters.disobeyed("gemini", "", "ran_anyway")
    assert counters.outcomes["codex", "others", "ran_anyway"] == 2
    assert counters.outcomes["codex", "1.0", "ran_anyway"] == 2
    assert counters.outcomes["codex", f"1.{MOST_VERSIONS - 1}", "ran_anyway"] == 1
    assert counters.outcomes["gemini", "others", "ran_anyway"] == 1


def test_degradations_are_counted_by_cause():
    counters = Counters()
    counters.decided(decided(degraded=("history", "when:a/deny")))
    counters.routed("scorer", ["model"])
    counters.routed("scorer", [])
    assert counters.degraded == {"history": 1, "when:a/deny": 1, "model": 1}
    assert counters.routes == {"scorer": 2}
