"""The packs: off until chosen, then each stops its risky calls, as in tests/lines/packs.tsv, and keeps its promised rate."""

import re
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from baton.rules.policy.rules.files import pack_of
from tests.lines import corpus
from tests.support.shipped import shipped, with_packs

ROOT = Path(__file__).parents[2]
PACKS = sorted(shipped().parsed.packs)
ORDINARY = (
    "code false-alarms files harmless languages network packages programs reading scripts sessions system wrappers"
)
"""Topics of tests/lines whose allowed rows are everyday calls."""
MOST_TOGETHER = 0.6


def test_a_pack_is_off_until_it_is_chosen():
    risky = [row for row in corpus.rows("packs") if row.verdict in corpus.STOPS]
    assert {row.known.packs for row in risky} == set(PACKS)
    off = [msgspec.structs.replace(row, known=msgspec.structs.replace(row.known, packs="")) for row in risky]
    assert [row.where for row in off if pack_of(corpus.judged(shipped(), row).rule)] == []


@pytest.mark.slow("judges the corpus")
def test_each_pack_keeps_its_promise_on_ordinary_rows():
    rows = [row for topic in ORDINARY.split() for row in corpus.rows(topic) if row.verdict in ("", "allow")]
    before = [row for row in rows if corpus.judged(shipped(), row, "off").effect not in corpus.STOPS]
    stopped = Counter()
    for row in before:
        verdict = corpus.judged(with_packs(" ".join(PACKS)), row, "off")
        if verdict.effect in corpus.STOPS:
            stopped["together"] += 1
            stopped.update({pack_of(hit.id) for hit in verdict.hits} - {""})
    rates = {name: 100 * count / len(before) for name, count in stopped.items()}
    assert len(before) > 1_400
    page = (ROOT / "docs/packs.md").read_text()
    shown = {"all together": rates["together"], **{f"`{name}`": rates.get(name, 0) for name in PACKS}}
    assert [name for name, rate in shown.items() if not re.search(rf"{name} .*\| {rate:.2f} % \|\n", page)] == []
    assert f"{len(before):,} rows" in page
    assert rates.pop("together") <= MOST_TOGETHER
    assert {name: rate for name, rate in rates.items() if rate > shipped().parsed.packs[name].promise} == {}
