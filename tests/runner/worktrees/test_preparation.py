"""A new worktree before its agent starts: copied files, its setup, and parts excluded from results."""

import msgspec
import pytest

from baton.runner.config import Workspace
from baton.runner.worktrees import preparation
from baton.runner.worktrees.preparation import copy_files
from baton.runner.worktrees.results import Results, apply
from baton.runner.worktrees.worktrees import NoWorktree, Worktrees
from tests.runner.conftest import ended, git, happens
from tests.support.processes import is_gone


@pytest.fixture
def copied(repository, tmp_path):
    """Return a function that makes a worktree and copies into it what some globs name."""
    (repository / ".gitignore").write_text(".env\n*.local\nsecrets/\nsub/x\n")
    git(repository, "add", ".gitignore")
    git(repository, "commit", "-qm", "ignore")

    async def copy(*patterns, uncommitted="snapshot"):
        trees = Worktrees(tmp_path / "home" / "trees", keep=5, days=1)
        tree = await trees.make(repository, "job_1.1", uncommitted)
        return (
            trees,
            tree,
            *await copy_files(Workspace(folder=str(repository), copy=list(patterns)), repository.resolve(), tree),
        )

    return copy


def put(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


async def test_ignored_files_are_copied_and_those_that_git_knows_are_left_as_they_are(copied, repository):
    put(repository, _env="KEY=1\n", a_local="x", deep__er__b_local="y", secrets__one="s", a_txt="mine\n")
    (repository / ".env").chmod(0o600)
    _, tree, names, notes = await copied(".env", "**/*.local", "secrets", "a.txt", "none.*")
    assert sorted(names) == [".env", "a.local", "deep/er/b.local", "secrets/one"]
    assert notes == ["`copy` names `none.*`, but no file matches"]
    assert (tree.folder / ".env").read_text() == "KEY=1\n"
    assert (tree.folder / ".env").stat().st_mode & 0o777 == 0o600
    assert (tree.folder / "a.txt").read_text() == "mine\n", "the snapshot, not a copy"


async def test_copies_never_leave_the_workspace_or_the_worktree(copied, repository, tmp_path):
    outside = tmp_path / "outside"
    put(outside, key="secret")
    (repository / "planted").symlink_to(outside)
    git(repository, "add", "planted")
    git(repository, "commit", "-qm", "a link")
    (repository / "planted").unlink()
    put(repository, planted__x_local="x", inside_txt="here")
    (repository / ".env").symlink_to(outside / "key")
    (repository / "in.local").symlink_to(repository / "inside.txt")
    (repository / "git.local").symlink_to(repository / ".git" / "config")
    (repository / "folder.local").symlink_to(outside)
    patterns = (".env", "*.local", "planted/*.local", "folder.local/*")
    _, tree, names, notes = await copied(*patterns, uncommitted="leave")
    assert names == ["in.local"]
    assert (tree.folder / "in.local").read_text() == "here"
    assert not (tree.folder / "in.local").is_symlink()
    left = {".env", "git.local", "folder.local/key", "planted/x.local"}
    assert {note.split("`")[1] for note in notes} >= left
    assert sorted(path.name for path in outside.iterdir()) == ["key"]


async def test_copied_files_are_never_in_a_result(copied, repository):
    put(repository, _env="KEY=1\n", secrets__one="s")
    trees, tree, names, _ = await copied(".env", "secrets")
    tree = msgspec.structs.replace(tree, left_out=tuple(names))
    (tree.folder / ".gitignore").write_text("")
    git(tree.folder, "add", "-A")
    git(tree.folder, "commit", "-qm", "the agent's own")
    (tree.folder / ".env").unlink()
    put(tree.folder, _env__nested="KEY=1\n", made_txt="made\n")
    change = await trees.collect(tree, "job_1", 1)
    assert [file.path for file in change.files] == [".gitignore", "made.txt"]
    assert "KEY" not in change.diff
    await apply(change.result)
    assert (repository / ".env").read_text() == "KEY=1\n"


@pytest.mark.parametrize("limit", ["MOST_COPIED", "MOST_COPIED_BYTES"])
async def test_too_much_to_copy_is_refused(copied, repository, monkeypatch, limit):
    monkeypatch.setattr(preparation, limit, 1)
    put(repository, a_local="12", b_local="34")
    with pytest.raises(NoWorktree, match="`setup`"):
        await copied("*.local")


async def test_a_setup_runs_before_the_agent_and_is_in_no_result(server, running, repository, tmp_path):
    (repository / ".env").write_text("KEY=1\n")
    setup = "echo preparing; cat .env; mkdir made; echo x > made/x; env | grep -c BATON_TOKEN; true"
    shop = {"folder": str(repository), "copy": [".env"], "setup": setup}
    job = server.give("read .env\nread made/x\nwrite b.txt", isolation="worktree")
    async with running(workspaces={"shop": shop}):
        finish = await ended(server, job)
    assert finish["state"] == "completed"
    events = [event["body"] for _, event in sorted(server.events[job].items())]
    updates = [body["update"] for body in events if "update" in body]
    assert "1 new files that are not committed" in updates[0]["title"]
    assert updates[1]["title"] == "copied `.env`"
    assert (updates[2]["title"], updates[2]["status"]) == (f"setup: {setup}", "in_progress")
    assert updates[3]["content"][0]["content"]["text"] == "preparing\nKEY=1\n0\n"
    assert server.texts(job)[0] == '{"content": "KEY=1\\n"}'
    change = next(body for body in events if "diff" in body)
    assert [file["path"] for file in change["files"]] == ["b.txt"]
    (result,) = Results(tmp_path / "home" / "results").of_job(job)
    assert result.left_out == (".env", "made")


@pytest.mark.parametrize(
    ("setup", "more", "code", "word"),
    [
        ("echo one; echo two >&2; exit 3", {}, "setup_failed", "ended with 3: one\ntwo"),
        ("no-such-program", {}, "setup_failed", "not found"),
        ("echo begun; sleep 60", {"setup_timeout_s": 0.5}, "setup_timeout", "begun"),
    ],
)
async def test_a_setup_that_fails_fails_the_job_with_its_output_and_no_agent_starts(
    server, running, repository, setup, more, code, word
):
    job = server.give("say never", isolation="worktree")
    async with running(workspaces={"shop": {"folder": str(repository), "setup": setup} | more}):
        finish = await ended(server, job)
    assert (finish["state"], finish["error"]["code"]) == ("failed", code)
    assert word in finish["error"]["detail"]
    assert server.texts(job) == []
    assert not [event for event in server.events[job].values() if event["type"] == "workspace.diff"]
    if code == "setup_failed" and "one" in word:
        assert finish["output"] == "one\ntwo\n"


async def test_a_cancel_ends_a_setup_with_all_that_it_started(server, running, repository, tmp_path):
    pid = tmp_path / "pid"
    setup = f"sleep 300 & echo $! > {pid}.new; mv {pid}.new {pid}; wait"
    job = server.give("say never", isolation="worktree")
    async with running(workspaces={"shop": {"folder": str(repository), "setup": setup}}):
        await happens(pid.exists)
        server.command(job, "cancel")
        finish = await ended(server, job)
    assert (finish["state"], server.texts(job)) == ("cancelled", [])
    await happens(lambda: is_gone(int(pid.read_text())))


async def test_an_in_place_job_has_no_setup(server, running, repository):
    job = server.give("say here")
    async with running(workspaces={"shop": {"folder": str(repository), "setup": f"touch {repository}/ran"}}):
        assert (await ended(server, job))["output"] == "here"
    assert not (repository / "ran").exists()
