"""The state of a job that waits for others."""

import pytest

from baton.delegate.core.states import state_after

AFTER = [
    ("it waits for none", [], {}, ("queued", "")),
    ("all have completed", ["a", "b"], {"a": "completed", "b": "completed"}, ("queued", "")),
    ("one still runs", ["a", "b"], {"a": "completed", "b": "running"}, ("blocked", "")),
    ("one waits for leave", ["a"], {"a": "pending_approval"}, ("blocked", "")),
    ("one has failed, though another runs", ["a", "b"], {"a": "running", "b": "failed"}, ("skipped", "b")),
    ("one was cancelled", ["a"], {"a": "cancelled"}, ("skipped", "a")),
    ("one was skipped", ["a"], {"a": "skipped"}, ("skipped", "a")),
    ("one is not known any more", ["a", "b"], {"a": "completed"}, ("skipped", "b")),
    ("the first of two that failed is named", ["b", "a"], {"a": "failed", "b": "failed"}, ("skipped", "b")),
]


@pytest.mark.parametrize(
    ("depends_on", "states", "expected"), [row[1:] for row in AFTER], ids=[row[0] for row in AFTER]
)
def test_a_job_is_queued_blocked_or_skipped_by_what_it_depends_on(depends_on, states, expected):
    assert state_after(depends_on, states) == expected
