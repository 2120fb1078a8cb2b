"""Counts of decisions: their buckets, and the number of distinguished names."""

from baton.clients.event import HookEvent
from baton.records.pipeline.recorder import (
    BUCKETS_MS,
    MOST_REFUSED,
    MOST_RULES,
    MOST_VERSIONS,
    Counters,
    RouteOutcome,
    event_record,
)
from baton.rules.call.call import Principal, ToolCall
from baton.rules.call.modes import Mode
from baton.rules.call.verdict import RuleHit, Verdict
from baton.shared.caller import Caller
from baton.shared.decided import DecidedCall, Decision, ModeInForce, decision_record
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


ANN = Caller(principal=Principal(user="ann", team="web"))
PROMPT = HookEvent(client="codex", name="UserPromptSubmit", native_name="UserPromptSubmit", session_id="s", prompt="hi")


def test_a_prompt_that_was_not_routed_took_no_time_and_went_nowhere():
    made = event_record(ANN, PROMPT, "acme/shop", Mode(), "r1")
    assert (made.elapsed_us, made.routed_to, made.routed_by, made.confidence, made.degraded) == (0, "", "", 0.0, ())
    assert (made.user, made.team, made.project, made.prompt, made.revision) == ("ann", "web", "acme/shop", "hi", "r1")


def test_a_routed_prompt_says_where_it_went_and_what_that_took():
    route = RouteOutcome(
        id="7", agent="coder", tier="scorer", told="shortlist", confidence=0.5, elapsed_us=12, degraded=("model",)
    )
    made = event_record(ANN, PROMPT, "", Mode(enabled=True, level="strict", scope="user"), "r1", route)
    assert (made.id, made.routed_to, made.routed_by, made.routed_as) == ("7", "coder", "scorer", "shortlist")
    assert made.confidence == 0.5
    assert (made.elapsed_us, made.degraded) == (12, ("model",))
    assert (made.mode_enabled, made.mode_level, made.mode_scope) == (True, "strict", "user")


def test_a_start_that_is_recorded_keeps_no_prompt():
    start = HookEvent(client="codex", name="SessionStart", native_name="SessionStart", prompt="hi")
    assert event_record(ANN, start, "", Mode(), "r1").prompt == ""


def recorded(tool, given, updated=None):
    verdict = Verdict(effect="rewrite" if updated else "abstain", updated_input=updated)
    mode = ModeInForce(enabled=False, level="guidance", scope="default")
    call = ToolCall(client="codex", session_id="s", tool_name=tool, tool_input=given)
    decision = Decision(id="1", verdict=verdict, mode=mode, revision="r")
    return decision_record(DecidedCall(caller=ANN, call=call, decision=decision))


@every(
    ("tool", "command", "kept"),
    [
        ("Bash", "ls -l", "ls -l"),
        ("shell", ["ls", "-l"], "ls -l"),
        ("apply_patch", "*** Begin Patch", ""),
        ("Bash", None, ""),
        ("Bash", "cat > f <<E\nsecret\nE\n", None),
    ],
)
def test_of_a_command_all_is_kept_but_the_contents_of_files(tool, command, kept):
    made = recorded(tool, {"command": command}).command
    assert "secret" not in made
    assert kept is None or made == kept


@every(
    ("given", "updated", "model"),
    [
        ({}, {"model": "haiku"}, "haiku"),
        ({"model": "haiku"}, {"model": "haiku"}, ""),
        ({}, None, ""),
        ({}, {"model": 1}, ""),
    ],
)
def test_a_model_counts_as_put_in_only_where_it_was_another_before(given, updated, model):
    assert recorded("Task", given, updated).model_injected == model
