"""The live stream's view of events, and their readers."""

import json
from datetime import UTC, datetime

import msgspec

from baton.events.log import Emission, LogEntry
from baton.modes.listing import ModeList
from baton.operate.live import LIVE_TOPICS, LiveEvents
from baton.rules.call.call import Principal
from baton.rules.call.modes import ModeSetting
from tests.support.cases import every, listed

ANN = Principal(team="web", user="ann", role="developer")
BOB = Principal(team="data", user="bob", role="developer")
LEAD = Principal(team="web", user="lea", role="lead")
ADMIN = Principal(team="ops", user="root", role="admin")
OBSERVER = Principal(team="ops", user="eye", role="observer")
READERS = {"ann": ANN, "bob": BOB, "lead": LEAD, "admin": ADMIN, "observer": OBSERVER}


class Users:
    def team_of(self, user):
        return {"ann": "web", "lea": "web", "bob": "data"}.get(user, "")

    def project_team(self, project):
        return {"of-data": "data"}.get(project, "")


LIVE = LiveEvents(ModeList(None, Users()))


def entry(event_type, user="ann", team="web", organisation="default", **data):
    at_ms = int(datetime(2026, 2, 2, 3, 4, 5, tzinfo=UTC).timestamp() * 1000)
    content = json.dumps({"session_id": "s"} | data).encode()
    return LogEntry((1, 0), Emission(event_type.replace(".", "-"), "id", at_ms, organisation, team, user, content))


def shown(one, reader, topics=LIVE_TOPICS):
    found = LIVE.shown(one, reader, frozenset(topics))
    return found and (found.name, json.loads(found.data))


AT = {"at": "2026-02-02T03:04:05.000+00:00", "user": "ann", "team": "web", "session_id": "s"}


def test_an_event_says_what_changed():
    told = {
        "job": entry("jobs", job_id="j", state="running", attempt=1, provider="codex", correlation_id="j"),
        "opened": entry("questions", state="opened", question_id="q", job_id="j", tool_name="Bash", runner_user="ann"),
        "answered": entry("questions", state="answered", question_id="q", job_id="j", answer="deny", answered_by="lee"),
        "expired": entry("questions", state="expired", question_id="q", job_id="j", answer="deny", reason="timeout"),
        "started": entry("session.started", client="codex", project="p", working_directory="/home/ann"),
        "waiting": entry("notification.blocked", tool_name="Bash", reason="a person is asked"),
        "idle": entry("notification.completed", agent_name="codex"),
        "ended": entry("session.ended", client="codex", tools_used_count=3),
        "mode": entry("modes", scope="organisation", action="mode.set", enabled=True, level="strict"),
    }
    assert {name: shown(one, ANN) for name, one in told.items()} == {
        "job": ("job.state", AT | {"job_id": "j", "state": "running", "attempt": 1, "provider": "codex"}),
        "opened": (
            "question.opened",
            AT | {"question_id": "q", "job_id": "j", "tool_name": "Bash", "runner_user": "ann"},
        ),
        "answered": (
            "question.answered",
            AT | {"question_id": "q", "job_id": "j", "answer": "deny", "answered_by": "lee"},
        ),
        "expired": (
            "question.expired",
            AT | {"question_id": "q", "job_id": "j", "answer": "deny", "reason": "timeout"},
        ),
        "started": ("session.update", AT | {"client": "codex", "project": "p", "state": "started"}),
        "waiting": ("session.update", AT | {"tool_name": "Bash", "reason": "a person is asked", "state": "waiting"}),
        "idle": ("session.update", AT | {"agent_name": "codex", "state": "idle"}),
        "ended": ("session.update", AT | {"client": "codex", "state": "ended"}),
        "mode": (
            "mode.changed",
            AT | {"scope": "organisation", "action": "mode.set", "enabled": True, "level": "strict"},
        ),
    }


def mode(scope, **data):
    return entry("modes", scope=scope, action="mode.set", enabled=True, **data)


HEARD = [
    # the event, who hears it
    (entry("jobs", job_id="j", state="queued"), "ann lead admin"),
    (entry("jobs", job_id="j", state="running", runner_user="bob"), "ann bob lead admin"),
    (entry("questions", state="opened", question_id="q"), "ann lead admin"),
    (entry("questions", state="opened", question_id="q", runner_user="bob"), "ann bob lead admin"),
    (entry("questions", state="opened", question_id="apr_1", approvers="user:bob"), "ann bob lead admin"),
    (entry("questions", state="opened", question_id="apr_1", approvers="role:developer"), "ann bob lead admin"),
    (entry("session.started"), "ann lead admin"),
    (entry("session.started", user="bob", team="data"), "bob admin"),
    (entry("session.started", user="lone", team=""), "admin"),
    (entry("jobs", job_id="j", organisation="other"), ""),
    (entry("routing.decision"), ""),
    (mode("organisation"), "ann bob lead admin"),
    (mode("team", scope_id="web"), "ann lead admin"),
    (mode("project", scope_id="of-data"), "bob admin"),
    (mode("project", scope_id="of-nobody"), "ann bob lead admin"),
    (mode("user", scope_id="bob"), "bob admin"),
    (mode("user_project", scope_user="bob", scope_id="of-nobody"), "bob admin"),
    (mode("session", scope_id="s", scope_user="ann"), "ann lead admin"),
    (LogEntry((1, 0)), ""),
]


def test_an_event_is_heard_by_whom_the_lists_show_it():
    wrong = {}
    for one, hearers in HEARD:
        found = " ".join(name for name, reader in READERS.items() if shown(one, reader))
        if found != hearers:
            wrong[f"{one.content} by {hearers}"] = found
    assert not wrong, listed(wrong)


@every("topic", LIVE_TOPICS)
def test_only_what_is_followed_is_told(topic):
    one = entry("jobs", job_id="j", state="queued")
    assert (shown(one, ANN, [topic]) is not None) == (topic == "jobs")


def test_the_setting_that_an_event_is_about_has_the_fields_that_say_whose_it_is():
    whole = ModeSetting(scope="user_project", user="bob", project="p", set_by="ann")
    seen = []

    class Listing:
        def visible(self, _reader, setting):
            seen.append(setting)
            return True

    one = mode("user_project", scope_user="bob", scope_id="p")
    assert LiveEvents(Listing()).shown(one, ANN, frozenset(["modes"]))
    assert msgspec.structs.asdict(seen[0]) == msgspec.structs.asdict(whole)
