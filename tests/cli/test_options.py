"""Options shared by many commands: time spans, timestamps."""

from datetime import UTC, datetime, timedelta

import pytest
import typer

from baton.cli import options
from baton.shared.time_span import time_span
from tests.support.cases import every

SPANS = [
    ("500ms", timedelta(milliseconds=500)), ("45s", timedelta(seconds=45)), ("30m", timedelta(minutes=30)),
    ("30min", timedelta(minutes=30)), ("12h", timedelta(hours=12)), ("90d", timedelta(days=90)),
    ("4w", timedelta(weeks=4)),
]  # fmt: skip
NO_SPANS = ["", "0d", "-1d", "1.5h", "90", "d", "90D", "1000000d", "soon"]


@every(("text", "span"), SPANS)
def test_a_time_span_is_a_number_and_a_unit(text, span):
    assert time_span(text) == span


@every("text", NO_SPANS)
def test_other_values_are_refused_with_the_allowed_ones(text):
    with pytest.raises(ValueError, match=r"is not a time span; give a number"):
        time_span(text)


@every("parts", [("",), ("approvals", ""), ("exceptions", "", "grant")])
def test_an_empty_id_is_refused_before_the_server_is_asked(parts):
    with pytest.raises(options.UsageError, match="a name or an id is empty"):
        options.path_of(*parts)


def test_a_bare_number_counts_in_the_unit_that_the_option_had():
    parse = options.span_of(timedelta(minutes=1))
    assert parse("5") == parse("5m") == parse("300s") == timedelta(minutes=5)
    with pytest.raises(typer.BadParameter, match="`soon` is not a time span"):
        parse("soon")


@pytest.mark.parametrize(("text", "ago"), [("30m", timedelta(minutes=30)), ("7d", timedelta(days=7))])
def test_a_span_becomes_a_past_timestamp(text, ago):
    assert abs(datetime.now(UTC) - ago - datetime.fromisoformat(options.past(text))) < timedelta(minutes=1)


def test_a_timestamp_is_kept_with_its_offset():
    assert options.past("2026-05-01T08:00:00Z") == "2026-05-01T08:00:00+00:00"
    assert datetime.fromisoformat(options.past("2026-05-01")).tzinfo
    assert (options.past(""), options.from_now("")) == ("", "")
    with pytest.raises(typer.BadParameter, match="neither a time span such as `30m`"):
        options.past("soon")
