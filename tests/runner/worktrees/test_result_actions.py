"""The runner's actions on a result at the server's request, and pull requests by a fake `gh` and `glab`."""

import os

import pytest

from baton.runner.worktrees.result_actions import RequestedAction, perform
from baton.runner.worktrees.results import Results
from baton.runner.worktrees.worktrees import Worktrees
from tests.runner.conftest import ended, git, happens

pytestmark = pytest.mark.slow("runs git some hundred times")

FAKE = """\
#!/bin/sh
printf '%s\\n' "$0" "$PWD" "$@" > {calls}
{more}
"""


@pytest.fixture
def made(repository, tmp_path):
    """Return a function that has an agent write files in a worktree, and the function that does something with the result."""
    records = Results(tmp_path / "home" / "results")

    async def make(job="job_1", uncommitted="snapshot", **files):
        trees = Worktrees(tmp_path / "home" / "trees", keep=5, days=1)
        tree = await trees.make(repository, f"{job}.1", uncommitted)
        for name, text in files.items():
            path = tree.folder / name.replace("__", "/").replace("_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        await trees.collect(tree, job, 1)

        async def use(verb, path="", **more):
            env = os.environ | ({"PATH": path} if path else {})
            return await perform(records, job, RequestedAction(verb=verb, **more), env)

        return use

    return make


async def test_each_action_reports_its_outcome(made, repository):
    use = await made(a_txt="two\n")
    (repository / "a.txt").write_text("mine\n")
    refused = await use("apply")
    assert (refused.state, refused.code, refused.changed) == ("refused", "conflict", 0)
    assert any("a.txt" in reason for reason in refused.reasons)
    assert (repository / "a.txt").read_text() == "mine\n"
    (repository / "a.txt").write_text("one\n")
    done = await use("apply")
    assert (done.state, done.changed) == ("done", 1)
    assert (await use("apply")).code == "applied_already"
    assert (await use("branch", branch="theirs")).branch == "theirs"
    again = await use("branch", branch="theirs")
    assert (again.state, again.code) == ("failed", "git_failed")
    assert "already exists" in again.detail
    assert (await use("discard")).state == "done"
    assert (await use("apply")).code == "no_result"


@pytest.mark.parametrize("name", [".claude__settings_json", "sub__.CODEX__hooks_json", ".github__hooks__x_json"])
async def test_an_agent_applies_nothing_that_makes_clients_ask_and_a_person_does(made, repository, name):
    use = await made(**{name: "{}", "b_txt": "b"})
    refused = await use("apply", by_agent=True)
    assert (refused.state, refused.code, len(refused.reasons)) == ("refused", "unsafe", 1)
    assert "only a person" in refused.reasons[0]
    assert not (repository / "b.txt").exists()
    assert (await use("apply")).state == "done"


async def test_a_link_in_the_place_of_a_folder_of_settings_is_one_too(repository, tmp_path):
    trees = Worktrees(tmp_path / "home" / "trees", keep=5, days=1)
    tree = await trees.make(repository, "job_1.1")
    (tree.folder / "other").mkdir()
    (tree.folder / "other" / "settings.json").write_text("{}")
    (tree.folder / ".claude").symlink_to("other")
    await trees.collect(tree, "job_1", 1)
    records = Results(tmp_path / "home" / "results")
    outcome = await perform(records, "job_1", RequestedAction(verb="apply", by_agent=True), dict(os.environ))
    assert [reason.partition(":")[0] for reason in outcome.reasons] == [".claude"]


async def test_the_server_has_the_runner_use_a_result(server, running, repository):
    job = server.give("write b.txt", isolation="worktree")
    async with running():
        await ended(server, job)
        server.command(job, "result", verb="apply")
        first = await happens(lambda: next(iter(server.outcomes.values()), None))
        server.command(job, "result", verb="paint")
        await happens(lambda: len(server.outcomes) == 2)
    assert (first["state"], first["changed"]) == ("done", 1)
    assert (repository / "b.txt").read_text() == "written"
    (_, unknown) = server.outcomes.values()
    assert (unknown["state"], unknown["code"]) == ("failed", "unknown_action")


async def test_an_outcome_waits_for_an_absent_server(server, running, repository):
    job = server.give("write b.txt", isolation="worktree")
    async with running() as runner:
        await ended(server, job)
        server.command(job, "result", verb="branch", branch="theirs")
        await happens(lambda: "theirs" in git(repository, "branch") or runner._using)
        server.away = True
        await happens(lambda: "theirs" in git(repository, "branch"))
        server.away = False
        await happens(lambda: server.outcomes)
    assert len(server.outcomes) == 1


@pytest.fixture
def forge(repository, tmp_path):
    """Return a function that makes a bare repository the remote, under a forge's name, and fake programs."""

    def make(host, *programs, more="echo https://forge.example/pull/7"):
        bare, folder, calls = tmp_path / "bare.git", tmp_path / "bin", tmp_path / "calls"
        git(tmp_path, "init", "-q", "--bare", str(bare))
        git(repository, "remote", "add", "origin", f"https://{host}/ann/shop.git")
        git(repository, "config", f"url.{bare}.pushInsteadOf", f"https://{host}/ann/shop.git")
        git(repository, "config", "user.email", "ann@example.org")
        git(repository, "config", "user.name", "Ann")
        folder.mkdir()
        for name in programs:
            (folder / name).write_text(FAKE.format(calls=calls, more=more))
            (folder / name).chmod(0o755)
        return bare, str(folder), calls

    return make


def asked(calls):
    program, folder, *arguments = calls.read_text().splitlines()
    return program.rsplit("/", 1)[-1], folder, arguments


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("host", "programs", "used"),
    [
        ("github.com", ("gh", "glab"), "gh"),
        ("gitlab.example.org", ("gh", "glab"), "glab"),
        ("code.example.org", ("glab",), "glab"),
        ("code.example.org", ("gh", "glab"), "gh"),
    ],
)
async def test_a_request_is_opened_by_the_program_of_the_forge(made, forge, repository, host, programs, used):
    bare, path, calls = forge(host, *programs)
    use = await made(a_txt="two\n")
    opened = await use("pr", path, branch="cart", title="Add; a $(cart)", body="Two\nlines", target="main", draft=True)
    assert (opened.state, opened.url, opened.branch) == ("done", "https://forge.example/pull/7", "cart")
    program, folder, arguments = asked(calls)
    assert (program, folder) == (used, str(repository.resolve()))
    words = {"gh": ["pr", "create", "--head", "cart"], "glab": ["mr", "create", "--source-branch", "cart"]}
    assert arguments[:4] == words[used]
    assert "Add; a $(cart)" in arguments
    assert {"main", "--draft"} <= set(arguments)
    shown = git(bare, "show", "--format=%an|%s|%b", "cart")
    assert shown.startswith("Ann|Add; a $(cart)|Two\nlines")
    assert "+two" in shown
    assert git(repository, "branch", "--show-current").strip() != "cart"


async def test_a_request_has_nothing_of_uncommitted_changes(made, forge, repository):
    (repository / "b.txt").write_text("theirs\n")
    git(repository, "add", "b.txt")
    (repository / "a.txt").write_text("one\nmy secret\n")
    bare, path, _ = forge("github.com", "gh")
    use = await made(c_txt="new\n")
    assert (await use("pr", path)).branch == "baton/job_1"
    assert git(bare, "log", "-p", "baton/job_1").count("secret") == 0
    assert git(bare, "ls-tree", "--name-only", "baton/job_1").split() == ["a.txt", "c.txt"]
    builds_on = await made(job="job_2", a_txt="one\nmy secret\ntwo\n")
    refused = await builds_on("pr", path)
    assert (refused.state, refused.code) == ("failed", "needs_uncommitted")
    assert "job_2" not in git(bare, "branch")


async def test_a_request_that_failed_is_tried_again_with_the_same_branch(made, forge, repository):
    bare, path, _ = forge("github.com", "gh", more="echo 'no token' >&2; exit 4")
    use = await made(a_txt="two\n")
    for _ in range(2):
        refused = await use("pr", path, branch="cart")
        assert (refused.state, refused.code) == ("failed", "forge_refused")
        assert "no token" in refused.detail
    git(repository, "branch", "other")
    assert "already exists" in (await use("pr", path, branch="other")).detail
    bare.rename(bare.with_name("gone"))
    git(repository, "branch", "-D", "cart")
    assert (await use("pr", path, branch="cart")).code == "push_refused"


@pytest.mark.parametrize(
    ("host", "programs", "word"),
    [
        ("github.com", (), "needs `gh`, but it is not installed"),
        ("gitlab.com", ("gh",), "needs `glab`, but it is not installed"),
        ("code.example.org", (), "neither `gh` nor `glab` is installed"),
    ],
)
async def test_without_its_program_a_request_is_refused_with_the_way_by_hand(
    made, forge, repository, host, programs, word
):
    bare, path, _ = forge(host, *programs)
    refused = await (await made(a_txt="two\n"))("pr", path)
    assert (refused.state, refused.code) == ("failed", "no_forge_tool")
    assert word in refused.detail
    assert "baton jobs branch" in refused.detail
    assert git(repository, "for-each-ref", "refs/heads").count("\n") == 1
    assert git(bare, "for-each-ref") == ""


async def test_a_repository_without_a_remote_is_reported(made):
    assert (await (await made(a_txt="two\n"))("pr")).code == "no_remote"


@pytest.mark.parametrize("name", ["-x", "a..b", "a b", "x.lock"])
async def test_a_branch_that_git_does_not_take_is_refused(made, forge, name):
    _, path, _ = forge("github.com", "gh")
    assert (await (await made(a_txt="two\n"))("pr", path, branch=name)).code == "git_failed"
