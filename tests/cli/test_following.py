"""`--follow`: its output until a job's end, and the ways to end it."""

import os
import signal

import pytest

from baton.cli.jobs import follow as following
from baton.cli.jobs.follow import follow
from baton.cli.jobs.job_card import Card
from baton.local.server import ApiError, Refused


def test_a_late_cancel_shows_the_job_s_end(capsys):
    class Ended:
        asked = 0

        def events(self, *_):
            self.asked += 1
            if self.asked == 1:
                raise KeyboardInterrupt
            yield 7, "job.state", {"state": "completed"}

        def request(self, *_):
            raise ApiError("it is `completed` already")

    assert follow(Ended(), "job_1") == 0
    shown = capsys.readouterr()
    assert (shown.out, "not cancelled: it is `completed` already" in shown.err) == ("completed\n", True)


def test_ctrl_c_cancels_where_a_shell_had_it_ignored():
    cancelled = []

    class Running:
        def events(self, *_):
            if not cancelled:
                os.kill(os.getpid(), signal.SIGINT)
                yield from ()
            yield 1, "job.state", {"state": "cancelled" if cancelled else "completed"}

        def request(self, *asked):
            cancelled.append(asked)

    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        assert follow(Running(), "job_1") == 130
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
    assert cancelled == [("POST", "/jobs/job_1/cancel")]


class Away:
    """A server that fails so often before each answer, by a clock of its own."""

    def __init__(self, monkeypatch, *answers):
        self.answers, self.now = list(answers), 0.0
        monkeypatch.setattr(following.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(following.time, "sleep", self.pass_)

    def pass_(self, seconds):
        self.now += seconds

    def next_(self):
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def events(self, _path, after):
        self.after = after
        yield from self.next_()

    def request(self, *_):
        return self.next_()


def test_a_follower_outlasts_ten_minutes_without_a_server(monkeypatch, capsys):
    gone = ApiError("no server answers")
    away = Away(
        monkeypatch,
        [("1", "job.state", {"state": "running"})],
        *[gone] * 42,
        [("2", "job.state", {"state": "completed"})],
    )
    assert (follow(away, "job_1"), away.after) == (0, "1")
    assert 550 < away.now < 600
    said = capsys.readouterr().err
    assert said.count("no server answers") == 1
    assert "Trying again for 10 minutes." in said
    assert "The server answers again." in said


def test_following_an_absent_server_ends_with_its_own_status(monkeypatch, capsys):
    away = Away(monkeypatch, ApiError("no server answers"))
    assert follow(away, "job_1") == 75
    assert 600 < away.now < 620
    assert "The job continues; follow it again with: baton jobs show job_1 --follow" in capsys.readouterr().err


def test_a_refusal_ends_the_following_at_once(monkeypatch):
    away = Away(monkeypatch, Refused("there is no job `job_1`"))
    with pytest.raises(Refused):
        follow(away, "job_1")
    assert away.now == 0


def test_a_queued_job_s_reason_is_shown_once(monkeypatch, capsys):
    queued = {
        "state": "queued",
        "waiting": {
            "reason": "no_runner",
            "detail": "none",
            "since": "2026-05-01T12:00:00",
            "expires_at": "2026-05-01T13:00:00",
        },
    }
    behind = {"state": "queued", "waiting": {"reason": "slots_busy", "detail": "busy", "since": "2026-05-01T12:00:00"}}
    ended = [("3", "job.state", {"state": "failed", "error": {"code": "queue_expired", "detail": "no runner"}})]
    events = [("2", "job.state", {"state": "queued"})]
    away = Away(monkeypatch, events, queued, queued, ApiError("gone"), queued, behind, {"state": "running"}, ended)
    assert (follow(away, "job_1"), away.after) == (1, "2")
    assert capsys.readouterr().out.splitlines() == [
        "(waiting since 2026-05-01 12:00:00: none; it fails at 2026-05-01 13:00:00)",
        "(waiting since 2026-05-01 12:00:00: busy)",
        "failed: no runner (queue_expired)",
    ]


def chunk(text, source="delegated_agent", **update):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}} | update
    return {"update": update, "source": source, "provider": "claude_code"}


def test_the_card_sets_the_agent_apart_from_the_orchestrator(capsys):
    card = Card()
    card.show("session.update", chunk("✓ Delegated", source="fm_orchestrator"))
    for text in ("one\nt", "wo", "\n\nthr\x1b[2Jee\x07"):
        card.show("session.update", chunk(text))
    card.show("session.update", chunk("", sessionUpdate="tool_call", title="edit\ta.py\x9b"))
    request = {"title": "", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    card.show("permission.requested", {"job": "job_1", "permission": "perm_1", "request": request})
    card.show("permission.resolved", {"answer": "deny", "by": "timeout", "reason": "late"})
    assert card.status is None
    error = {"code": "runner_lost", "detail": "gone"}
    card.show("job.state", {"state": "failed", "error": error})
    assert card.status == 1
    assert capsys.readouterr().out.splitlines() == [
        "✓ Delegated",
        "┌ → Claude Code",
        "│ one",
        "│ two",
        "│ ",
        "│ thr\\u001b[2Jee\\u0007",
        "│ * edit\ta.py\\u009b",
        "│ ? asks for permission: Bash {'command': 'ls'}",
        "│   baton approve perm_1",
        "│   deny (by timeout): late",
        "└",
        "failed: gone (runner_lost)",
    ]
