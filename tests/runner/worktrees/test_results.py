"""A job's result: stored as a commit, applied as a whole or not at all, without running anything."""

import os

import pytest

from baton.runner.worktrees import results
from baton.runner.worktrees.git import GitError
from baton.runner.worktrees.result_actions import RequestedAction, perform
from baton.runner.worktrees.results import ApplyRefused, NoResult, Results, leads_out
from baton.runner.worktrees.worktrees import NoWorktree, Worktrees
from tests.runner.conftest import git
from tests.support.cases import every


@pytest.fixture
def worked(repository, tmp_path):
    """Return a function that lets an agent work in a worktree, and collects what it changed."""

    async def work(agent):
        trees = Worktrees(tmp_path / "home" / "trees", keep=5, days=1)
        tree = await trees.make(repository, "job_1.1")
        agent(tree.folder)
        return await trees.collect(tree, "job_1", 1)

    return work


def write(files):
    def agent(folder):
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)

    return agent


async def test_a_result_is_applied_beside_uncommitted_changes(worked, repository, tmp_path):
    def agent(folder):
        write({"new\nline.txt": "new\n", "big.bin": "\0" * 300_000})(folder)
        (folder / "a.txt").write_text("two\n")
        (folder / "run").write_text("x\n")
        (folder / "run").chmod(0o755)
        (folder / "link").symlink_to("a.txt")

    result = (await worked(agent)).result
    (repository / "mine.txt").write_text("mine\n")
    assert Results(tmp_path / "home" / "results").get("job_1") == result
    await results.apply(result)
    assert (repository / "a.txt").read_text() == "two\n"
    assert (repository / "new\nline.txt").read_text() == "new\n"
    assert (repository / "big.bin").stat().st_size == 300_000
    assert os.access(repository / "run", os.X_OK)
    assert (repository / "link").readlink().name == "a.txt"
    assert (repository / "mine.txt").read_text() == "mine\n"
    assert git(repository, "log", "--oneline").count("\n") == 1
    with pytest.raises(ApplyRefused, match="already applied"):
        await results.apply(result)


async def test_a_conflict_is_shown_and_nothing_is_written(worked, repository):
    result = (await worked(write({"a.txt": "two\n", "b.txt": "new\n"}))).result
    (repository / "a.txt").write_text("my own\n")
    with pytest.raises(ApplyRefused, match=r"a\.txt"):
        await results.apply(result)
    assert (repository / "a.txt").read_text() == "my own\n"
    assert not (repository / "b.txt").exists()


async def test_a_link_of_the_working_tree_is_not_followed(worked, repository, tmp_path):
    result = (await worked(write({"folder/x": "planted\n"}))).result
    (tmp_path / "outside").mkdir()
    (repository / "folder").symlink_to(tmp_path / "outside")
    with pytest.raises(ApplyRefused, match="beyond a symbolic link"):
        await results.apply(result)
    assert not list((tmp_path / "outside").iterdir())


@every(
    ("path", "target", "out"),
    [
        ("l", "a.txt", False),
        ("x/l", "../a.txt", False),
        ("x/l", "./y//z", False),
        ("l", "/etc/passwd", True),
        ("l", "../other", True),
        ("x/l", "../../other", True),
        ("x/l", "../d/../other", True),
        ("l", ".git/hooks", True),
        ("x/l", "../.GIT/config", True),
    ],
)
def test_a_link_that_may_lead_out_is_known(path, target, out):
    assert leads_out(path, target) is out


async def test_a_result_with_hooks_repositories_or_links_out_is_not_applied(worked, repository):
    def agent(folder):
        (folder / "out").symlink_to("/etc/passwd")
        write({".hooks/pre-commit": "touch /tmp/x\n"})(folder)
        (folder / "nested").mkdir()
        git(folder / "nested", "init", "-q")
        git(folder / "nested", "commit", "-qm", "x", "--allow-empty")

    git(repository, "config", "core.hooksPath", ".hooks")
    result = (await worked(agent)).result
    with pytest.raises(ApplyRefused) as refused:
        await results.apply(result)
    assert [reason.partition(":")[0] for reason in refused.value.reasons] == [".hooks/pre-commit", "nested", "out"]
    assert sorted(path.name for path in repository.iterdir()) == [".git", "a.txt"]
    await results.branch(result, "theirs")
    assert git(repository, "rev-parse", "theirs").strip() == result.commit
    with pytest.raises(GitError, match="already exists"):
        await results.branch(result, "theirs")


async def test_nothing_that_the_agent_planted_runs(worked, repository, tmp_path):
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    trap.chmod(0o755)

    def agent(folder):
        write({"a.txt": "two\n", ".gitattributes": "* diff=trap filter=trap\n"})(folder)
        fake = tmp_path / "fake"
        git(tmp_path, "init", "-q", str(fake))
        for key in ("core.fsmonitor", "diff.trap.command", "diff.trap.textconv", "filter.trap.clean", "diff.external"):
            git(fake, "config", key, str(trap))
        (folder / ".git").write_text(f"gitdir: {fake}/.git\n")
        nested = folder / "nested"
        nested.mkdir()
        git(nested, "init", "-q")
        git(nested, "commit", "-qm", "x", "--allow-empty")
        git(nested, "config", "core.fsmonitor", str(trap))

    for hook in ("post-checkout", "post-commit", "reference-transaction", "post-index-change"):
        path = repository / ".git" / "hooks" / hook
        path.parent.mkdir(exist_ok=True)
        path.write_text(trap.read_text())
        path.chmod(0o755)
    change = await worked(agent)
    await results.difference(change.result)
    with pytest.raises(ApplyRefused):
        await results.apply(change.result)
    await results.branch(change.result, "theirs")
    assert [file.path for file in change.files] == [".gitattributes", "a.txt", "nested"]
    assert not (tmp_path / "ran").exists()


async def test_unaddable_files_are_reported_and_the_rest_is_kept(worked):
    def agent(folder):
        write({"a.txt": "two\n"})(folder)
        (folder / "empty").mkdir()
        git(folder / "empty", "init", "-q")

    change = await worked(agent)
    assert [file.path for file in change.files] == ["a.txt"]
    assert "empty" in " ".join(change.notes)


async def test_a_discarded_result_is_removed(worked, repository, tmp_path):
    result = (await worked(write({"a.txt": "two\n"}))).result
    records = Results(tmp_path / "home" / "results")
    assert result.ref in git(repository, "for-each-ref")
    await results.discard(result)
    records.remove(result)
    assert result.ref not in git(repository, "for-each-ref")
    assert git(repository, "worktree", "list").count("\n") == 1
    with pytest.raises(NoResult, match="job_1"):
        records.get("job_1")


async def test_a_result_outlives_its_worktree_for_the_days_of_worktrees(worked, repository, tmp_path):
    result = (await worked(write({"a.txt": "two\n"}))).result
    home = tmp_path / "home" / "trees"
    await Worktrees(home, keep=0, days=1).tidy()
    assert not list(home.iterdir())
    await results.apply(result)
    os.utime(tmp_path / "home" / "results" / "job_1.1.json", (1, 1))
    await Worktrees(home, keep=0, days=1).tidy()
    assert result.ref not in git(repository, "for-each-ref")
    assert not list((tmp_path / "home" / "results").iterdir())


async def test_a_worktree_starts_with_uncommitted_changes_and_its_result_applies(repository, tmp_path):
    (repository / "a.txt").write_text("one\nmine\n")
    (repository / "new.txt").write_text("new\n")
    before = git(repository, "status", "--porcelain"), git(repository, "stash", "list"), git(repository, "log")
    trees = Worktrees(tmp_path / "home" / "trees", keep=5, days=1)
    tree = await trees.make(repository, "job_1.1")
    assert (
        git(repository, "status", "--porcelain"),
        git(repository, "stash", "list"),
        git(repository, "log"),
    ) == before
    assert (tree.folder / "a.txt").read_text() == "one\nmine\n"
    assert not (tree.folder / "new.txt").exists()
    assert tree.note.startswith("the workspace has 1 changed and 1 new files")
    (tree.folder / "a.txt").write_text("one\nmine\ntheirs\n")
    change = await trees.collect(tree, "job_1", 1)
    assert [(file.path, file.added, file.deleted) for file in change.files] == [("a.txt", 1, 0)]
    await results.apply(change.result)
    assert (repository / "a.txt").read_text() == "one\nmine\ntheirs\n"


async def test_uncommitted_changes_block_a_job_if_configured(repository, tmp_path):
    trees = Worktrees(tmp_path / "home" / "trees", keep=5, days=1)
    assert (await trees.make(repository, "clean", "refuse")).note == ""
    (repository / "a.txt").write_text("mine\n")
    with pytest.raises(NoWorktree, match="1 changed and 0 new files"):
        await trees.make(repository, "job_1.1", "refuse")
    assert not (tmp_path / "home" / "trees" / "job_1.1").exists()


async def attempts(repository, tmp_path, *texts):
    trees, made = Worktrees(tmp_path / "home" / "trees", keep=5, days=1), []
    for number, text in enumerate(texts, 1):
        tree = await trees.make(repository, f"job_1.{number}")
        write({"a.txt": text})(tree.folder)
        made.append(tree)
    # The first attempt may end last: it was out of touch, and another one had begun.
    changes = [await trees.collect(tree, "job_1", number) for number, tree in reversed([*enumerate(made, 1)])]
    for tree in made:
        await trees.done(tree)
    return [change.result for change in reversed(changes)]


async def test_each_attempt_has_a_result_and_all_are_removed_in_time(repository, tmp_path):
    one, two = await attempts(repository, tmp_path, "two\n", "three\n")
    records = Results(tmp_path / "home" / "results")
    assert (records.get("job_1"), records.get("job_1", 1)) == (two, one)
    with pytest.raises(NoResult, match="attempt 3 of `job_1`"):
        records.get("job_1", 3)
    for name in ("job_1.1.json", "job_1.2.json"):
        os.utime(tmp_path / "home" / "results" / name, (1, 1))
    await Worktrees(tmp_path / "home" / "trees", keep=5, days=1).tidy()
    assert "refs/baton" not in git(repository, "for-each-ref")
    assert git(repository, "worktree", "list").count("\n") == 1
    assert records.of_job("job_1") == []


async def test_old_results_go_without_any_worktree_and_stay_until_git_can_remove_them(worked, repository, tmp_path):
    result = (await worked(write({"a.txt": "two\n"}))).result
    trees, record = tmp_path / "home" / "trees", tmp_path / "home" / "results" / "job_1.1.json"
    await Worktrees(trees, keep=0, days=1).tidy()
    trees.rmdir()
    os.utime(record, (1, 1))
    lock = repository / ".git" / f"{result.ref}.lock"
    lock.touch()
    await Worktrees(trees, keep=0, days=1).tidy()
    assert record.exists(), "its commit is still there, and nothing else would name it"
    lock.unlink()
    await Worktrees(trees, keep=0, days=1).tidy()
    assert not record.exists()
    assert result.ref not in git(repository, "for-each-ref")


async def test_a_result_of_a_removed_repository_is_dropped(worked, repository, tmp_path):
    await worked(write({"a.txt": "two\n"}))
    record = tmp_path / "home" / "results" / "job_1.1.json"
    repository.rename(tmp_path / "moved")
    os.utime(record, (1, 1))
    await Worktrees(tmp_path / "home" / "trees", keep=5, days=1).tidy()
    assert not record.exists()


@pytest.mark.parametrize("planted", ["another", "none", "folder"])
async def test_a_worktree_with_a_replaced_git_file_leaves_no_entry(worked, repository, tmp_path, planted):
    def agent(folder):
        write({"a.txt": "two\n"})(folder)
        (folder / ".git").unlink()
        if planted == "another":
            git(tmp_path, "init", "-q", "fake")
            (folder / ".git").write_text(f"gitdir: {tmp_path}/fake/.git\n")
        elif planted == "folder":
            git(folder, "init", "-q")

    await worked(agent)
    await Worktrees(tmp_path / "home" / "trees", keep=0, days=1).tidy()
    assert not list((tmp_path / "home" / "trees").iterdir())
    assert not list((repository / ".git" / "worktrees").glob("*"))


async def test_a_commit_that_cannot_be_described_has_a_record(worked, monkeypatch, tmp_path):
    async def broken(*_):
        raise GitError("broken")

    monkeypatch.setattr(results, "changed_files", broken)
    with pytest.raises(NoWorktree, match="broken"):
        await worked(write({"a.txt": "two\n"}))
    assert Results(tmp_path / "home" / "results").get("job_1").attempt == 1


async def test_a_difference_is_read_in_pages_that_end_between_lines_or_characters(worked, monkeypatch):
    monkeypatch.setattr(results, "LARGEST_PAGE", 300)
    files = {f"{name}.txt": f"{name}\n" * 40 for name in "bcd"} | {"wide.txt": "ä" * 400, "[x].txt": "odd\n"}
    result = (await worked(write(files))).result
    whole = (await results.difference(result)).decode()

    async def read(path=""):
        parts, offset = [], 0
        while offset is not None:
            text, offset = await results.difference_page(result, path, offset)
            parts.append(text)
        return parts

    parts = await read()
    assert "".join(parts) == whole
    assert max(len(part.encode()) for part in parts) <= 300
    assert "\ufffd" not in whole
    assert sum(part.startswith("diff --git ") for part in parts) >= 2
    (only,) = await read("[x].txt")  # a name, and no pattern
    assert only.count("diff --git ") == 1
    assert "+odd" in only
    for wrong in ("none.txt", "[bcd].txt", "../a.txt"):
        with pytest.raises((NoResult, GitError)):
            await results.difference_page(result, wrong, 0)
    assert await results.difference_page(result, "", len(whole.encode()) + 5) == ("", None)


async def test_an_unreadable_page_names_the_reason(tmp_path):
    records = Results(tmp_path / "none")
    outcome = await perform(records, "job_9", RequestedAction(verb="diff", path="a", offset=7), {})
    assert (outcome.state, outcome.page.path, outcome.page.offset) == ("failed", "a", 7)
    assert "has no result" in outcome.page.error
