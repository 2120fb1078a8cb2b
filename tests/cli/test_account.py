"""A job's card: times, costs, runner, attempts; and the messages to a reader of its events."""

from baton.cli.jobs import arguments
from baton.cli.jobs.job_card import Card
from tests.support.cases import every

USAGE = {"input_tokens": 100, "cached_tokens": 60, "output_tokens": 5, "cost_usd": 0.25}
JOB = {
    "state": "completed",
    "cancel_requested": False,
    "created_at": "2026-05-04T12:00:00Z",
    "started_at": "2026-05-04T12:00:05Z",
    "ended_at": "2026-05-04T12:02:06Z",
    "runner": {"user": "ada", "id": "laptop"},
    "usage": USAGE,
    "events": 7,
    "attempts": [
        USAGE | {"attempt": 1, "runner": "laptop", "state": "failed", "error_code": "runner_lost",
                 "began_at": "2026-05-04T12:00:00Z", "ended_at": "2026-05-04T12:00:09Z"},
        {"attempt": 2, "runner": "desk", "state": "", "error_code": "", "input_tokens": 1, "output_tokens": 2},
    ],
}  # fmt: skip


def test_a_card_has_times_runner_costs_and_attempts():
    times, runner, usage, first, second = arguments.lines(JOB)
    assert times.startswith("created 2026-05-04 ")
    assert times.endswith("took 2 min 1 s")
    assert (runner, usage) == ("runner laptop of ada", "100 tokens in (60 from the cache), 5 out, 0.2500 USD, 7 events")
    assert first.startswith("attempt 1 on laptop: failed (runner_lost), began ")
    assert "took 9 s, 100 tokens in (60 from the cache), 5 out, 0.2500 USD" in first
    assert second == "attempt 2 on desk: under way, 1 tokens in, 2 out"
    assert len(arguments.lines(JOB | {"attempts": JOB["attempts"][:1]})) == 3


STANDING = [
    ({}, ""),
    ({"cancel_requested": True}, "completed before the cancel"),
    ({"state": "running", "disconnected_since": "12:00"}, "disconnected since 12:00"),
    ({"state": "running", "waiting_for": "disk", "waiting_since": "12:00"}, "waiting for disk since 12:00"),
]


@every(("more", "said"), STANDING)
def test_lists_show_a_job_s_state(more, said):
    assert arguments.standing(JOB | more) == said


def test_event_readers_see_a_full_disk_and_a_late_cancel(capsys):
    card = Card()
    for state in (
        {"state": "running"},
        {"state": "running", "waiting_for": "disk"},
        {"state": "running", "waiting_for": "disk"},
        {"state": "running"},
        {"state": "completed", "cancel_requested": True},
    ):
        card.show("job.state", state)
    assert capsys.readouterr().out.splitlines() == [
        "(waiting for disk on the runner's machine; nothing is lost)",
        "(goes on)",
        "completed before the cancel",
    ]
    assert card.status == 0
