"""A queued job's reason to wait, and its end."""

from datetime import UTC, datetime, timedelta

import msgspec

from baton.delegate.core.job import Job, Runner
from baton.delegate.core.waiting import FolderUse, expiry_of, overlaps, waiting_of
from tests.support.cases import every

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
JOB = Job(
    id="job_1", prompt="x", organisation="default", user="ada", team="red", state="queued", timeout_s=60,
    inactivity_timeout_s=0, queue_expiry_s=3_600, created_at=NOW - 5 * MINUTE, queued_at=NOW - 5 * MINUTE,
    expires_at=NOW + 55 * MINUTE,
)  # fmt: skip
RUNNER = Runner(
    organisation="default", user="ada", id="r", team="red", boot_id="b", name="laptop", version="1", slots=1, active=0,
    providers=("codex",), workspaces=("shop", "web"), folders={"shop": "m/a/", "web": "m/a/b/"}, shared=False, last_seen=NOW,
)  # fmt: skip
USE = FolderUse(job_id="job_0", user="ada", graph_id="g", folder="m/a/", started_at=NOW - MINUTE)


def job(**more):
    return msgspec.structs.replace(JOB, **more)


def runner(**more):
    return msgspec.structs.replace(RUNNER, **more)


@every(
    ("task", "runners", "busy", "reason", "words"),
    [
        (job(), [], [], "no_runner", "baton runner run"),
        (job(), [RUNNER], [], None, ""),
        (job(state="running"), [], [], None, ""),
        (job(), [runner(last_seen=NOW - 2 * MINUTE)], [], "runner_offline", "`laptop` was last seen at 2026-05-01 11:58"),
        (job(), [runner(slots=0)], [], "runner_offline", "last seen"),  # its last word before it stopped
        (job(), [runner(slots=0, active=2)], [], "slots_busy", "all slots of `laptop` are busy (2 jobs)"),
        (job(provider="gemini"), [RUNNER], [], "not_served", "`laptop`: codex in shop, web"),
        (job(workspace="other"), [RUNNER], [], "not_served", "codex in other"),
        (job(), [runner(user="bea")], [], "no_runner", ""),
        (job(), [runner(user="bea", shared=True)], [], None, ""),
        (job(team=""), [runner(user="bea", shared=True, team="")], [], "no_runner", ""),
        (job(thread="job_9", thread_user="ada", thread_runner="desk"), [RUNNER], [], "not_served", "runner `desk`"),
        (job(thread="job_9", thread_user="ada", thread_runner="r"), [RUNNER], [], None, ""),
        (job(), [RUNNER], [USE], "folder_busy", "job `job_0` works in the same folder"),
        (job(workspace="web"), [RUNNER], [USE], "folder_busy", "same folder"),
        (job(), [RUNNER], [msgspec.structs.replace(USE, user="bea")], "folder_busy", "a job of somebody else"),
        (job(), [RUNNER], [msgspec.structs.replace(USE, folder="m/c/")], None, ""),
        (job(), [RUNNER, runner(id="desk", folders={})], [USE], None, ""),
        (job(concurrent=True), [RUNNER], [USE], None, ""),
        (job(graph_id="g"), [RUNNER], [USE], None, ""),
        (job(graph_id="h"), [RUNNER], [USE], "folder_busy", ""),
        (job(isolation="worktree"), [RUNNER], [USE], None, ""),
    ],
)  # fmt: skip
def test_the_reason_of_a_waiting_job(task, runners, busy, reason, words):
    found = waiting_of(task, runners, busy, NOW)
    assert (found and found.reason) == reason
    assert found is None or words in found.detail


def test_since_when_and_until_when_a_job_waits():
    found = waiting_of(JOB, [runner(last_seen=NOW - 2 * MINUTE)], [], NOW)
    assert (found.since, found.expires_at) == (NOW - 2 * MINUTE, NOW + 58 * MINUTE)
    found = waiting_of(JOB, [], [], NOW)
    assert (found.since, found.expires_at) == (NOW - 5 * MINUTE, NOW + 55 * MINUTE)
    assert waiting_of(JOB, [runner(slots=0, active=1)], [], NOW).expires_at is None
    assert waiting_of(JOB, [RUNNER], [USE], NOW).since == NOW - MINUTE


def test_a_job_expires_only_for_want_of_a_live_runner_that_serves_it():
    assert expiry_of(JOB, []) == NOW + 55 * MINUTE
    assert expiry_of(JOB, [RUNNER]) == NOW + HOUR
    assert expiry_of(JOB, [runner(providers=("gemini",))]) == NOW + 55 * MINUTE
    assert expiry_of(job(expires_at=None), [RUNNER]) is None


@every(
    ("one", "other", "expected"),
    [
        ("m/a/", "m/a/", True),
        ("m/", "m/a/", True),
        ("m/a/", "m/ab/", False),
        ("m/a/", "n/a/", False),
        ("", "m/", False),
    ],
)
def test_folders_overlap_if_one_is_the_other_or_in_it(one, other, expected):
    assert overlaps(one, other) is overlaps(other, one) is expected
