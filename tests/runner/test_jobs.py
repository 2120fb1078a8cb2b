"""One job after the other, over real pipes and real HTTP: messages, ends, and remains."""

import asyncio
import json
import os
import subprocess
import time

import pytest

from baton.runner.worktrees import worktrees
from tests.runner.conftest import ended, happens
from tests.support.processes import children, is_gone
from tests.support.samples import one_in

pytestmark = pytest.mark.slow("starts runners of its own")

SAID = "\n".join(["say x\nsleep 0.6"] * 5)


async def test_a_job_s_events_are_in_order_and_end_with_its_cost(server, running):
    job = server.give("count 300\nsay the end")
    async with running():
        finish = await ended(server, job)
    assert "".join(server.texts(job)) == finish["output"] == "".join(f"{n} " for n in range(300)) + "the end"
    assert finish["state"] == "completed"
    assert finish["usage"] == {"input_tokens": 6, "cached_tokens": 1, "output_tokens": 3, "cost_usd": 0.25}
    first = server.events[job][1]
    assert (first["type"], first["body"]) == ("agent.session", {"id": "session-of-shop"})
    assert server.polls[0]["wait_s"] == 0, "whoever starts a runner sees at once that the server answers"


@pytest.mark.parametrize(
    ("more", "lease", "order", "said"),
    one_in(
        3,
        [
            ({}, {"model": "cheap"}, "model", "cheap"),
            ({"mode": "careful"}, {}, "mode", "careful"),
            ({}, {"thinking_budget": 4000}, "env MAX_THINKING_TOKENS", "4000"),
            ({"max_thinking_tokens": 1000}, {"thinking_budget": 4000}, "env MAX_THINKING_TOKENS", "1000"),
            ({"env": {"SPECIAL": "yes"}}, {}, "env SPECIAL", "yes"),
            ({}, {}, "env BATON_JOB", "{job}"),
            ({}, {"agent_session": "earlier"}, "past", "remembered"),
            ({}, {"workspace": ""}, "say here", "here"),
            ({}, {"system_prompt": "say first"}, "say second", "firstsecond"),
            ({}, {}, "terminal", "null"),
        ],
        "starts an agent",
    ),
)
async def test_an_agent_gets_the_lease_s_and_the_file_s_settings(server, running, more, lease, order, said):
    job = server.give(order, **lease)
    async with running(provider=more):
        finish = await ended(server, job)
    assert (finish["state"], finish["output"]) == ("completed", said.format(job=job))


@pytest.mark.matrix(3)
@pytest.mark.parametrize(
    ("more", "lease", "code", "word"),
    [
        ({}, {"provider": "gemini"}, "unknown_provider", "gemini"),
        ({}, {"workspace": "other"}, "unknown_workspace", "other"),
        ({}, {"model": "dear"}, "model_not_offered", "`plain`, `cheap`"),
        ({"models": ["cheap"]}, {"model": "plain"}, "model_not_allowed", "`cheap`"),
        ({"command": ["no-such-agent"]}, {}, "agent_died", "no-such-agent"),
        ({}, {"prompt": "say half\ndie"}, "agent_died", "it broke"),
        ({}, {"prompt": "sleep 20", "timeout_s": 0.5}, "timeout", "0.5 s"),
        ({}, {"prompt": "say x\nsleep 20", "inactivity_timeout_s": 1}, "inactive", "no output for 1 s"),
    ],
)
async def test_an_impossible_job_fails_with_a_code_and_text(server, running, more, lease, code, word):
    job = server.give(**{"prompt": "say x"} | lease)
    async with running(provider=more):
        finish = await ended(server, job)
    assert finish["state"] == "failed"
    assert finish["error"]["code"] == code
    assert word in finish["error"]["detail"]


@pytest.mark.slow("waits longer than an agent may say nothing")
async def test_an_agent_that_shows_something_or_waits_for_a_person_is_not_inactive(server, running):
    job = server.give(
        f"{SAID}\nask {json.dumps({'kind': 'edit', 'title': 't', 'rawInput': {}})}\n{SAID}", inactivity_timeout_s=2
    )
    async with running():
        await happens(lambda: server.asked)
        await asyncio.sleep(3)  # nobody answers for longer than that
        server.command(job, "permission", permission="p1", answer="allow", by="user")
        finish = await ended(server, job)
    assert (finish["state"], finish["output"].count("x")) == ("completed", 10)


@pytest.mark.slow("sleeps for seconds")
async def test_a_machine_asleep_makes_no_agent_late(server, running, monkeypatch, tmp_path):
    monkeypatch.setattr("baton.runner.job.SLEPT_S", 1.0)
    go_on = tmp_path / "go-on"
    job = server.give(f"say begun\nawait {go_on}", inactivity_timeout_s=4, timeout_s=6)
    async with running():
        await happens(lambda: server.texts(job))
        await asyncio.sleep(1)
        time.sleep(8)  # noqa: ASYNC251 - the runner stands still, as when the machine sleeps
        await asyncio.sleep(1)
        go_on.touch()
        finish = await ended(server, job)
    assert finish["state"] == "completed"


async def test_a_long_text_is_split_and_none_of_it_lost(server, running):
    job = server.give("big 400000")
    async with running():
        finish = await ended(server, job)
    assert finish["output"] == "".join(server.texts(job)) == "x" * 400_000
    assert max(len(json.dumps(event)) for event in server.events[job].values()) < 150_000


async def test_a_cancel_is_carried_out_and_reported(server, running):
    job = server.give("ignore\ncost 0.5\nsay begun\nsleep 60")
    async with running():
        await happens(lambda: server.texts(job))
        server.command(job, "cancel")
        finish = await ended(server, job)
        await happens(lambda: not server.commands)
    assert (finish["state"], finish["output"], finish["usage"]) == ("cancelled", "begun", {"cost_usd": 0.5})


@pytest.mark.parametrize("end", one_in(2, ["cancel", "die", "lost", "timeout"], "starts an agent"))
async def test_nothing_of_an_agent_is_left_however_it_ends(server, running, tmp_path, end):
    own, child = tmp_path / "own", tmp_path / "child"
    orders = f"pid {own}\nignore\nchild {child}\nsay begun\n" + ("die" if end == "die" else "sleep 60")
    job = server.give(orders, timeout_s=1 if end == "timeout" else 300)
    async with running():
        if end != "timeout":  # which a slow machine may reach before the agent says anything
            await happens(lambda: server.texts(job))
        if end == "cancel":
            server.command(job, "cancel")
        elif end == "lost":
            server.lost.append(job)
        await ended(server, job)
        for file in (own, child):
            pid = file.read_text() if file.exists() else ""  # it may have ended between opening and writing it
            assert not pid or is_gone(int(pid))
        assert children(os.getpid(), called="supervisor.py") == []


async def test_a_zombie_learns_that_its_job_is_anothers_and_kills_its_agent(server, running, tmp_path):
    pid, go_on = tmp_path / "pid", tmp_path / "go-on"
    job = server.give(f"pid {pid}\nsay begun\nawait {go_on}\nsay more\nsleep 60")
    async with running():
        await happens(lambda: server.texts(job))
        server.take_away(job)
        go_on.touch()
        await happens(lambda: is_gone(int(pid.read_text())))
        await happens(lambda: server.late)
        assert server.late[0]["output"].startswith("begun")
    assert server.texts(job) == ["begun"]
    assert not list((tmp_path / "home" / "spool").iterdir())


@pytest.mark.parametrize(
    ("policy", "command", "said"),
    [
        ("allow", None, "allow_once"),
        ("deny", None, "reject_once"),
        ("pending", "allow", "allow_once"),
        ("pending", "deny", "reject_once"),
    ],
)
async def test_a_permission_is_the_policys_or_the_persons(server, running, policy, command, said):
    server.policy = lambda _request: {"answer": policy}
    call = {"kind": "execute", "title": "git push", "rawInput": {"command": "git push"}}
    job = server.give(f"ask {json.dumps(call)}")
    async with running():
        await happens(lambda: server.asked)
        if command:
            server.command(job, "permission", permission="p1", answer=command)
        finish = await ended(server, job)
    assert finish["output"] == said
    asked = server.asked[0]
    assert (asked["tool_name"], asked["tool_input"], asked["title"]) == ("Write", {"command": "git push"}, "git push")


async def test_a_cancel_while_a_person_is_asked_ends_the_job(server, running):
    job = server.give('ask {"kind": "execute", "title": "x"}\nsleep 60')
    async with running():
        await happens(lambda: server.asked)
        server.command(job, "cancel")
        finish = await ended(server, job)
    assert finish["state"] == "cancelled"


@pytest.mark.parametrize(
    "place",
    one_in(
        2, ["/etc/passwd", "../outside.txt", "link/outside.txt", "~/x", "a.txt/../../outside.txt"], "starts an agent"
    ),
)
async def test_outside_paths_are_refused_without_a_question(server, running, shop, tmp_path, place):
    (shop / "link").symlink_to(tmp_path)
    (tmp_path / "outside.txt").write_text("secret")
    server.policy = lambda _request: {"answer": "allow"}
    call = json.dumps({"kind": "edit", "title": "w", "rawInput": {"file_path": place}, "locations": [{"path": place}]})
    job = server.give(f"read {place}\nwrite {place}\nask {call}\nread {shop}/a.txt\nwrite {shop}/new/b.txt")
    async with running():
        finish = await ended(server, job)
    assert server.texts(job)[:3] == ["error -32602", "error -32602", "reject_once"]
    assert json.loads(server.texts(job)[3]) == {"content": "one\n"}
    assert (shop / "new" / "b.txt").read_text() == "written"
    assert (tmp_path / "outside.txt").read_text() == "secret"
    assert not server.asked
    assert finish["state"] == "completed"


@pytest.mark.matrix(2)
@pytest.mark.parametrize("kind", ["read", "edit", "delete", "move"])
async def test_a_request_with_one_outside_location_is_refused(server, running, kind):
    server.policy = lambda _request: {"answer": "allow"}
    inside, outside = {"path": "a.txt"}, {"path": "../outside.txt"}
    refused = json.dumps({"kind": kind, "title": "w", "locations": [inside, outside]})
    allowed = json.dumps({"kind": kind, "title": "w", "locations": [inside]})
    job = server.give(f"ask {refused}\nask {allowed}")
    async with running():
        await ended(server, job)
    assert server.texts(job) == ["reject_once", "allow_once"]


async def test_a_worktree_job_reports_its_changes_and_keeps_the_workspace(server, running, repository):
    job = server.give("read a.txt\nwrite a.txt\nwrite b.txt\nread ../../a.txt", isolation="worktree")
    async with running():
        finish = await ended(server, job)
    said = server.texts(job)
    assert json.loads(said[0]) == {"content": "one\n"}
    assert said[3] == "error -32602"
    assert (repository / "a.txt").read_text() == "one\n"
    assert not (repository / "b.txt").exists()
    (told,) = [one["body"] for one in server.events[job].values() if one["type"] == "workspace.diff"]
    assert "-one\n+written" in told["diff"]
    assert "b.txt" in told["diff"]
    assert not told["truncated"]
    assert finish["state"] == "completed"


async def test_followers_see_uncommitted_changes(server, running, repository):
    (repository / "a.txt").write_text("mine\n")
    job = server.give("read a.txt", isolation="worktree")
    async with running():
        await ended(server, job)
    first = server.events[job][1]["body"]["update"]
    assert first["title"].startswith("the workspace has 1 changed and 0 new files")
    assert json.loads(server.texts(job)[0]) == {"content": "mine\n"}


async def test_a_cut_diff_is_marked(server, running, repository, monkeypatch):
    monkeypatch.setattr(worktrees, "LARGEST_DIFF", 20)
    job = server.give("write a.txt", isolation="worktree")
    async with running():
        await ended(server, job)
    (told,) = [one["body"] for one in server.events[job].values() if one["type"] == "workspace.diff"]
    assert (len(told["diff"]), told["truncated"]) == (20, True)


async def test_a_worktree_removed_during_the_job_is_reported(server, running, repository, tmp_path):
    go_on = tmp_path / "go-on"
    job = server.give(f"write a.txt\nawait {go_on}\nsay done", isolation="worktree")

    def others():
        listed = subprocess.run(
            ["git", "worktree", "list", "--porcelain"], cwd=repository, capture_output=True, check=True
        )
        return [one.partition(" ")[2] for one in listed.stdout.decode().splitlines() if one.startswith("worktree ")][1:]

    def remove():
        subprocess.run(["git", "worktree", "remove", "--force", others()[0]], cwd=repository, check=True)

    async with running():
        await happens(lambda: server.texts(job))
        remove()
        go_on.touch()
        finish = await ended(server, job)
    assert (finish["state"], finish["error"]["code"]) == ("failed", "worktree_removed")
    assert "was removed while it ran" in finish["error"]["detail"]
    assert finish["output"].endswith("done")
    assert not [one for one in server.events[job].values() if one["type"] == "workspace.diff"]


async def test_a_workspace_without_a_commit_has_no_worktree(server, running):
    job = server.give("say x", isolation="worktree")
    async with running():
        finish = await ended(server, job)
    assert finish["error"]["code"] == "no_worktree"


@pytest.mark.slow("starts many agents")
async def test_slots_bound_how_many_run_at_once(server, running, tmp_path):
    go_on = tmp_path / "go-on"
    jobs = [server.give(f"await {go_on}") for _ in range(5)]
    async with running():
        await happens(lambda: server.polls and server.polls[-1]["slots"] == 0)
        go_on.touch()
        for job in jobs:
            await ended(server, job)
    assert max(len(poll["active"]) for poll in server.polls) == 2
    assert min(poll["slots"] for poll in server.polls) == 0


async def test_drain_finishes_jobs_and_leases_no_other(server, running, tmp_path):
    go_on = tmp_path / "go-on"
    first = server.give(f"say begun\nawait {go_on}\nsay the end")
    async with running() as runner:
        await happens(lambda: server.texts(first))
        runner.drain()
        await happens(lambda: server.polls[-1]["slots"] == 0)
        second, polls = server.give("say never"), len(server.polls)
        await happens(lambda: len(server.polls) > polls + 1)
        go_on.touch()
        await ended(server, first)
    assert server.finished[first]["output"] == "begunthe end"
    assert {poll["slots"] for poll in server.polls[polls:]} == {0}
    assert second not in server.events
    assert server.polls[-1]["active"] == []


async def test_drain_cancels_remaining_jobs(server, running):
    job = server.give("say begun\nsleep 60")
    async with running(hurry=False, drain_s=0.3):
        await happens(lambda: server.texts(job))
    assert server.finished[job]["state"] == "cancelled"
    assert server.finished[job]["error"]["code"] == "runner_stopped"


async def test_the_terminal_shows_each_job_without_control_characters(server, running):
    job = server.give("die", provider="\x1b[2Jgemini")
    async with running() as runner:
        await ended(server, job)
        await happens(lambda: "failed" in runner.told.getvalue())
    assert "\x1b" not in runner.told.getvalue()
    assert "serves" in runner.told.getvalue()


async def test_heartbeats_continue_while_jobs_start(server, running, tmp_path):
    slow = tmp_path / "slow-agent"
    slow.write_text("#!/bin/sh\nexec sleep 60\n")
    slow.chmod(0o755)
    server.give("say x")
    async with running(provider={"command": [str(slow)]}):
        await happens(lambda: server.polls and server.polls[-1]["active"])
        before = len(server.polls)
        await happens(lambda: len(server.polls) > before + 1)
        assert not server.finished
