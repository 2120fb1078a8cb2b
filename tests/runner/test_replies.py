"""A job continuing another's thread: in the same worktree, with the agent's session or a summary of it."""

import json

import pytest

from baton.runner.worktrees import results
from baton.runner.worktrees.results import ApplyRefused, Results
from baton.runner.worktrees.worktrees import Worktrees
from tests.runner.conftest import ended, git

pytestmark = pytest.mark.slow("runs git some hundred times")


@pytest.fixture
def trees(tmp_path):
    return Worktrees(tmp_path / "home" / "trees", keep=5, days=1)


@pytest.fixture
def records(tmp_path):
    return Results(tmp_path / "home" / "results")


async def worked(trees, tree, job, text):
    (tree.folder / "a.txt").write_text(text)
    change = await trees.collect(tree, job, 1)
    await trees.done(tree)
    return change


async def test_a_reply_s_result_is_all_that_its_thread_changed(trees, records, repository):
    first = await trees.make(repository, "job_1.1")
    (first.folder / "kept").mkdir()
    (first.folder / "kept" / "ignored.txt").write_text("x")
    one = await worked(trees, first, "job_1", "two\n")
    second = await trees.take_up(repository, "job_2.1", "job_1")
    assert (second.top, second.is_new, second.base, second.since) == (first.top, False, first.base, one.result.commit)
    assert (second.folder / "kept" / "ignored.txt").exists()
    two = await worked(trees, second, "job_2", "three\n")
    assert "-one\n+three" in two.diff
    await results.discard(records.get("job_1"))
    records.remove(records.get("job_1"))
    assert second.top.exists(), "it is the later job's by now"
    await results.apply(two.result)
    assert (repository / "a.txt").read_text() == "three\n"


async def test_a_worktree_that_is_gone_is_made_again_in_its_place_with_its_files(trees, repository, tmp_path):
    first = await trees.make(repository, "job_1.1")
    await worked(trees, first, "job_1", "two\n")
    await Worktrees(tmp_path / "home" / "trees", keep=0, days=1).tidy()
    assert not first.top.exists()
    again = await trees.take_up(repository, "job_2.1", "job_1")
    assert (again.top, again.is_new) == (first.top, True)
    assert (again.folder / "a.txt").read_text() == "two\n"
    assert "made again" in again.note
    await Worktrees(tmp_path / "home" / "trees", keep=5, days=1).tidy()
    change = await worked(trees, again, "job_2", "three\n")
    assert "-one\n+three" in change.diff


async def test_a_fork_of_a_thread_has_a_worktree_of_its_own(trees, repository):
    first = await trees.make(repository, "job_1.1")
    await worked(trees, first, "job_1", "two\n")
    second = await trees.take_up(repository, "job_2.1", "job_1")
    (second.folder / "a.txt").write_text("three\n")
    fork = await trees.take_up(repository, "job_3.1", "job_1")
    assert fork.top != second.top
    assert (fork.folder / "a.txt").read_text() == "two\n"


async def test_applied_changes_of_a_thread_are_not_applied_twice(trees, repository):
    one = await worked(trees, await trees.make(repository, "job_1.1"), "job_1", "two\n")
    second = await trees.take_up(repository, "job_2.1", "job_1")
    (second.folder / "b.txt").write_text("new\n")
    two = await worked(trees, second, "job_2", "three\n")
    await results.apply(one.result)
    assert [file.path for file in await results.apply(two.result)] == ["a.txt", "b.txt"]
    assert (repository / "a.txt").read_text() == "three\n"
    with pytest.raises(ApplyRefused) as refused:
        await results.apply(two.result)
    assert refused.value.code == "applied_already"


async def test_a_part_of_a_thread_is_never_applied_alone(trees, repository):
    await worked(trees, await trees.make(repository, "job_1.1"), "job_1", "two\n")
    second = await trees.take_up(repository, "job_2.1", "job_1")
    (second.folder / "b.txt").write_text("new\n")
    two = await trees.collect(second, "job_2", 1)
    (repository / "a.txt").write_text("my own\n")
    with pytest.raises(ApplyRefused) as refused:
        await results.apply(two.result)
    assert refused.value.code == "conflict"
    assert not (repository / "b.txt").exists()


async def test_the_runner_continues_a_thread_in_its_worktree(server, running, repository, tmp_path):
    (repository / ".env").write_text("KEY")
    shop = {"folder": str(repository), "copy": [".env"], "setup": f"echo x >> {tmp_path}/setups"}
    first = server.give("write b.txt", isolation="worktree")
    async with running(workspaces={"shop": shop}):
        await ended(server, first)
        second = server.give(
            "past\nread b.txt\nread .env\nwrite c.txt",
            isolation="worktree", thread=first, agent_session="earlier", recap="never used",
        )  # fmt: skip
        finish = await ended(server, second)
    assert server.texts(second)[:3] == ["remembered", '{"content": "written"}', '{"content": "KEY"}']
    assert "never used" not in finish["output"]
    (change,) = [one["body"] for one in server.events[second].values() if one["type"] == "workspace.diff"]
    assert [file["path"] for file in change["files"]] == ["b.txt", "c.txt"]
    assert (tmp_path / "setups").read_text() == "x\n", "the worktree was prepared once"
    assert git(repository, "worktree", "list").count("\n") == 2


@pytest.mark.parametrize("forgets", [True, False])
async def test_an_agent_without_its_thread_gets_a_summary(server, running, forgets):
    job = server.give("say go on", thread="job_0", agent_session="earlier", recap="say before")
    async with running(provider={"env": {"FORGETS": "1"} if forgets else {}}):
        await ended(server, job)
    # The small agent obeys each line of its prompt.
    assert server.texts(job) == (["before", "go on"] if forgets else ["go on"])
    events = [event["body"].get("update", {}).get("title", "") for event in server.events[job].values()]
    assert any("gets a summary" in str(title) for title in events) == forgets


async def test_a_thread_with_discarded_changes_restarts_at_the_last_commit(server, running, repository):
    job = server.give("read a.txt", isolation="worktree", thread="job_0")
    async with running():
        await ended(server, job)
    assert json.loads(server.texts(job)[0]) == {"content": "one\n"}
    assert "discarded" in server.events[job][1]["body"]["update"]["title"]
