"""Every stored text declares its masking and bounds, and follows them."""

from typing import Annotated, get_type_hints

import msgspec
import pytest

from baton.lib.text.masking import WINDOW
from baton.rules.call.kept import OWN, Name, TextRule
from baton.rules.call.outcome import OutcomeReport
from baton.rules.call.record import Record
from baton.rules.call.verdict import RuleHit
from baton.shared.kept_texts import KeptTexts, _inner
from tests.support.cases import every
from tests.support.records import record

SECRET = "ghp_" + "aB3dE5gH7jK9mN1pQ3sT5vX7zA9bC1dE3fG5"
TEXTS = {
    name: (kept, several)
    for name, (kept, several) in {
        name: _inner(hint) for name, hint in get_type_hints(Record, include_extras=True).items()
    }.items()
    if isinstance(kept, TextRule) and kept is not OWN
}


def holding(name, text):
    return record(**{name: (text,) if TEXTS[name][1] else text})


@every("name", TEXTS)
def test_a_secret_in_any_text_of_a_record_is_masked(name):
    assert SECRET not in str(KeptTexts(Record).masked(holding(name, f"x {SECRET} y")))


@every("name", TEXTS)
@every("before", [0, 1_990, 32_760])
def test_any_text_of_a_record_is_bounded_and_a_secret_at_the_border_is_masked(name, before):
    texts, kept = KeptTexts(Record), TEXTS[name][0]
    one = holding(name, "x " * (before // 2) + SECRET + " é" * 2 * WINDOW)
    clean = getattr(texts.masked(texts.bounded(one)), name)
    text = clean[0] if TEXTS[name][1] else clean
    assert len(text.encode() if kept.cut == "bytes" else text) <= kept.longest
    assert SECRET[:12] not in text


@every("name", TEXTS)
def test_any_text_of_a_record_can_be_stored(name):
    assert "a\ufffd?" in str(KeptTexts(Record).masked(holding(name, "a\0\ud800")))


@every(
    "one",
    [
        record(),
        record(paths=("a",) * 60),
        record(rules=(RuleHit("r" * 300, "deny"),)),
        record(rules=(RuleHit(SECRET, "deny"),)),
        record(prompt="é" * 20_000),
    ],
)
def test_a_record_counts_as_unmasked_only_if_masking_changes_nothing(one):
    texts = KeptTexts(Record)
    changed = msgspec.structs.replace(one, **{name: mask(getattr(one, name)) for name, mask in texts._masks})
    assert texts.is_kept(one) is (changed == one)
    assert texts.masked(one) == changed


@every("hint", [str, str | None, tuple[str, ...], dict[str, int], Annotated[str, "a comment"]])
def test_a_text_without_a_declaration_is_refused(hint):
    kind = msgspec.defstruct("Stored", [("fine", Name), ("text", hint)])
    with pytest.raises(TypeError, match=r"`Stored\.text` is a text: declare"):
        KeptTexts(kind)


def test_reports_declare_all_of_their_texts():
    KeptTexts(OutcomeReport)
