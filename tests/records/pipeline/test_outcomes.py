"""Outcome reports find their decisions' rows, on each database."""

from datetime import timedelta

import msgspec
import pytest

from baton.records.pipeline import store as decisions
from baton.records.pipeline.recorder import _report_texts
from baton.records.pipeline.store import Filters
from baton.rules.call.outcome import OutcomeReport, Usage
from tests.records.pipeline.test_store import FULL, NOON
from tests.support.cases import every

LATER = NOON + timedelta(seconds=2)


def decided(number=0, **fields):
    # An id of the decision's own moment, as a decision has: a report looks back no more than a day.
    moment = f"{int(NOON.timestamp() * 1000) + number:012x}"
    given = {"at": NOON, "effect": "allow", "decision": "allow", "outcome": "unknown"} | fields
    return msgspec.structs.replace(FULL, id=f"{moment[:8]}-{moment[8:]}-7abc-8000-00000000000{number}", **given)


def report(**fields):
    given = {"at": LATER, "organisation": "default", "user": "ann", "session_id": "s", "agent_id": "a", "tool": "Bash"}
    return OutcomeReport(**({"tool_use_id": "toolu_1", "outcome": "ran"} | given | fields))


TURN = {"tool": "", "tool_use_id": "", "outcome": "refused"}


@pytest.mark.matrix(4)
@pytest.mark.parametrize(
    ("decision", "told", "outcome"),
    [
        ({}, {}, "ran"),
        ({}, {"outcome": "failed"}, "failed"),
        ({"effect": "deny"}, {}, "ran_anyway"),
        ({"effect": "deny"}, {"outcome": "refused"}, "refused"),
        ({"effect": "ask"}, {}, "ran"),
        ({"effect": "ask"}, {"can_ask": False}, "ran_anyway"),
        ({"effect": "rewrite"}, {"outcome": "rewrite_ignored"}, "rewrite_ignored"),
        ({"effect": "ask"}, TURN, "refused"),
        ({"effect": "allow"}, TURN, "unknown"),
        ({"effect": "ask", "outcome": "ran"}, TURN, "ran"),
        ({"effect": "ask", "at": LATER + timedelta(seconds=1)}, TURN, "unknown"),
        ({}, {"tool_use_id": "toolu_2"}, "unknown"),
        ({}, {"user": "bob"}, "unknown"),
        ({}, {"organisation": "other"}, "unknown"),
        ({}, {"session_id": "t"}, "unknown"),
        ({}, {"agent_id": ""}, "unknown"),
        ({}, {"tool": "Read"}, "unknown"),
        ({}, {"at": NOON + timedelta(days=2)}, "unknown"),
        ({"tool_use_id": ""}, {"tool_use_id": ""}, "ran"),
        ({"tool_use_id": "", "effect": "deny", "outcome": "refused"}, {"tool_use_id": ""}, "refused"),
    ],
)
async def test_a_report_sets_the_outcome_of_its_decision(database, decision, told, outcome):
    one = decided(**decision)
    await decisions.add(database, [one])
    await decisions.add(database, [], [report(**told)])
    found = await decisions.get(database, "default", one.id)
    assert found.outcome == outcome


async def test_a_report_in_the_batch_of_its_decision_finds_it_and_may_come_twice(database):
    one = decided(model_injected="haiku")
    told = report(duration_ms=12, usage=Usage("claude-haiku-5-5", 10, 3, 5))
    await decisions.add(database, [one], [told])
    await decisions.add(database, [one], [told])
    found = await decisions.get(database, "default", one.id)
    assert (found.outcome, found.duration_ms, found.model_used) == ("ran", 12, "claude-haiku-5-5")
    assert (found.input_tokens, found.cached_tokens, found.output_tokens) == (10, 3, 5)


async def test_a_client_that_measures_no_duration_gets_the_time_since_the_decision(database):
    one = decided()
    await decisions.add(database, [one], [report()])
    assert (await decisions.get(database, "default", one.id)).duration_ms == 2_000


async def test_the_newest_call_with_an_id_takes_the_report(database):
    older, newer = decided(1), decided(2)
    await decisions.add(database, [older, newer], [report()])
    assert (await decisions.get(database, "default", older.id)).outcome == "unknown"
    assert (await decisions.get(database, "default", newer.id)).outcome == "ran"


async def test_what_a_client_reports_is_stronger_than_the_end_of_the_turn(database):
    one = decided(effect="ask")
    await decisions.add(database, [one], [report(**TURN), report()])
    assert (await decisions.get(database, "default", one.id)).outcome == "ran"


async def test_decisions_are_found_by_outcome(database):
    await decisions.add(database, [decided(1, tool_use_id="x"), decided(2, effect="deny")], [report()])
    records, _ = await decisions.find_records(database, "default", Filters(outcome="ran_anyway"))
    assert [one.outcome for one in records] == ["ran_anyway"]


@every("before", [0, 170, 174, 178, 300])
def test_a_secret_in_a_model_s_name_is_masked_before_it_is_cut(before):
    secret = "postgres://app:correcthorsebattery@db/x"
    sent = _report_texts.masked(_report_texts.bounded(report(usage=Usage("m " * (before // 2) + secret, 1, 0, 1))))
    assert "correct" not in sent.usage.model
    assert len(sent.usage.model) <= 200
