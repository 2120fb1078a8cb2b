"""Tokens of a string, and the texts kept within the cap: fixed figures, and properties of any texts."""

from hypothesis import given
from hypothesis import strategies as st

from baton.context.enrichment.handler import CAP, Handled, capped, tokens_of
from tests.support.cases import every


def words(count):
    return " ".join(["w"] * count)


def text(name, tokens):
    return Handled(name, words(tokens), tokens)


@every(
    ("count", "tokens"), [(0, 1), (1, 2), (2, 3), (3, 4), (4, 6), (10, 14), (100, 131), (1_000, 1_301), (1_538, 2_000)]
)
def test_a_text_counts_its_words_times_one_and_a_third_and_one_more(count, tokens):
    assert tokens_of(words(count)) == tokens


def test_white_space_of_any_kind_counts_nothing():
    assert tokens_of("  a\n\tb \u00a0 c  ") == tokens_of("a b c")


CASES = {
    "all fit: the order is unchanged": (
        [("other", 400), ("similarity", 700), ("code_analysis", 500), ("summarization", 400)],
        ["other", "similarity", "code_analysis", "summarization"],
    ),
    "over: by priority": (
        [("similarity", 900), ("code_analysis", 900), ("summarization", 900)],
        ["summarization", "code_analysis"],
    ),
    "over: a large one is skipped, a later smaller one stays": (
        [("summarization", 1_000), ("code_analysis", 1_500), ("similarity", 900)],
        ["summarization", "similarity"],
    ),
    "over: unknown ones come last, in their order": (
        [("b", 700), ("a", 700), ("similarity", 700), ("summarization", 500)],
        ["summarization", "similarity", "b"],
    ),
    "exactly the cap is under it": ([("similarity", 1_000), ("summarization", 1_000)], ["similarity", "summarization"]),
    "one more is over it": ([("similarity", 1_001), ("summarization", 1_000)], ["summarization"]),
    "none at all": ([], []),
}


@every("name", CASES)
def test_texts_kept_under_the_cap(name):
    given_, stay = CASES[name]
    assert [one.name for one in capped([text(*one) for one in given_])] == stay


def test_where_nothing_fits_the_highest_priority_stays_cut_to_the_cap():
    large = [Handled(name, words(3_000), tokens_of(words(3_000))) for name in ("similarity", "code_analysis", "mine")]
    (stays,) = capped(large)
    assert (stays.name, stays.tokens) == ("code_analysis", CAP)
    assert stays.text == words(1_538)


NAMES = ["summarization", "code_analysis", "similarity", "mine", "yours"]


@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 3_000)), unique_by=lambda one: one[0]),
    st.integers(1, 3_000),
)
def test_the_cap_applies_to_any_text(given_, cap):
    candidates = [Handled(name, words(count), tokens_of(words(count))) for name, count in given_]
    kept = capped(candidates, cap)
    assert sum(one.tokens for one in kept) <= cap
    assert all(one.tokens == tokens_of(one.text) for one in kept)
    assert bool(kept) == bool(candidates)
    if sum(one.tokens for one in candidates) <= cap:
        assert kept == candidates
    else:
        left_out = {one.name for one in candidates} - {one.name for one in kept}
        assert left_out or len(kept) == 1
        order = [NAMES.index(one.name) if one.name in NAMES[:3] else 3 for one in kept]
        assert order == sorted(order)
