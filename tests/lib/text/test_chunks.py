from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from baton.lib.bash.tables.tables import build
from baton.lib.text import masking
from baton.lib.text.masking import StreamTail, mask_chunk
from tests.support.cases import every
from tests.support.fake_secrets import fakes

TABLES = Path(__file__).parents[3] / "policies" / "shell"
KNOWN_BY_THEIR_END = {
    "mailchimp", "ngrok", "okta", "bitcoin key", "bitcoin compressed key", "a token that a prompt names", "a key variable",
    "a key behind its name", "a token as an argument",
}  # fmt: skip
FAKES = [
    one for one in fakes() if one.name not in KNOWN_BY_THEIR_END and "{} |" not in one.name and "{}' |" not in one.name
]
"""Without those whose beginning is any word: a digest and a key of Mailchimp, what is piped into a program."""


@pytest.fixture(scope="module", autouse=True)
def _programs():
    masking.learn(build({path.name: path.read_text("utf-8") for path in TABLES.glob("*.yaml")}).secrets)
    yield
    masking.learn({})


def streamed(chunks):
    tail, sent = StreamTail(), []
    for chunk in chunks:
        masked, tail = mask_chunk(tail, chunk)
        sent.append(masked)
    return "".join(sent), tail


def leaked(text, one):
    """Return whether a text holds a secret, or so much of a long one that it is of use."""
    parts = [one.body[at : at + 14] for at in range(max(1, len(one.body) - 13))]
    return one.secret in text or any(part in text for part in parts if len(part) == min(14, len(one.body)))


@every("size", [1, 2, 3, 5, 8, 21])
def test_no_fake_secret_survives_in_chunks_of_one_size(size):
    kept = []
    for one in FAKES:
        text = f"here it is: {one.text} and more"
        sent, tail = streamed([text[at : at + size] for at in range(0, len(text), size)])
        if leaked(sent, one) or leaked(tail.text, one):
            kept.append((one.name, sent))
    assert kept == []


@every(
    "body", ["P" + "q7Xw" * 16, "Privat" + "q7Xw" * 16, "-" + "Q7XW" * 16, "abc-END" + "Q7XW" * 16, "q7Xw" * 15 + "P"]
)
@every("size", [1, 7, 64])
def test_nothing_of_a_key_is_kept_while_its_end_is_awaited(body, size):
    text = f"-----BEGIN PRIVATE KEY-----\n{body}"
    sent, tail = streamed([text[at : at + size] for at in range(0, len(text), size)])
    assert "q7X" not in (sent + tail.text)
    assert "Q7X" not in (sent + tail.text)


@every("end", ["-----END PRIVATE KEY-----", "---- END SSH2 ENCRYPTED PRIVATE KEY ----", "Private-MAC: 0a9f"])
@every("size", [1, 2, 7])
def test_text_after_a_cut_key_is_streamed(end, size):
    text = f"-----BEGIN PRIVATE KEY-----\n{'q7Xw' * 16}\n{end}\nand more"
    sent, _ = streamed([text[at : at + size] for at in range(0, len(text), size)])
    assert sent.endswith("and more")
    assert "q7X" not in sent


@given(one=st.sampled_from(FAKES), cuts=st.lists(st.integers(0, 200), max_size=12))
def test_no_fake_secret_survives_wherever_the_chunks_are_cut(one, cuts):
    text = f"Look:\n{one.text}\nand more"
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    sent, tail = streamed([text[start:end] for start, end in pairwise(places)])
    assert not leaked(sent, one)
    assert not leaked(tail.text, one)


@given(st.text(" abcdefghij.,-_:=/\n", max_size=80), st.integers(1, 9))
def test_a_stream_without_secrets_is_unchanged(text, size):
    if masking.mask(text) == text and all(masking.mask(text[:at]) == text[:at] for at in range(len(text))):
        assert streamed([text[at : at + size] for at in range(0, len(text), size)])[0] == text


def test_text_after_a_secret_is_streamed():
    sent, _ = streamed(["use gh", "p_", "abcdef", "ghijk", "lmnop now", ", or ", "`password=", "hunt", "er2` there"])
    assert sent == "use ghp_[masked:github-token] now, or `password=[masked:key-value]` there"


def test_a_key_block_ends_where_its_last_line_ends():
    block = "-----BEGIN RSA PRIVATE " + "KEY-----\nMIIEow\nabc\n-----END RSA PRIVATE KEY-----"
    for size in (1, 7, 30):
        text = f"key:\n{block}\nDone."
        sent, _ = streamed([text[at : at + size] for at in range(0, len(text), size)])
        assert "MIIE" not in sent
        assert sent.endswith("\nDone.")
