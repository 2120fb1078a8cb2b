"""`baton delegate` and `baton jobs` against a real server, with a runner scripted by the test."""

import asyncio
import itertools
import json
import threading

import pytest
import typer

from baton.cli.jobs import result
from baton.cli.jobs.result import state_folder
from baton.delegate.jobs.arguments import ARGUMENTS
from baton.local.server import ApiError
from baton.runner.worktrees.worktrees import Worktrees
from tests.delegate.jobs.test_api import POLL, tell
from tests.runner.conftest import git
from tests.support.server import until

_boots = itertools.count()


def job_of(told):
    return next(word for word in told.split() if word.startswith("job_")).strip(".,")


def lease(http):
    (found,) = http.post("/runners/r/poll", json=POLL | {"boot_id": f"b{next(_boots)}"}).json()["jobs"]
    return found["job"], {"attempt": found["attempt"], "token": found["token"]}


def test_a_task_is_delegated_listed_shown_and_read(baton, alice):
    told = baton("delegate", "list files", "--description", "look", "--session", "c1")
    assert told.startswith("✓ Delegated to codex. Task: list files\n")
    job = job_of(told)
    assert f"{job}  queued" in baton("jobs", "list", "--session", "c1")
    leased, proof = lease(alice)
    assert leased == job
    tell(alice, job, proof, "two\u2028files", state="completed", usage={"input_tokens": 7, "output_tokens": 8})
    shown = baton("jobs", "show", job)
    assert "completed" in shown
    assert "7 tokens in, 8 out" in shown
    assert baton("jobs", "output", job) == "two\\u2028files\n"
    assert baton("jobs", "list", "--state", "queued", "--session", "c1") == "No jobs.\n"
    assert json.loads(baton("jobs", "list", "--session", "c1", "--json"))[0]["title"] == "look"
    assert baton("jobs", "show", job, "--follow") == (
        "✓ Delegated to codex. Task: list files\n┌ → Codex\n│ two\\u2028files\n└\ncompleted\n"
    )


def test_delegate_prints_why_the_job_waits(typed, server):
    def baton(*words, **more):
        return typed(*words, BATON_USER="walter", **more)

    said = baton("delegate", "x", "--provider", "opencode", "--queue-expiry", "2h")
    job = job_of(said)
    hint = "no runner for opencode is connected, and no suitable runner is known; start one with `baton runner run`"
    assert hint in said
    since = json.loads(baton("jobs", "show", job, "--json"))["queued_at"]
    assert f"waiting since {since[:19].replace('T', ' ')}: {hint}" in baton("jobs", "show", job)
    assert "; it fails at " in baton("jobs", "show", job)
    assert hint in baton("jobs", "list")
    with server.client(**{"Baton-User": "walter"}) as http:
        http.post("/runners/o/poll", json=POLL | {"boot_id": "o", "slots": 0, "providers": ["opencode"]})
    assert "`o` was last seen at" in baton("delegate", "x", "--provider", "opencode")
    refused = baton("delegate", "x", "--provider", "gemini", refused=True)
    assert "`provider` is `gemini`, not served by your runners (`o`: opencode in shop); allowed: `opencode`" in refused


def test_the_arguments_of_a_job_are_options_of_the_same_names(baton):
    given = ("--workspace", "shop", "--isolation", "worktree", "--model", "gpt-5", "--timeout", "90s")
    more = ("--inactivity-timeout", "0", "--thread", "fresh", "--concurrent", "--queue-expiry", "2d")
    job = json.loads(baton("delegate", "x", *given, *more, "--ask", "--json"))["job"]
    assert {name: job[name] for name in ARGUMENTS} == {
        "workspace": "shop", "isolation": "worktree", "model": "gpt-5", "timeout_s": 90, "inactivity_timeout_s": 0,
        "thread": "fresh", "concurrent": True, "queue_expiry_s": 172_800,
    }  # fmt: skip
    for words, said in (
        (("--timeout", "1500ms"), "`--timeout` is whole seconds"),
        (("--worktree", "--isolation", "in_place"), "contradict each other"),
        (("--isolation", "docker"), "`isolation`"),
        (("--thread", "job_0"), "`thread` is `job_0`, not one of your jobs"),
    ):
        assert said in baton("delegate", "x", *words, refused=True)


def test_errors_have_the_server_s_text(baton):
    assert "did you mean `claude_code`" in baton("delegate", "x", "--provider", "claude", refused=True)
    assert "there is no job `job_0`" in baton("jobs", "cancel", "job_0", refused=True)


def test_a_job_is_approved_answered_cancelled_and_tried_again(baton, alice, user):
    job = job_of(baton("delegate", "make", "--ask", "--key", "k1"))
    assert job_of(baton("delegate", "make", "--ask", "--key", "k1")) == job
    assert baton("jobs", "approve", job).startswith(f"Job {job} is queued: no runner for codex is connected")
    _, proof = lease(alice)
    assert baton("approvals") == "Nothing waits for you.\n"
    request = {"request": {"tool_name": "Bash", "tool_input": {"command": "make"}, "title": "run make"}}
    asked = alice.post(f"/runners/r/jobs/{job}/permissions", json=proof | request).json()["permission"]
    assert f"{asked}  {user}, job {job}: Bash make" in baton("approvals")
    assert baton("deny", asked, "--reason", "no") == f"{asked} is denied.\n"
    assert baton("approvals") == "Nothing waits for you.\n"
    assert "there is no approval request `perm_none`" in baton("approve", "perm_none", refused=True)
    assert baton("jobs", "cancel", job) == f"Job {job} is running, to be cancelled.\n"
    tell(alice, job, proof, state="cancelled")
    assert baton("jobs", "retry", job) == f"Job {job} is queued.\n"
    assert baton("jobs", "cancel", job) == f"Job {job} is cancelled.\n"


CHANGE = {
    "changed": 2,
    "files": [
        {"path": "a\\nb.py", "change": "added", "added": 3, "deleted": 0, "mode": "100755"},
        {"path": "logo.png", "change": "modified", "added": None, "deleted": None, "mode": "100644"},
    ],
    "diff": "+x\x1b[2J\n",
    "truncated": False,
    "notes": [],
}
LISTED = """2 changed files:
  added     a\\nb.py  +3 -0 (executable)
  modified  logo.png  binary
"""


def test_a_job_s_changes_are_shown_anywhere_and_applied_on_its_machine(baton, alice):
    job = job_of(baton("delegate", "make", "--worktree"))
    assert f"Job {job} is queued and has no changes" in baton("jobs", "diff", job)
    _, proof = lease(alice)
    events = [{"seq": 1, "type": "workspace.diff", "body": CHANGE}]
    alice.post(f"/runners/r/jobs/{job}/events", json=proof | {"events": events, "finish": {"state": "completed"}})
    assert alice.get(f"/jobs/{job}/diff").json()["files"][1] == {
        "path": "logo.png",
        "change": "modified",
        "mode": "100644",
    }
    assert baton("jobs", "diff", job) == f"{LISTED}+x\\u001b[2J\n\n"
    assert baton("jobs", "diff", job, "--stat") == LISTED
    assert f"{LISTED}  baton jobs diff {job}" in baton("jobs", "show", job, "--follow")
    for words in (("apply", job), ("branch", job, "b"), ("discard", job), ("pr", job)):
        assert f"this machine has no result of `{job}`" in baton("jobs", *words, refused=True)


def test_a_result_elsewhere_is_used_by_its_runner(baton, alice):
    job = job_of(baton("delegate", "make", "--worktree"))
    _, proof = lease(alice)
    alice.post(f"/runners/r/jobs/{job}/events", json=proof | {"finish": {"state": "completed"}})
    outcomes = [
        {"state": "done", "detail": "applied 1 changed file to `/shop`", "changed": 1},
        {"state": "refused", "code": "conflict", "detail": "nothing was written", "reasons": ["a.txt: no\x1b[2J"]},
        {"state": "done", "detail": "opened https://forge/7", "url": "https://forge/7"},
    ]
    asked = []

    def commands():
        polled = alice.post("/runners/r/poll", json=POLL | {"slots": 0}).json()
        return [one for one in polled["commands"] if one["job"] == job]

    def run():
        for outcome in outcomes:
            (command,) = until(commands)
            asked.append(command["body"])
            action = command["id"]
            alice.post("/runners/r/poll", json=POLL | {"slots": 0, "acked_commands": [action]})
            assert alice.post(f"/runners/r/jobs/{job}/actions/{action}", json=outcome).status_code == 204

    runner = threading.Thread(target=run)
    runner.start()
    try:
        assert baton("jobs", "apply", job, "--there") == "Applied 1 changed file to `/shop`.\n"
        refused = baton("jobs", "apply", job, "--there", refused=True)
        assert "nothing was written (conflict)\n  a.txt: no\\u001b[2J\n" in refused
        assert json.loads(baton("jobs", "pr", job, "--there", "--draft", "--json"))["url"] == "https://forge/7"
    finally:
        runner.join(60)
    assert asked[2] | {"by_agent": False} == {
        "verb": "pr", "by_agent": False, "branch": "", "title": "make", "body": "", "target": "", "draft": True,
    }  # fmt: skip
    assert [one["state"] for one in alice.get(f"/jobs/{job}/actions").json()["items"]] == ["done", "refused", "done"]


def test_a_reply_and_a_comment_go_on_with_a_job(baton, alice):
    job = job_of(baton("delegate", "make", "--session", "reply"))
    _, proof = lease(alice)
    events = [{"seq": 1, "type": "agent.session", "body": {"id": "t1"}}]
    alice.post(f"/runners/r/jobs/{job}/events", json=proof | {"events": events, "finish": {"state": "completed"}})
    told = baton("jobs", "reply", job, "and test it", "--comment", "b.py:3 why? because", "--comment", "c.py:4: x")
    assert "continues the thread of " + job in told
    new = job_of(told)
    comments = "Comments on your changes:\n- b.py:3: why? because\n- c.py:4: x"
    assert alice.get(f"/jobs/{new}").json()["prompt"] == f"and test it\n\n{comments}"
    assert "is `queued`; reply when it has ended" in baton("jobs", "reply", job, "again", refused=True)
    baton("jobs", "cancel", new)
    told = json.loads(baton("jobs", "comment", job, "src/a.py:12", "why?", "--json"))
    assert told["job"]["prompt"] == "Comments on your changes:\n- src/a.py:12: why?"
    baton("jobs", "cancel", told["job"]["id"])
    told = json.loads(baton("jobs", "reply", job, "why?", "--at", "a.py:1", "--json"))
    assert told["job"]["prompt"] == "Comments on your changes:\n- a.py:1: why?"
    baton("jobs", "cancel", told["job"]["id"])
    for words in (("comment", job, "a.py", "x"), ("comment", job, "a.py:x", "x"), ("reply", job, "--at", "a.py:1")):
        assert (
            "requires a message" in (said := baton("jobs", *words, refused=True)) or "is not a file and a line" in said
        )
    assert "`message` is blank" in baton("jobs", "reply", job, " ", refused=True)


def test_a_change_in_another_runner_s_words_still_shows_its_difference(baton, alice):
    job = job_of(baton("delegate", "make", "--worktree"))
    _, proof = lease(alice)
    body = {"diff": "+x\n", "truncated": "no", "files": ["a.py"], "changed": True}
    events = [{"seq": 1, "type": "workspace.diff", "body": body}]
    alice.post(f"/runners/r/jobs/{job}/events", json=proof | {"events": events, "finish": {"state": "completed"}})
    assert alice.get(f"/jobs/{job}/diff").json()["diff"] == "+x\n"
    assert baton("jobs", "show", job, "--follow").endswith("completed\n")


def test_a_result_is_applied_once_and_a_conflict_changes_no_file(person, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    shop = tmp_path / "repository"
    shop.mkdir()
    (shop / "a.txt").write_text("one\n")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        git(shop, *words)

    async def work(attempt, text):
        trees = Worktrees(state_folder() / "worktrees", keep=5, days=7)
        tree = await trees.make(shop, f"job_1.{attempt}")
        (tree.folder / "a.txt").write_text(text)
        await trees.collect(tree, "job_1", attempt)

    asyncio.run(work(1, "first\n"))
    asyncio.run(work(2, "two\n"))
    result.diff("job_1", attempt=1)
    shown = capsys.readouterr().out
    assert "modified  a.txt  +1 -1" in shown
    assert "-one\n+first" in shown
    (shop / "a.txt").write_text("mine\n")
    with pytest.raises(typer.Exit):
        result.apply("job_1")
    shown = capsys.readouterr().err
    assert "nothing was written to" in shown
    assert "a.txt: patch does not apply" in shown
    assert (shop / "a.txt").read_text() == "mine\n"
    (shop / "a.txt").write_text("one\n")
    result.apply("job_1")
    assert (shop / "a.txt").read_text() == "two\n"
    result.branch("job_1", "theirs")
    assert "two" in git(shop, "show", "theirs:a.txt")
    result.branch("job_1", "earlier", attempt=1)
    assert "first" in git(shop, "show", "earlier:a.txt")
    result.discard("job_1")
    with pytest.raises(ApiError, match="no result"):
        result.apply("job_1")
    assert "refs/baton" not in git(shop, "for-each-ref")
